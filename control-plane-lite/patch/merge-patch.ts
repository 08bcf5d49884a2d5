/** JSON Merge Patch (RFC 7386). Pure. */

import { copyJson, copyLater } from '#api/codec/copy-json.ts';
import type { MemberNames } from '#api/codec/member-names.ts';
import { setMember } from '#api/codec/set-member.ts';
import { Later } from '#api/kit/later.ts';
import { isObject } from '#api/kit/object.ts';
import type { Steps } from '#api/kit/steps.ts';
import { type JsonObject, own } from './json-value.ts';
import { malformed } from './patch-errors.ts';

/** Returns the document with the patch's members set and its null members removed. Shares unchanged parts
 *  with the document, nothing with the patch.
 *  @throws StatusError BadRequest if the patch is not an object, since the result would not be one either */
export function applyMergePatch(document: Readonly<JsonObject>, patch: unknown): JsonObject {
  if (!isObject(patch)) throw malformed('a merge patch must be a JSON object');
  return mergeObject(document, patch);
}

/** The same of a large document or patch, in short steps. `names`: of objects in the patch with very many members;
 *  it learns those of the result.
 *  @throws StatusError BadRequest */
export function* mergePatchSteps(
  document: Readonly<JsonObject>,
  patch: unknown,
  names: MemberNames,
): Steps<JsonObject> {
  if (!isObject(patch)) throw malformed('a merge patch must be a JSON object');
  const later = new Later();
  const wide: Built[] = [];
  const merged = mergeLater(document, patch, { later, names, wide });
  yield* later.steps();
  for (const { object, members } of wide) names.learn(object, members);
  return merged;
}

/** An object of the result, and the names of its members. */
interface Built {
  readonly object: JsonObject;
  readonly members: string[];
}

interface LaterMerge {
  readonly later: Later;
  readonly names: MemberNames;
  readonly wide: Built[];
}

function mergeLater(document: Readonly<JsonObject>, patch: JsonObject, work: LaterMerge): JsonObject {
  const { later, names, wide } = work;
  const object: JsonObject = {};
  const members: string[] = [];
  const set = (name: string, value: unknown): void => {
    members.push(name);
    setMember(object, name, value);
  };
  const before = Object.keys(document);
  // One walk over both: the members of the document come first.
  later.each([...before, ...names.of(patch)], (name, index) => {
    const change = own(patch, name);
    const value = own(document, name);
    if (index >= before.length && value !== undefined) return;
    if (change === undefined) set(name, value);
    else if (change !== null) set(name, mergeValueLater(value, change, work));
  });
  wide.push({ object, members });
  return object;
}

function mergeValueLater(value: unknown, change: unknown, work: LaterMerge): unknown {
  if (!isObject(change)) return copyLater(change, work.later);
  return mergeLater(isObject(value) ? value : {}, change, work);
}

function mergeObject(document: Readonly<JsonObject>, patch: JsonObject): JsonObject {
  const merged: JsonObject = {};
  for (const name in document) {
    const change = own(patch, name);
    if (change === undefined) setMember(merged, name, document[name]);
    else if (change !== null) setMember(merged, name, mergeValue(document[name], change));
  }
  for (const name in patch) {
    if (patch[name] !== null && own(document, name) === undefined) {
      setMember(merged, name, mergeValue(undefined, patch[name]));
    }
  }
  return merged;
}

function mergeValue(value: unknown, change: unknown): unknown {
  if (!isObject(change)) return copyJson(change);
  return mergeObject(isObject(value) ? value : {}, change);
}
