/** The set of all fields of an object, each structure included: what the one who creates it comes to own, and what
 *  is added or removed with a part of it. On the path of every create: one walk, straight into the stored form.
 *  Source: document 1, 4.9; structured-merge-diff 4.2. Pure. */
import type { ListNode, TypeModel, TypeNode } from '#api/schema/type-model.ts';
import { isObject, type JsonObject } from '../patch/json-value.ts';
import { type FieldSet, type FieldSetDraft, LEAF } from './field-set.ts';
import { memberPlan, type ObjectNode } from './member-plan.ts';
import { elementOfItem } from './path-element.ts';
import { NEVER_OWNED, NEVER_OWNED_METADATA, type Scope } from './scope.ts';
import { granularList, granularObject, isEmptyObject } from './shape.ts';

/** All fields of a new object, but for those without owner. */
export function fieldsOfNew(object: Readonly<JsonObject>, { root }: TypeModel, scope: Scope): FieldSet {
  const set: FieldSetDraft = {};
  for (const name in object) {
    if (NEVER_OWNED.has(name) || !scope(name)) continue;
    const plan = memberPlan(root, name);
    const value = object[name];
    if (name === 'metadata') addMetadata(set, value, plan.node);
    else set[plan.element] = membersOfNew(value, plan.node, plan.always || plan.node.kind === 'struct');
  }
  return set;
}

function addMetadata(set: FieldSetDraft, metadata: unknown, node: TypeNode): void {
  const type = granularObject(node);
  if (!isObject(metadata) || type === undefined) return;
  const children: FieldSetDraft = {};
  for (const name in metadata) {
    if (NEVER_OWNED_METADATA.has(name)) continue;
    const plan = memberPlan(type, name);
    children[plan.element] = everyField(metadata[name], plan.node);
  }
  if (!isEmptyObject(children)) set['f:metadata'] = children;
}

/** Like `everyField`, but structures that even an empty object has are not among what was added. */
export function membersOfNew(value: unknown, node: TypeNode, always: boolean): FieldSet {
  if (!always) return everyField(value, node);
  if (Array.isArray(value)) {
    const list = granularList(node);
    return list === undefined || value.length === 0 ? LEAF : everyItem(value, list, {});
  }
  const type = granularObject(node);
  if (!isObject(value) || type === undefined || isEmptyObject(value)) return LEAF;
  const set: FieldSetDraft = {};
  for (const name in value) {
    const plan = memberPlan(type, name);
    set[plan.element] = membersOfNew(value[name], plan.node, plan.always);
  }
  return set;
}

/** The value and everything in it. */
export function everyField(value: unknown, node: TypeNode): FieldSet {
  if (typeof value !== 'object' || value === null) return LEAF;
  if (Array.isArray(value)) {
    const list = granularList(node);
    return list === undefined || value.length === 0 ? LEAF : everyItem(value, list, { '.': LEAF });
  }
  const type = granularObject(node);
  return type === undefined || !isObject(value) ? LEAF : everyMember(value, type);
}

function everyMember(object: JsonObject, node: ObjectNode): FieldSet {
  let set: FieldSetDraft | undefined;
  for (const name in object) {
    const plan = memberPlan(node, name);
    set ??= { '.': LEAF };
    set[plan.element] = everyField(object[name], plan.node);
  }
  return set ?? LEAF;
}

/** Items without a name have no owner. */
function everyItem(items: readonly unknown[], list: ListNode, set: FieldSetDraft): FieldSet {
  for (const item of items) {
    const element = elementOfItem(item, list);
    if (typeof element === 'string') set[element] = everyField(item, list.element);
  }
  return isEmptyObject(set) ? LEAF : set;
}
