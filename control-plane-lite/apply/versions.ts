/** Converts objects to the version of a manager's fields. Pure except for the given converter. */
import type { TypeModel } from '#api/schema/type-model.ts';
import type { ApiObject } from '../resources/contract.ts';
import { type Changes, compareObjects } from './compare.ts';
import type { Scope } from './scope.ts';

export interface Versioned {
  readonly object: ApiObject;
  readonly model: TypeModel;
}

/** Converts an object (from its own `apiVersion`) to another version of its kind. `undefined`: that version
 *  is no longer served. Must not modify the object. */
export type Convert = (object: ApiObject, apiVersion: string) => Versioned | undefined;

/** Without a converter, every version has the same fields. */
export function versionOf(
  object: ApiObject,
  apiVersion: string,
  model: TypeModel,
  convert: Convert | undefined,
): Versioned | undefined {
  return convert === undefined || object.apiVersion === apiVersion
    ? { object, model }
    : convert(object, apiVersion);
}

export interface ChangeInput {
  readonly before: ApiObject;
  readonly after: ApiObject;
  readonly model: TypeModel;
  /** Version of the request. */
  readonly apiVersion: string;
  readonly convert: Convert | undefined;
  readonly scope: Scope;
}

/** The changes, converted to a version. */
export interface VersionedChanges {
  readonly changes: Changes;
  readonly model: TypeModel;
}

/** `undefined`: that version is no longer served. */
export type ChangesAt = (apiVersion: string) => VersionedChanges | undefined;

/** Returns the same change in every requested version, each computed once. */
export function changesByVersion(input: ChangeInput, changes: Changes): ChangesAt {
  const { before, after, model, apiVersion, convert, scope } = input;
  const known = new Map<string, VersionedChanges | undefined>([[apiVersion, { changes, model }]]);
  return (version) => {
    if (known.has(version)) return known.get(version);
    const left = versionOf(before, version, model, convert);
    const right = versionOf(after, version, model, convert);
    const found =
      left === undefined || right === undefined
        ? undefined
        : {
            changes: compareObjects(left.object, right.object, right.model, scope) ?? {},
            model: right.model,
          };
    known.set(version, found);
    return found;
  };
}
