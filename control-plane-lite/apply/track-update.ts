/** Tracks ownership after a write other than apply: its manager gains the fields that it added or changed,
 *  every owner loses the removed ones. On the path of every create and update. Never fails: tracking must not
 *  block a write. Pure except for `next`.
 *  Source: server-side apply, document 1 §4.9; structured-merge-diff 4.2 (Update). */

import type { ManagedFieldsEntry } from '#api/gen/meta-v1.ts';
import { Later } from '#api/kit/later.ts';
import type { Steps } from '#api/kit/steps.ts';
import { formatTime } from '#api/meta/time.ts';
import type { TypeModel } from '#api/schema/type-model.ts';
import { sameJson, sameJsonSteps } from '../patch/json-value.ts';
import type { ApiObject } from '../resources/contract.ts';
import { capOwners } from './cap-owners.ts';
import { type Changes, compareObjects, compareSteps, writtenFields } from './compare.ts';
import { fieldsOfNew } from './every-field.ts';
import { difference, EMPTY_SET, type FieldSet, isEmptySet, union } from './field-set.ts';
import { differenceSteps } from './field-set-steps.ts';
import {
  formatOwners,
  isReset,
  isSameManager,
  type ManagerIdentity,
  type Owner,
  parseOwners,
  parseOwnersSteps,
  storedOwners,
  UNKNOWN_MANAGER,
  withSet,
} from './owners.ts';
import { scopeOf } from './scope.ts';
import { adaptToTypes } from './typed-set.ts';
import { type ChangesAt, type Convert, changesByVersion } from './versions.ts';

export interface TrackInput {
  /** The stored object in the request's version, with its managedFields; absent: a create. */
  readonly live: ApiObject | undefined;
  /** The object to store, in the same version; contains the client's managedFields. */
  readonly next: ApiObject;
  readonly model: TypeModel;
  /** Empty: `unknown`. */
  readonly manager: string;
  /** Version of the request. */
  readonly apiVersion: string;
  /** `''`: the object itself. */
  readonly subresource: string;
  readonly nowMs: number;
  /** Whether `status` changes only through its subresource. Default: true. */
  readonly hasStatus?: boolean;
  /** Whether the status's subresource changes metadata too. Default: it does not. */
  readonly statusHasMetadata?: boolean;
  readonly convert?: Convert;
  /** The object is large: steps are to be short, whatever that costs. */
  readonly inSlices?: boolean;
}

/** Sets `next.metadata.managedFields`. Each step takes as long as one look at the whole object. */
export function* trackUpdate(input: TrackInput): Steps<void> {
  const { metadata } = input.next;
  const entries = input.live === undefined ? yield* ofCreate(input) : yield* ofUpdate(input, input.live);
  if (entries === undefined) delete metadata.managedFields;
  else metadata.managedFields = entries;
}

type Entries = readonly ManagedFieldsEntry[] | undefined;

function* ofCreate(input: TrackInput): Steps<Entries> {
  const sent = input.next.metadata.managedFields;
  const inSlices = input.inSlices === true;
  const parse = inSlices ? yield* parseOwnersSteps(sent) : parseOwners(sent);
  const known = sent === undefined || isReset(sent) ? [] : (parse ?? []);
  yield;
  const later = inSlices ? new Later() : undefined;
  const set = fieldsOfNew(input.next, input.model, scopeOf(input.subresource, input.hasStatus), later);
  if (later !== undefined) yield* later.steps();
  yield;
  return formatOwners(withMine(known, identityOf(input, 'Update'), set, input.nowMs));
}

function* ofUpdate(input: TrackInput, live: ApiObject): Steps<Entries> {
  const { next, model, apiVersion, subresource, convert, nowMs } = input;
  const { owners, kept } = yield* ownersBefore(live, next, subresource, input.inSlices === true);
  if (owners === undefined) return undefined;
  yield;
  const scope = scopeOf(subresource, input.hasStatus, input.statusHasMetadata);
  const changes =
    input.inSlices === true
      ? yield* compareSteps(live, next, model, scope)
      : compareObjects(live, next, model, scope);
  yield;
  if (changes === undefined) return kept ? live.metadata.managedFields : formatOwners(owners);
  const at = changesByVersion({ before: live, after: next, model, apiVersion, convert, scope }, changes);
  const identity = identityOf(input, 'Update');
  const rest = yield* ownersAfter(owners, at, input.inSlices === true, identity);
  const written = writtenFields(changes);
  yield;
  const mine = withMine(rest, identity, written, nowMs);
  yield;
  return formatOwners(capOwners(mine));
}

/** `owners` absent: ownership of this object is not tracked, and an update doesn't start tracking. `kept`:
 *  the stored entries. */
function* ownersBefore(
  live: ApiObject,
  next: ApiObject,
  subresource: string,
  inSlices: boolean,
): Steps<{ readonly owners: readonly Owner[] | undefined; readonly kept: boolean }> {
  const stored = live.metadata.managedFields;
  // Custom resources may contain any value here.
  const sent: unknown = next.metadata.managedFields;
  if (subresource === '' && sent !== undefined && sent !== stored) {
    if (isReset(sent)) return { owners: [], kept: false };
    const isSame = inSlices ? yield* sameSets(sent, stored) : sameJson(sent, stored);
    const parsed = inSlices && !isSame ? yield* parseOwnersSteps(sent) : undefined;
    const owners = isSame ? undefined : inSlices ? parsed : parseOwners(sent);
    if (owners !== undefined && owners.length > 0) return { owners, kept: false };
  }
  const owners = storedOwners(stored);
  return { owners: owners.length === 0 ? undefined : owners, kept: true };
}

/** Lists of entries: each is compared in short steps. */
function* sameSets(sent: unknown, stored: unknown): Steps<boolean> {
  if (!Array.isArray(sent) || !Array.isArray(stored) || sent.length !== stored.length) return false;
  for (const [index, entry] of sent.entries())
    if (!(yield* sameJsonSteps(entry, stored[index]))) return false;
  return true;
}

export function identityOf(
  { manager, apiVersion, subresource }: Pick<TrackInput, 'manager' | 'apiVersion' | 'subresource'>,
  operation: ManagerIdentity['operation'],
): ManagerIdentity {
  return { manager: manager === '' ? UNKNOWN_MANAGER : manager, operation, apiVersion, subresource };
}

/** Returns the owners without the written or removed fields; the writer retains fields that it writes again.
 *  Owners in a version that is no longer served are dropped. */
export function* ownersAfter(
  owners: readonly Owner[],
  at: ChangesAt,
  inSlices: boolean,
  writer?: ManagerIdentity,
): Steps<readonly Owner[]> {
  const after: Owner[] = [];
  for (const owner of owners) {
    const version = at(owner.apiVersion);
    yield;
    if (version === undefined) continue;
    const own = writer !== undefined && isSameManager(owner, writer);
    const set = adaptToTypes(owner.set, version.model);
    yield;
    after.push(withSet(owner, yield* withoutChanged(set, version.changes, own, inSlices)));
  }
  return after;
}

function* withoutChanged(set: FieldSet, changes: Changes, own: boolean, inSlices: boolean): Steps<FieldSet> {
  const { added = EMPTY_SET, modified = EMPTY_SET, removed = EMPTY_SET } = changes;
  let left = set;
  for (const taken of own ? [removed] : [modified, added, removed]) {
    left = inSlices ? yield* differenceSteps(left, taken) : difference(left, taken);
    yield;
  }
  return left;
}

/** Returns the owners with the writer's new fields. */
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
