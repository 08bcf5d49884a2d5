/** What every server begins with: the system's namespaces, and roles and bindings where RBAC decides. */
import { StatusError } from '#api/meta/status-error.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { bootstrapPolicy } from '../authz/bootstrap.ts';
import { controllerCaller } from '../controllers/caller.ts';
import type { ApiObject } from '../resources/contract.ts';
import type { ResourceRegistry } from '../resources/registry.ts';
import type { Verbs } from '../verbs/contract.ts';

export interface BootstrapDeps {
  readonly registry: ResourceRegistry;
  readonly verbs: Verbs;
  readonly vocabulary: Vocabulary;
}

const namespaceObject = (name: string): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name },
});

/** Makes what is missing. What is there is left as it is: an administrator may have changed it. */
export async function createBootstrapObjects(
  deps: BootstrapDeps,
  rbac: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { systemNamespace, publicNamespace, nodeLeaseNamespace } = deps.vocabulary;
  const namespaces = ['default', systemNamespace, publicNamespace, nodeLeaseNamespace].map(namespaceObject);
  await createAll(deps, namespaces, signal);
  if (rbac) await createAll(deps, bootstrapPolicy(deps.vocabulary), signal);
}

async function createAll(
  deps: BootstrapDeps,
  objects: readonly ApiObject[],
  signal: AbortSignal,
): Promise<void> {
  const caller = controllerCaller('bootstrap', signal);
  await Promise.all(
    objects.map(async (object) => {
      const resource = deps.registry.findKind(object.apiVersion, object.kind);
      if (resource === undefined) return;
      const { name = '', namespace = '' } = object.metadata;
      const { object: draft } = resource.schema.decode(object);
      try {
        await deps.verbs.create(
          { resource, namespace, name },
          draft,
          { dryRun: false, fieldManager: 'bootstrap' },
          caller,
        );
      } catch (thrown) {
        if (!(thrown instanceof StatusError && thrown.reason === 'AlreadyExists')) throw thrown;
      }
    }),
  );
}
