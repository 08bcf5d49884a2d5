/** Rejects objects in missing or terminating namespaces, and the deletion of system namespaces. Source:
 *  NamespaceLifecycle, document 2 §2.7. */

import { StatusError } from '#api/meta/status-error.ts';
import { forbidden, notFound } from '#api/meta/status-errors.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Cache } from '../cache/contract.ts';
import type { ApiObject, StorageInfo } from '../resources/contract.ts';
import type { AdmissionPlugin, AdmissionRequest } from './contract.ts';

export interface NamespaceLifecycleDeps {
  readonly cache: Cache;
  readonly namespaces: StorageInfo;
  readonly vocabulary: Vocabulary;
}

const NAMESPACES = { group: '', name: 'namespaces' };

/** Self access reviews are also served for namespaces that do not exist. */
const EXEMPT: ReadonlySet<string> = new Set(['localsubjectaccessreviews']);

export function createNamespaceLifecycle(deps: NamespaceLifecycleDeps): AdmissionPlugin {
  const { cache, namespaces, vocabulary } = deps;
  const immortal = new Set(['default', vocabulary.systemNamespace, vocabulary.publicNamespace]);

  async function find(name: string): Promise<ApiObject | undefined> {
    const resource = cache.resource(namespaces);
    const known = resource.get(name);
    if (known !== undefined) return known.object();
    // Another server may just have created it.
    await cache.waitForNewest();
    return resource.get(name)?.object();
  }

  function refuseDeletion({ name }: AdmissionRequest): void {
    if (immortal.has(name)) throw forbidden(NAMESPACES, name, 'this namespace may not be deleted');
  }

  return {
    name: 'NamespaceLifecycle',
    operations: ['CREATE', 'UPDATE', 'DELETE'],
    async mutate(request) {
      if (!request.resource.info.namespaced || request.operation !== 'CREATE') return;
      if (EXEMPT.has(request.resource.info.plural)) return;
      const namespace = await find(request.namespace);
      if (namespace === undefined) throw notFound(NAMESPACES, request.namespace);
      if (namespace.metadata.deletionTimestamp !== undefined) throw terminating(request);
    },
    validate(request) {
      const { group, plural } = request.resource.info;
      if (request.operation === 'DELETE' && group === '' && plural === 'namespaces') refuseDeletion(request);
    },
  };
}

function terminating({ resource, namespace, name, object }: AdmissionRequest): StatusError {
  const { group, plural } = resource.info;
  const shown = name === '' ? (object?.metadata.name ?? '') : name;
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const base = forbidden({ group, name: plural }, shown, why);
  return new StatusError('Forbidden', base.message, {
    details: base.details,
    causes: [
      {
        reason: 'NamespaceTerminating',
        message: `namespace ${namespace} is being terminated`,
        field: 'metadata.namespace',
      },
    ],
  });
}
