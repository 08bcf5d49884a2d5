/** Plain JSON values for patches and apply. Members named like inherited ones (`constructor`, `__proto__`)
 *  are ordinary members here: nothing is read from a prototype and none is ever set. Pure. */
import { isObject } from '#api/kit/object.ts';

import type { Steps } from '#api/kit/steps.ts';

export type JsonObject = Record<string, unknown>;

/** Returns the own member, never an inherited one. Inherited members are functions, which JSON doesn't have,
 *  and `__proto__`: checking for these is faster than `hasOwn`. */
export function own(object: Readonly<JsonObject>, name: string): unknown {
  const value = object[name];
  if (typeof value === 'function') return undefined;
  return name !== '__proto__' || Object.hasOwn(object, name) ? value : undefined;
}

/** Reports whether the values are equal; the order of members doesn't matter. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    for (let index = 0; index < a.length; index += 1) if (!sameJson(a[index], b[index])) return false;
    return true;
  }
  return isObject(a) && isObject(b) && sameMembers(a, b);
}

function sameMembers(a: JsonObject, b: JsonObject): boolean {
  let surplus = 0;
  for (const name in a) {
    const other = own(b, name);
    if (other === undefined || !sameJson(a[name], other)) return false;
    surplus += 1;
  }
  for (const _ in b) surplus -= 1;
  return surplus === 0;
}

/** Members compared at a time. */
const MEMBERS_AT_A_TIME = 4000;

/** The same of large values, in short steps. */
export function* sameJsonSteps(a: unknown, b: unknown): Steps<boolean> {
  return yield* sameSteps(a, b, { left: MEMBERS_AT_A_TIME });
}

function* sameSteps(a: unknown, b: unknown, slice: { left: number }): Steps<boolean> {
  if (a === b) return true;
  if (!isObject(a) || !isObject(b)) return sameJson(a, b);
  const names = Object.keys(a);
  if (names.length > MEMBERS_AT_A_TIME) yield;
  if (Object.keys(b).length !== names.length) return false;
  for (const name of names) {
    slice.left -= 1;
    if (slice.left <= 0) {
      slice.left = MEMBERS_AT_A_TIME;
      yield;
    }
    const [left, right] = [a[name], own(b, name)];
    if (right === undefined) return false;
    if (isObject(left) ? !(yield* sameSteps(left, right, slice)) : !sameJson(left, right)) return false;
  }
  return true;
}
