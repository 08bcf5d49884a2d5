/** Authorizes owner references: setting one requires permission to delete the object, and blockOwnerDeletion
 *  requires permission to update the owner's finalizers. Source: OwnerReferencesPermissionEnforcement,
 *  document 2 §2.7; upstream's plugin, release 1.24. */
import { isDeepStrictEqual } from 'node:util';
import type { OwnerReference } from '#api/gen/meta-v1.ts';
import type { AdmissionPlugin, AdmissionRequest } from './contract.ts';
import type { AdmissionDeps } from './deps.ts';
import { refusal } from './refusal.ts';

export interface OwnerReferencesDeps extends Pick<AdmissionDeps, 'authorizer'> {
  /** Returns the resource of a kind; `undefined` if unknown. */
  readonly resourceOf: (
    apiVersion: string,
    kind: string,
  ) =>
    | {
        readonly group: string;
        readonly version: string;
        readonly plural: string;
        readonly namespaced: boolean;
      }
    | undefined;
}

interface Permission {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

const isBlocking = ({ blockOwnerDeletion }: OwnerReference): boolean => blockOwnerDeletion === true;

/** Returns owners whose deletion the object did not block before. */
function newlyBlocked(
  now: readonly OwnerReference[],
  before: readonly OwnerReference[],
): readonly OwnerReference[] {
  const known = new Set(before.filter(isBlocking).map(({ uid }) => uid));
  return now.filter((owner) => isBlocking(owner) && !known.has(owner.uid));
}

export function createOwnerReferences({ authorizer, resourceOf }: OwnerReferencesDeps): AdmissionPlugin {
  async function may({ user }: AdmissionRequest, verb: string, permission: Permission): Promise<boolean> {
    const attributes = { user, verb, isResource: true, path: '', ...permission };
    return (await authorizer.authorize(attributes)).effect === 'allow';
  }

  async function checkBlocked(
    request: AdmissionRequest,
    { apiVersion, kind, name }: OwnerReference,
  ): Promise<void> {
    const owner = resourceOf(apiVersion, kind);
    const cannot = 'cannot set blockOwnerDeletion';
    if (owner === undefined)
      throw refusal(
        request,
        `${cannot} in this case because cannot find RESTMapping for APIVersion ${apiVersion} Kind ${kind}`,
      );
    const { group, version, plural, namespaced } = owner;
    const namespace = namespaced ? request.namespace : '';
    const permission = { group, version, resource: plural, subresource: 'finalizers', namespace, name };
    if (await may(request, 'update', permission)) return;
    throw refusal(request, `${cannot} if an ownerReference refers to a resource you can't set finalizers on`);
  }

  return {
    name: 'OwnerReferencesPermissionEnforcement',
    operations: ['CREATE', 'UPDATE'],
    async validate(request) {
      const { object, old, resource, subresource, namespace } = request;
      if (object === undefined || subresource === 'status') return;
      const now = object.metadata.ownerReferences ?? [];
      const before = old?.metadata.ownerReferences ?? [];
      if (now.length === 0 && before.length === 0) return;
      // An object without a name cannot be deleted yet: only its owners matter.
      if (request.operation === 'UPDATE' && !isDeepStrictEqual(now, before)) {
        const { group, version, plural } = resource.info;
        const permission = { group, version, resource: plural, subresource, namespace, name: request.name };
        if (!(await may(request, 'delete', permission)))
          throw refusal(request, "cannot set an ownerRef on a resource you can't delete");
      }
      for (const owner of newlyBlocked(now, before)) await checkBlocked(request, owner);
    },
  };
}
