/** Creates missing namespaces on demand. Source: NamespaceAutoProvision, document 2 §2.7; upstream's plugin,
 *  release 1.24. */
import { StatusError } from '#api/meta/status-error.ts';
import type { AdmissionPlugin } from './contract.ts';
import type { AdmissionDeps } from './deps.ts';

export interface AutoProvisionDeps extends Pick<AdmissionDeps, 'objects'> {
  /** @throws StatusError */
  readonly createNamespace: (name: string) => Promise<void>;
}

export function createNamespaceAutoProvision({
  objects,
  createNamespace,
}: AutoProvisionDeps): AdmissionPlugin {
  const namespaces = objects('', 'namespaces');

  async function provide(name: string): Promise<void> {
    if ((await namespaces.find(name)) !== undefined) return;
    try {
      await createNamespace(name);
    } catch (thrown) {
      // A concurrent request has created it.
      if (!(thrown instanceof StatusError && thrown.reason === 'AlreadyExists')) throw thrown;
    }
  }

  return {
    name: 'NamespaceAutoProvision',
    operations: ['CREATE'],
    mutate({ resource, namespace, dryRun }) {
      if (dryRun || !resource.info.namespaced || namespace === '') return undefined;
      return namespaces.get(namespace) === undefined ? provide(namespace) : undefined;
    },
  };
}
