/** Removes the fields of a set from an object. Pure. Source: structured-merge-diff 4.2 (RemoveItems). */

import { setMember } from '#api/codec/set-member.ts';
import { isObject } from '#api/kit/object.ts';
import type { ListNode, TypeModel, TypeNode } from '#api/schema/type-model.ts';
import { type JsonObject, own } from '../patch/json-value.ts';
import { type FieldSet, isEmptySet, isMember } from './field-set.ts';
import { memberPlan, type ObjectNode } from './member-plan.ts';
import { elementOfItem } from './path-element.ts';
import { granularList, granularObject, isEmptyObject } from './shape.ts';

/** Removes the members of the set with their contents. Structures that lose their last member are removed as
 *  well. */
export function removeFields(object: Readonly<JsonObject>, set: FieldSet, { root }: TypeModel): JsonObject {
  return isEmptySet(set) ? { ...object } : withoutMembers(object, set, root);
}

/** @returns `undefined` if nothing remains */
function without(value: unknown, set: FieldSet, node: TypeNode): unknown {
  const list = granularList(node);
  if (Array.isArray(value)) return list === undefined ? value : withoutItems(value, set, list);
  const type = granularObject(node);
  if (!isObject(value) || type === undefined || isEmptyObject(value)) return value;
  const rest = withoutMembers(value, set, type);
  return isEmptyObject(rest) ? undefined : rest;
}

function withoutMembers(object: Readonly<JsonObject>, set: FieldSet, node: ObjectNode): JsonObject {
  const rest: JsonObject = {};
  for (const name in object) {
    const plan = memberPlan(node, name);
    const child = set[plan.element];
    if (child === undefined) setMember(rest, name, object[name]);
    else if (!isMember(child)) {
      const value = without(object[name], child, plan.node);
      if (value !== undefined) setMember(rest, name, value);
    }
  }
  return rest;
}

function withoutItems(items: readonly unknown[], set: FieldSet, list: ListNode): unknown {
  if (items.length === 0) return items;
  const rest: unknown[] = [];
  for (const item of items) {
    const element = elementOfItem(item, list);
    const child = typeof element === 'string' ? set[element] : undefined;
    if (child === undefined) rest.push(item);
    else if (!isMember(child)) rest.push(keepKeys(item, without(item, child, list.element), list));
  }
  return rest.length === 0 ? undefined : rest;
}

/** A remaining item keeps its keys. */
function keepKeys(item: unknown, rest: unknown, list: ListNode): unknown {
  if (list.listType !== 'map' || !isObject(item)) return item;
  const kept: JsonObject = {};
  for (const key of list.mapKeys) {
    const value = own(item, key);
    if (value !== undefined) setMember(kept, key, value);
  }
  return isObject(rest) ? { ...kept, ...rest } : kept;
}
