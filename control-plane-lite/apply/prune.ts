/** Removes what a manager applied before, applies no more, and nobody else owns.
 *  Source: document 1, 4.9.6; structured-merge-diff 4.2 (prune). Pure. */
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
  /** The live object with the configuration merged in, in the request's version. */
  readonly merged: ApiObject;
  readonly model: TypeModel;
  readonly apiVersion: string;
  readonly convert: Convert | undefined;
  /** What the manager owned so far. */
  readonly last: Owner;
  /** All that it names now, in the request's version. */
  readonly applied: FieldSet;
  /** Everybody else. */
  readonly others: readonly Owner[];
}

/** The merged object without what was given up. */
export function prune(input: PruneInput): ApiObject {
  const { merged, model, apiVersion, convert, applied } = input;
  const base = versionOf(merged, input.last.apiVersion, model, convert);
  if (base === undefined) return merged;
  const last = adaptToTypes(input.last.set, base.model);
  if (base.object === merged && isEmptySet(difference(last, applied))) return merged;
  const survivors = keptFields(input, base, last);
  const given = intersection(difference(named(base), survivors), last);
  if (isEmptySet(given)) return merged;
  const rest = asApiObject(removeFields(base.object, given, base.model));
  return versionOf(rest, apiVersion, model, convert)?.object ?? merged;
}

/** Everything that is there, with the structs that hold it. */
const named = ({ object, model }: Versioned): FieldSet =>
  withNamedMembers(presentFields(object, model), model);

/** What would be left if all that the manager had were removed, but for what somebody owns. A field that goes
 *  because the item around it goes is not left, whoever owns it. */
function keptFields(input: PruneInput, base: Versioned, last: FieldSet): FieldSet {
  let kept: Versioned = {
    object: asApiObject(removeFields(base.object, last, base.model)),
    model: base.model,
  };
  for (const [version, owned] of ownedByVersion(input, base)) {
    const whole = versionOf(base.object, version, base.model, input.convert);
    const part = versionOf(kept.object, version, base.model, input.convert);
    if (whole === undefined || part === undefined) continue;
    const wanted = union(named(part), withNamedMembers(owned, whole.model));
    const surplus = difference(named(whole), wanted);
    kept = { object: asApiObject(removeFields(whole.object, surplus, whole.model)), model: whole.model };
  }
  const result = versionOf(kept.object, base.object.apiVersion, kept.model, input.convert);
  return result === undefined ? EMPTY_SET : named({ object: result.object, model: base.model });
}

/** What anybody owns, by version; that of the last apply first, so that nothing is missing that a conversion to
 *  the other versions needs. */
function ownedByVersion(
  { others, applied, apiVersion, convert }: PruneInput,
  base: Versioned,
): Map<string, FieldSet> {
  const first = base.object.apiVersion;
  const byVersion = new Map<string, FieldSet>([[first, EMPTY_SET]]);
  const add = (version: string, set: FieldSet): void => {
    // Without a converter all versions are one.
    const key = convert === undefined ? first : version;
    byVersion.set(key, union(byVersion.get(key) ?? EMPTY_SET, set));
  };
  add(apiVersion, applied);
  for (const { apiVersion: version, set } of others) add(version, set);
  return byVersion;
}
