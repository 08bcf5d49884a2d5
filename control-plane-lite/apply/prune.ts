/** Prunes fields that a manager applied before, applies no more, and no other manager owns. Pure.
 *  Source: removal, document 1 §4.9.6; structured-merge-diff 4.2 (prune). */
import type { Steps } from '#api/kit/steps.ts';
import type { TypeModel } from '#api/schema/type-model.ts';
import type { ApiObject } from '../resources/contract.ts';
import { asApiObject } from './api-object.ts';
import { difference, EMPTY_SET, type FieldSet, intersection, isEmptySet, union } from './field-set.ts';
import { presentFields } from './owned-fields.ts';
import type { Owner } from './owners.ts';
import { removeFields } from './remove-fields.ts';
import { adaptToTypes, withNamedMembers } from './typed-set.ts';
import { type Convert, type Versioned, versionOf } from './versions.ts';

export interface PruneInput {
  /** The live object merged with the configuration, in the request's version. */
  readonly merged: ApiObject;
  readonly model: TypeModel;
  readonly apiVersion: string;
  readonly convert: Convert | undefined;
  /** The manager's previous set. */
  readonly last: Owner;
  /** The manager's new set, in the request's version. */
  readonly applied: FieldSet;
  /** All other owners. */
  readonly others: readonly Owner[];
}

/** Returns the merged object without the fields that were given up. */
export function* prune(input: PruneInput): Steps<ApiObject> {
  const { merged, model, apiVersion, convert, applied } = input;
  const base = versionOf(merged, input.last.apiVersion, model, convert);
  if (base === undefined) return merged;
  const last = adaptToTypes(input.last.set, base.model);
  if (base.object === merged && isEmptySet(difference(last, applied))) return merged;
  const survivors = yield* keptFields(input, base, last);
  const all = named(base);
  yield;
  const gone = difference(all, survivors);
  yield;
  const given = intersection(gone, last);
  yield;
  if (isEmptySet(given)) return merged;
  const rest = asApiObject(removeFields(base.object, given, base.model));
  return versionOf(rest, apiVersion, model, convert)?.object ?? merged;
}

/** Returns all fields of the object, including the structs that contain them. */
const named = ({ object, model }: Versioned): FieldSet =>
  withNamedMembers(presentFields(object, model), model);

/** Returns what would remain if all fields of the manager were removed, except those that have an owner. A
 *  field removed together with its list item does not remain, even if it has an owner. */
function* keptFields(input: PruneInput, base: Versioned, last: FieldSet): Steps<FieldSet> {
  let kept: Versioned = {
    object: asApiObject(removeFields(base.object, last, base.model)),
    model: base.model,
  };
  yield;
  for (const [version, owned] of ownedByVersion(input, base)) {
    yield;
    const whole = versionOf(base.object, version, base.model, input.convert);
    const part = versionOf(kept.object, version, base.model, input.convert);
    if (whole === undefined || part === undefined) continue;
    yield;
    const left = named(part);
    yield;
    const wanted = union(left, withNamedMembers(owned, whole.model));
    yield;
    const present = named(whole);
    yield;
    const surplus = difference(present, wanted);
    yield;
    kept = { object: asApiObject(removeFields(whole.object, surplus, whole.model)), model: whole.model };
  }
  const result = versionOf(kept.object, base.object.apiVersion, kept.model, input.convert);
  return result === undefined ? EMPTY_SET : named({ object: result.object, model: base.model });
}

/** Yields all owned fields, by version; that of the last apply first, so that a conversion to the other
 *  versions lacks no field. */
function ownedByVersion(
  { others, applied, apiVersion, convert }: PruneInput,
  base: Versioned,
): Map<string, FieldSet> {
  const first = base.object.apiVersion;
  const byVersion = new Map<string, FieldSet>([[first, EMPTY_SET]]);
  const add = (version: string, set: FieldSet): void => {
    // Without a converter all versions are the same.
    const key = convert === undefined ? first : version;
    byVersion.set(key, union(byVersion.get(key) ?? EMPTY_SET, set));
  };
  add(apiVersion, applied);
  for (const { apiVersion: version, set } of others) add(version, set);
  return byVersion;
}
