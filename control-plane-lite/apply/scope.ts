/** Ownable fields of a request: never those maintained by the server, and of the rest only those that the
 *  endpoint can change. Pure. Source: server-side apply, document 1 §4.9; upstream's reset fields. */

/** Reports whether this endpoint can change a member of the object's root. */
export type Scope = (member: string) => boolean;

/** Root members that cannot have an owner. */
export const NEVER_OWNED: ReadonlySet<string> = new Set(['apiVersion', 'kind']);

/** Members of `metadata` that cannot have an owner: identity and bookkeeping. */
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
const statusAndMetadata: Scope = (member) => member === 'status' || member === 'metadata';
const allButStatus: Scope = (member) => member !== 'status';
const everything: Scope = () => true;

/** The object endpoint ignores `status` if that is a subresource (the default), `status` ignores everything
 *  else, other subresources may change anything. */
export function scopeOf(subresource: string, hasStatus = true, statusHasMetadata = false): Scope {
  if (subresource === 'status') return statusHasMetadata ? statusAndMetadata : statusOnly;
  return subresource === '' && hasStatus ? allButStatus : everything;
}
