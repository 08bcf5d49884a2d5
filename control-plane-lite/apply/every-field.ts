/** Set of all fields of an object, each structure included: the fields that its creator owns, or that are
 *  added or removed with a part of it. On the path of every create: one pass, directly into the stored form.
 *  Pure.
 *  Source: server-side apply, document 1 §4.9; structured-merge-diff 4.2. */
import type { Later } from '#api/kit/later.ts';
import { isObject } from '#api/kit/object.ts';
import type { ListNode, TypeModel, TypeNode } from '#api/schema/type-model.ts';
import { type JsonObject } from '../patch/json-value.ts';
import { type FieldSet, type FieldSetDraft, LEAF } from './field-set.ts';
import { memberPlan, type ObjectNode } from './member-plan.ts';
import { elementOfItem } from './path-element.ts';
import { NEVER_OWNED, NEVER_OWNED_METADATA, type Scope } from './scope.ts';
import { granularList, granularObject, isEmptyObject } from './shape.ts';

/** Returns all fields of a new object, except those that cannot have an owner. */
export function fieldsOfNew(
  object: Readonly<JsonObject>,
  { root }: TypeModel,
  scope: Scope,
  later?: Later,
): FieldSet {
  const set: FieldSetDraft = {};
  for (const name in object) {
    if (NEVER_OWNED.has(name) || !scope(name)) continue;
    const plan = memberPlan(root, name);
    const value = object[name];
    if (name === 'metadata') addMetadata(set, value, plan.node, later);
    else {
      const always = plan.always || plan.node.kind === 'struct';
      set[plan.element] = membersOfNew(value, plan.node, always, later);
    }
  }
  return set;
}

function addMetadata(set: FieldSetDraft, metadata: unknown, node: TypeNode, later?: Later): void {
  const type = granularObject(node);
  if (!isObject(metadata) || type === undefined) return;
  const children: FieldSetDraft = {};
  for (const name in metadata) {
    if (NEVER_OWNED_METADATA.has(name)) continue;
    const plan = memberPlan(type, name);
    children[plan.element] = everyField(metadata[name], plan.node, later);
  }
  if (!isEmptyObject(children)) set['f:metadata'] = children;
}

/** Like `everyField`, but structures that even an empty object has are not counted as added. */
export function membersOfNew(value: unknown, node: TypeNode, always: boolean, later?: Later): FieldSet {
  if (!always) return everyField(value, node, later);
  if (Array.isArray(value)) {
    const list = granularList(node);
    return list === undefined || value.length === 0 ? LEAF : everyItem(value, list, {}, later);
  }
  const type = granularObject(node);
  if (!isObject(value) || type === undefined) return LEAF;
  const set: FieldSetDraft = {};
  if (type.kind !== 'struct') {
    const element = type.kind === 'map' ? type.element : type;
    if (later !== undefined) return addEntriesLater(set, value, element, later);
    return isEmptyObject(value) ? LEAF : addEntries(set, value, element);
  }
  if (isEmptyObject(value)) return LEAF;
  for (const name in value) {
    const plan = memberPlan(type, name);
    set[plan.element] = membersOfNew(value[name], plan.node, plan.always, later);
  }
  return set;
}

/** Adds the value and its contents. */
export function everyField(value: unknown, node: TypeNode, later?: Later): FieldSet {
  if (typeof value !== 'object' || value === null) return LEAF;
  if (Array.isArray(value)) {
    const list = granularList(node);
    return list === undefined || value.length === 0 ? LEAF : everyItem(value, list, { '.': LEAF }, later);
  }
  const type = granularObject(node);
  return type === undefined || !isObject(value) ? LEAF : everyMember(value, type, later);
}

function everyMember(object: JsonObject, node: ObjectNode, later?: Later): FieldSet {
  if (node.kind !== 'struct') {
    const element = node.kind === 'map' ? node.element : node;
    if (later !== undefined) return addEntriesLater({ '.': LEAF }, object, element, later);
    return isEmptyObject(object) ? LEAF : addEntries({ '.': LEAF }, object, element);
  }
  let set: FieldSetDraft | undefined;
  for (const name in object) {
    const plan = memberPlan(node, name);
    set ??= { '.': LEAF };
    set[plan.element] = everyField(object[name], plan.node, later);
  }
  return set ?? LEAF;
}

/** Items without a key have no owner. */
function addEntries(set: FieldSetDraft, object: JsonObject, element: TypeNode): FieldSet {
  for (const name in object) set[`f:${name}`] = everyField(object[name], element);
  return set;
}

/** Lists the names once: that of very many takes as long as all else. */
function addEntriesLater(set: FieldSetDraft, object: JsonObject, element: TypeNode, later: Later): FieldSet {
  const names = Object.keys(object);
  if (names.length === 0) return LEAF;
  later.each(names, (name) => {
    set[`f:${name}`] = everyField(object[name], element, later);
  });
  return set;
}

/** Items without a name have no owner. */
function everyItem(items: readonly unknown[], list: ListNode, set: FieldSetDraft, later?: Later): FieldSet {
  const add = (item: unknown): void => {
    const element = elementOfItem(item, list);
    if (typeof element === 'string') set[element] = everyField(item, list.element, later);
  };
  if (later !== undefined) {
    later.each(items, add);
    return set;
  }
  for (const item of items) add(item);
  return isEmptyObject(set) ? LEAF : set;
}
