/** JSON Merge Patch (RFC 7386). Pure. */

import { copyJson } from '#api/codec/copy-json.ts';
import { setMember } from '#api/codec/set-member.ts';
import { isObject } from '#api/kit/object.ts';
import { malformed } from './faults.ts';
import { type JsonObject, own } from './json-value.ts';

/** Returns the document with the patch's members set and its null members removed. Shares unchanged parts
 *  with the document, nothing with the patch.
 *  @throws StatusError BadRequest if the patch is not an object, since the result would not be one either */
export function applyMergePatch(document: Readonly<JsonObject>, patch: unknown): JsonObject {
  if (!isObject(patch)) throw malformed('a merge patch must be a JSON object');
  return mergeObject(document, patch);
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
