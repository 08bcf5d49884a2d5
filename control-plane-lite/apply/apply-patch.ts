/** Server-side apply: merges a configuration into the live object and tracks field ownership. Pure.
 *  Source: server-side apply, document 1 §4.9; structured-merge-diff 4.2 (Apply), upstream's field
 *  manager. */

import { writeJsonSteps } from '#api/codec/json-writer.ts';
import { Later } from '#api/kit/later.ts';
import { isObject } from '#api/kit/object.ts';
import type { Steps } from '#api/kit/steps.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { formatTime } from '#api/meta/time.ts';
import type { TypeModel } from '#api/schema/type-model.ts';
import { type JsonObject } from '../patch/json-value.ts';
import type { ApiObject, ObjectSchema } from '../resources/contract.ts';
import { checkSizeSteps } from '../resources/object-size.ts';
import { asApiObject } from './api-object.ts';
import { checkApplied } from './check-applied.ts';
import { type Changes, compareObjects, compareSteps, writtenFields } from './compare.ts';
import { type Conflict, conflictError, withoutAllowed } from './conflicts.ts';
import { fieldsOfNew } from './every-field.ts';
import { EMPTY_SET, intersection, isEmptySet, sameSet } from './field-set.ts';
import { intersectionSteps } from './field-set-steps.ts';
import { annotationOf, fieldsLastApplied, hasLastApplied, withLastApplied } from './last-applied.ts';
import { mergeApplied, mergeAppliedSteps } from './merge.ts';
import { ownedFields, ownedFieldsSteps, presentFields } from './owned-fields.ts';
import { formatOwners, isSameManager, type Owner, storedOwners, withSet } from './owners.ts';
import { prune } from './prune.ts';
import { type Scope, scopeOf } from './scope.ts';
import { identityOf, ownersAfter, withMine } from './track-update.ts';
import { adaptToTypes } from './typed-set.ts';
import { type ChangesAt, type Convert, changesByVersion } from './versions.ts';

export interface ApplyInput {
  /** The stored object in the request's version, with its managedFields; absent: it will be created. Not
   *  modified, but the result shares parts with it. */
  readonly live: ApiObject | undefined;
  /** The client's configuration, as parsed from its JSON or YAML. */
  readonly applied: unknown;
  readonly model: TypeModel;
  readonly manager: string;
  /** Take conflicting fields from their managers. */
  readonly force: boolean;
  readonly nowMs: number;
  /** Version of the request. */
  readonly apiVersion: string;
  /** `''`: the object itself. */
  readonly subresource: string;
  /** Whether `status` changes only through its subresource. Default: true. */
  readonly hasStatus?: boolean;
  /** Whether the status's subresource changes metadata too. Default: it does not. */
  readonly statusHasMetadata?: boolean;
  readonly convert?: Convert;
  /** Returns an object with its defaults, and values in their stored form. Default: unchanged. */
  readonly canonical?: (object: JsonObject) => JsonObject;
  /** The object or the configuration is large: steps are to be short, whatever that costs. */
  readonly inSlices?: boolean;
  /** How large objects are measured. Default: as JSON. */
  readonly schema?: Pick<ObjectSchema, 'protobufLength'>;
}

export interface ApplyResult {
  /** With new managedFields. It still has to be decoded and defaulted: fields that were given up are absent,
   *  and it contains nulls of the configuration. */
  readonly object: ApiObject;
  /** False: neither the object nor an owner changed, and no write is needed. */
  readonly changed: boolean;
}

/** Owner of all fields that existed when an object without managedFields was first applied to. */
const FIRST_MANAGER = 'before-first-apply';

/** Each step takes as long as one look at the whole object.
 *  @throws StatusError BadRequest if the configuration can't be merged, Conflict if it changes what others own */
