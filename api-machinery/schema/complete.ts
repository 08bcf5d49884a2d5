/** Canonical form of API objects that no client sent: objects built by controllers, and objects stored before
 *  the form was introduced. The decoder produces it for all others. Shares canonical parts with its input,
 *  which it never changes; preserves members that the type does not have. Pure. */

import { setMember } from '../codec/set-member.ts';
import { isObject } from '../kit/object.ts';
import type { Vocabulary } from '../vocabulary.ts';
import { isEmptyValue, planOf, type StructPlan, type ValuePlan, zeroValue } from './decode-plan.ts';

type JsonObject = Readonly<Record<string, unknown>>;

function complete(plan: ValuePlan, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  switch (plan.kind) {
    case 'struct':
      return isObject(value) ? completeStruct(plan, value) : value;
    case 'list':
      return Array.isArray(value) ? completeList(plan.element, value) : value;
    case 'map':
      return isObject(value) ? completeMap(plan.element, value) : value;
    case 'scalar':
    case 'special':
      return value;
    default:
      return plan satisfies never;
  }
}

function completeStruct(plan: StructPlan, value: JsonObject): JsonObject {
  let changed: Record<string, unknown> | undefined;
  for (const name in value) {
    const member = plan.members.get(name);
    const given = value[name];
    if (member === undefined || given === undefined) continue;
    if (given === null || (member.omitEmpty && isEmptyValue(given))) {
      changed ??= { ...value };
      changed[name] = undefined;
      continue;
    }
    if (typeof given !== 'object') continue;
    const full = complete(member.value, given);
    if (full === given) continue;
    changed ??= { ...value };
    changed[name] = full;
  }
  for (const member of plan.present) {
    const given = (changed ?? value)[member.name];
    if (given !== undefined) continue;
    const zero = zeroValue(member.value, true);
    if (zero === undefined) continue;
    changed ??= { ...value };
    changed[member.name] = zero;
  }
  return changed === undefined ? value : inOrder(plan, changed);
}

/** Lists members of the type in their order, then unknown ones. */
function inOrder(plan: StructPlan, object: JsonObject): JsonObject {
  const result: Record<string, unknown> = {};
  for (const name of plan.members.keys()) if (object[name] !== undefined) result[name] = object[name];
  for (const name of Object.keys(object)) {
    if (!plan.members.has(name)) setMember(result, name, object[name]);
  }
  return result;
}

function completeList(element: ValuePlan, items: readonly unknown[]): readonly unknown[] {
  let changed: unknown[] | undefined;
  for (let index = 0; index < items.length; index += 1) {
    const item = items[index];
    const full = complete(element, item);
    if (full === item) continue;
    changed ??= [...items];
    changed[index] = full;
  }
  return changed ?? items;
}

function completeMap(element: ValuePlan, map: JsonObject): JsonObject {
  if (element.kind === 'scalar') return map;
  const result: Record<string, unknown> = {};
  let changed = false;
  for (const key of Object.keys(map)) {
    const full = complete(element, map[key]);
    changed ||= full !== map[key];
    setMember(result, key, full);
  }
  return changed ? result : map;
}

/** Returns the value in canonical form: the value itself if it is canonical, else a new one that shares its
 *  canonical parts. Times, quantities and other scalars are unchanged.
 *  @throws UnknownTypeError */
export function completed<T>(typeRef: string, value: T, vocabulary: Vocabulary): T {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- of the same type, with its empty members
  return complete(planOf(typeRef, vocabulary), value) as T;
}
