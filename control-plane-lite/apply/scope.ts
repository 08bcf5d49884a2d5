/** Which fields of an object can have an owner at all in a request: those that the server keeps for itself never,
 *  and of the rest only what the endpoint can change. Source: document 1, 4.9; upstream's reset fields. Pure. */

/** Whether this endpoint can change a member of the object's root. */
export type Scope = (member: string) => boolean;

/** The root's members without an owner. */
export const NEVER_OWNED: ReadonlySet<string> = new Set(['apiVersion', 'kind']);

/** Members of `metadata` without an owner: identity and bookkeeping. */
export const NEVER_OWNED_METADATA: ReadonlySet<string> = new Set([
  'name',
  'namespace',
  'creationTimestamp',
  'selfLink',
  'uid',
  'clusterName',
  'generation',
  'managedFields',
  'resourceVersion',
]);

const statusOnly: Scope = (member) => member === 'status';
const allButStatus: Scope = (member) => member !== 'status';
const everything: Scope = () => true;

/** The object itself leaves `status` alone where that is a subresource (default: it is one), `status` leaves
 *  everything else alone, other subresources may change anything. */
export function scopeOf(subresource: string, hasStatus = true): Scope {
  if (subresource === 'status') return statusOnly;
  return subresource === '' && hasStatus ? allButStatus : everything;
}