export function* applyPatchObject(input: ApplyInput): Steps<ApplyResult> {
  const { model, schema = {}, inSlices = false } = input;
  const applied = checkedConfiguration(input);
  yield;
  const identity = identityOf(input, 'Apply');
  const scope = scopeOf(input.subresource, input.hasStatus, input.statusHasMetadata);
  const set = inSlices ? yield* ownedFieldsSteps(applied, model, scope) : ownedFields(applied, model, scope);
  if (inSlices) {
    // Both are part of the object.
    const { length } = yield* writeJsonSteps(set);
    yield* checkSizeSteps(schema, applied, { beside: length });
  }
  const before = yield* ownersBefore(input, scope);
  const mine = before.find((owner) => isSameManager(owner, identity));
  const others = before.filter((owner) => owner !== mine);
  yield;
  const object = yield* mergeAndPrune(input, applied, mine, others);
  yield;
  const live = input.live ?? emptyObject(object);
  if (inSlices) yield* checkSizeSteps(schema, object);
  const changes = inSlices
    ? yield* compareSteps(live, object, model, scope)
    : compareObjects(live, object, model, scope);
  yield;
  const rest = changes === undefined ? others : yield* ownersWithout(input, object, changes, others, scope);
  const moved = input.live === undefined || changes !== undefined || touchesIdentity(live, object);
  const same = sameSet(mine?.set ?? EMPTY_SET, set) && isSameOwners(rest, mine, input.live);
  const annotation = annotationOf(identity.manager);
  if (!moved && same && (annotation === undefined || hasLastApplied(live, applied, annotation))) {
    return { object: live, changed: false };
  }
  yield;
  const now: Owner = { ...identity, time: formatTime(input.nowMs), set, entry: undefined };
  const result = withOwners(object, formatOwners([...rest, now]));
  return {
    object: annotation === undefined ? result : withLastApplied(result, applied, annotation),
    changed: true,
  };
}

/** @throws StatusError BadRequest */
function checkedConfiguration({ applied, apiVersion, model }: ApplyInput): JsonObject {
  if (!isObject(applied)) throw new StatusError('BadRequest', 'the applied configuration must be an object');
  const version = applied['apiVersion'];
  if (version !== apiVersion) {
    const given = typeof version === 'string' ? version : '';
    throw new StatusError(
      'BadRequest',
      `Incorrect version specified in apply patch. Specified patch version: ${given}, expected: ${apiVersion}`,
    );
  }
  const metadata = applied['metadata'];
  if (isObject(metadata) && (metadata['managedFields'] ?? null) !== null) {
    throw new StatusError('BadRequest', 'metadata.managedFields must be nil');
  }
  checkApplied(applied, model, titleOf(applied, apiVersion));
  return metadata === undefined ? { ...applied, metadata: {} } : applied;
}

function titleOf(applied: JsonObject, apiVersion: string): string {
  const metadata = isObject(applied['metadata']) ? applied['metadata'] : {};
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  const group = apiVersion.includes('/') ? apiVersion : `/${apiVersion}`;
  return `${text(metadata['namespace'])}/${text(metadata['name'])}; ${group}, Kind=${text(applied['kind'])}`;
}

/** Returns all owners; fields without a recorded owner belong to a synthetic manager. */
function* ownersBefore(input: ApplyInput, scope: Scope): Steps<readonly Owner[]> {
  const { live, model, nowMs, apiVersion, convert, schema = {}, inSlices = false } = input;
  if (live === undefined) return [];
  const owners = storedOwners(live.metadata.managedFields);
  if (owners.length === 0) {
    const first = identityOf({ ...input, manager: FIRST_MANAGER }, 'Update');
    const later = inSlices ? new Later() : undefined;
    const set = fieldsOfNew(live, model, scope, later);
    if (later !== undefined) {
      yield* later.steps();
      // Each of its fields has an owner from now on.
      const { length } = yield* writeJsonSteps(set);
      yield* checkSizeSteps(schema, live, { beside: length });
    }
    return withMine([], first, set, nowMs);
  }
  if (convert !== undefined && owners.some((owner) => owner.apiVersion !== apiVersion)) return owners;
  return owners.map((owner) => withSet(owner, adaptToTypes(owner.set, model)));
}

