/** Who owns what after a write that is no apply: its manager gets what it added or changed, everybody loses what was
 *  taken away. On the path of every create and update. Never fails: tracking must not stand in a write's way.
 *  Source: document 1, 4.9; structured-merge-diff 4.2 (Update). Pure but for `next`. */
import { formatTime } from '#api/meta/time.ts';
import type { ManagedFieldsEntry } from '#api/schema/gen/meta-v1.ts';
import type { TypeModel } from '#api/schema/type-model.ts';
import { sameJson } from '../patch/json-value.ts';
import type { ApiObject } from '../resources/contract.ts';
import { capOwners } from './cap-owners.ts';
import { type Changes, compareObjects, writtenFields } from './compare.ts';
import { fieldsOfNew } from './every-field.ts';
import { difference, EMPTY_SET, type FieldSet, isEmptySet, union } from './field-set.ts';
import {
  formatOwners,
  isReset,
  isSameManager,
  type ManagerIdentity,
  type Owner,
  parseOwners,
  storedOwners,
  UNKNOWN_MANAGER,
  withSet,
} from './owners.ts';
import { scopeOf } from './scope.ts';
import { adaptToTypes } from './typed-set.ts';
import { type ChangesAt, type Convert, changesByVersion } from './versions.ts';

export interface TrackInput {
  /** The stored object in the request's version, with its managedFields; absent: a new object is made. */
  readonly live: ApiObject | undefined;
  /** What will be stored, in the same version; what the client sent as managedFields stands in it. */
  readonly next: ApiObject;
  readonly model: TypeModel;
  /** Empty: `unknown`. */
  readonly manager: string;
  /** Version of the request. */
  readonly apiVersion: string;
  /** `''`: the object itself. */
  readonly subresource: string;
  readonly nowMs: number;
  /** Whether `status` can be changed only by its subresource. Default: it is so. */
  readonly hasStatus?: boolean;
  readonly convert?: Convert;
}

/** Sets `next.metadata.managedFields`. */
export function trackUpdate(input: TrackInput): void {
  const { metadata } = input.next;
  const entries = input.live === undefined ? ofCreate(input) : ofUpdate(input, input.live);
  if (entries === undefined) delete metadata.managedFields;
  else metadata.managedFields = entries;
}

type Entries = readonly ManagedFieldsEntry[] | undefined;

function ofCreate(input: TrackInput): Entries {
  const sent = input.next.metadata.managedFields;
  const known = sent === undefined || isReset(sent) ? [] : (parseOwners(sent) ?? []);
  const set = fieldsOfNew(input.next, input.model, scopeOf(input.subresource, input.hasStatus));
  return formatOwners(withMine(known, identityOf(input, 'Update'), set, input.nowMs));
}

function ofUpdate(input: TrackInput, live: ApiObject): Entries {
  const { next, model, apiVersion, subresource, convert, nowMs } = input;
  const { owners, kept } = ownersBefore(live, next, subresource);
  if (owners === undefined) return undefined;
  const scope = scopeOf(subresource, input.hasStatus);
  const changes = compareObjects(live, next, model, scope);
  if (changes === undefined) return kept ? live.metadata.managedFields : formatOwners(owners);
  const at = changesByVersion({ before: live, after: next, model, apiVersion, convert, scope }, changes);
  const identity = identityOf(input, 'Update');
  const rest = ownersAfter(owners, at, identity);
  const mine = withMine(rest, identity, writtenFields(changes), nowMs);
  return formatOwners(capOwners(mine));
}

/** `owners` absent: nobody's fields are tracked, and an update doesn't begin with it. `kept`: those that are stored. */
function ownersBefore(
  live: ApiObject,
  next: ApiObject,
  subresource: string,
): { readonly owners: readonly Owner[] | undefined; readonly kept: boolean } {
  const stored = live.metadata.managedFields;
  // Custom resources may bring anything here.
  const sent: unknown = next.metadata.managedFields;
  if (subresource === '' && sent !== undefined && sent !== stored) {
    if (isReset(sent)) return { owners: [], kept: false };
    const owners = sameJson(sent, stored) ? undefined : parseOwners(sent);
    if (owners !== undefined && owners.length > 0) return { owners, kept: false };
  }
  const owners = storedOwners(stored);
  return { owners: owners.length === 0 ? undefined : owners, kept: true };
}

export function identityOf(
  { manager, apiVersion, subresource }: Pick<TrackInput, 'manager' | 'apiVersion' | 'subresource'>,
  operation: ManagerIdentity['operation'],
): ManagerIdentity {
  return { manager: manager === '' ? UNKNOWN_MANAGER : manager, operation, apiVersion, subresource };
}

/** Everybody without what was written or removed; the writer keeps what it writes again. Those whose version is
 *  gone go with it. */
export function ownersAfter(
  owners: readonly Owner[],
  at: ChangesAt,
  writer?: ManagerIdentity,
): readonly Owner[] {
  return owners.flatMap((owner) => {
    const version = at(owner.apiVersion);
    if (version === undefined) return [];
    const own = writer !== undefined && isSameManager(owner, writer);
    const set = adaptToTypes(owner.set, version.model);
    return [withSet(owner, withoutChanged(set, version.changes, own))];
  });
}

function withoutChanged(set: FieldSet, changes: Changes, own: boolean): FieldSet {
  const { added = EMPTY_SET, modified = EMPTY_SET, removed = EMPTY_SET } = changes;
  const left = own ? set : difference(difference(set, modified), added);
  return difference(left, removed);
}

/** The owners with the writer's new fields. */
export function withMine(
  owners: readonly Owner[],
  identity: ManagerIdentity,
  fields: FieldSet,
  nowMs: number,
): readonly Owner[] {
  if (isEmptySet(fields)) return owners;
  const time = formatTime(nowMs);
  const before = owners.find((owner) => isSameManager(owner, identity));
  const mine: Owner = { ...identity, time, set: union(before?.set ?? EMPTY_SET, fields), entry: undefined };
  return before === undefined ? [...owners, mine] : owners.map((owner) => (owner === before ? mine : owner));
}