function* mergeAndPrune(
  { live, model, apiVersion, convert, inSlices = false }: ApplyInput,
  applied: JsonObject,
  mine: Owner | undefined,
  others: readonly Owner[],
): Steps<ApiObject> {
  const before = live ?? {};
  const merged = asApiObject(
    inSlices ? yield* mergeAppliedSteps(before, applied, model) : mergeApplied(before, applied, model),
  );
  if (live === undefined) return merged;
  if (mine === undefined || isEmptySet(mine.set)) return merged;
  yield;
  const named = presentFields(applied, model);
  yield;
  return yield* prune({ merged, model, apiVersion, convert, last: mine, applied: named, others });
}

/** @throws StatusError Conflict */
function* ownersWithout(
  input: ApplyInput,
  object: ApiObject,
  changes: Changes,
  others: readonly Owner[],
  scope: Scope,
): Steps<readonly Owner[]> {
  const { live, model, apiVersion, convert, force, inSlices = false } = input;
  if (live === undefined) return others;
  const at = changesByVersion({ before: live, after: object, model, apiVersion, convert, scope }, changes);
  if (!force) {
    const error = yield* refusalOf(input, live, yield* conflictsOf(others, at, inSlices), scope);
    // The response to it takes as long as the steps do.
    yield;
    if (error !== undefined) throw error;
  }
  yield;
  return yield* ownersAfter(others, at, inSlices);
}

function* conflictsOf(
  others: readonly Owner[],
  at: ChangesAt,
  inSlices: boolean,
): Steps<readonly Conflict[]> {
  const found: Conflict[] = [];
  for (const owner of others) {
    const version = at(owner.apiVersion);
    if (version === undefined) continue;
    const set = adaptToTypes(owner.set, version.model);
    yield;
    const written = writtenFields(version.changes);
    yield;
    const fields = inSlices ? yield* intersectionSteps(set, written) : intersection(set, written);
    if (!isEmptySet(fields)) found.push({ owner, fields });
    yield;
  }
  return found;
}

/** Returns the error Conflict, unless client-side apply of the same tool had set all conflicting fields. */
function* refusalOf(
  input: ApplyInput,
  live: ApiObject,
  found: readonly Conflict[],
  scope: Scope,
): Steps<StatusError | undefined> {
  if (found.length === 0) return undefined;
  const annotation = annotationOf(input.manager);
  const left =
    annotation === undefined
      ? found
      : withoutAllowed(found, fieldsLastApplied(live, annotation, { ...input, scope }));
  return left.length > 0 ? yield* conflictError(left) : undefined;
}

const emptyObject = ({ apiVersion, kind }: ApiObject): ApiObject => ({ apiVersion, kind, metadata: {} });

/** Reports whether the configuration sets fields maintained by the server: the write must continue, so that
 *  they are validated. */
function touchesIdentity(live: ApiObject, object: ApiObject): boolean {
  const { metadata } = object;
  const { uid, resourceVersion, name, namespace } = live.metadata;
  return (
    metadata.uid !== uid ||
    metadata.resourceVersion !== resourceVersion ||
    metadata.name !== name ||
    metadata.namespace !== namespace
  );
}

function isSameOwners(
  owners: readonly Owner[],
  mine: Owner | undefined,
  live: ApiObject | undefined,
): boolean {
  const count = owners.length + (mine === undefined ? 0 : 1);
  const stored = live?.metadata.managedFields ?? [];
  return count === stored.length && owners.every(({ entry }) => entry !== undefined);
}

function withOwners(object: ApiObject, managedFields: ReturnType<typeof formatOwners>): ApiObject {
  const { managedFields: _old, ...metadata } = object.metadata;
  return { ...object, metadata: managedFields === undefined ? metadata : { ...metadata, managedFields } };
}
