/** Set of fields that a configuration sets: scalars, whole structures and the items of lists and maps; a
 *  struct only if it is empty. Pure. Source: ownership, document 1 §4.9.3; structured-merge-diff 4.2
 *  (ToFieldSet). */

import { isObject } from '#api/kit/object.ts';
import type { ListNode, TypeModel, TypeNode } from '#api/schema/type-model.ts';
import { type JsonObject } from '../patch/json-value.ts';
import { EMPTY_SET, type FieldSet, type FieldSetDraft, LEAF, withSelf } from './field-set.ts';
import { memberPlan, type ObjectNode } from './member-plan.ts';
import { elementOfItem } from './path-element.ts';
import { NEVER_OWNED, NEVER_OWNED_METADATA, type Scope } from './scope.ts';
import { granularList, granularObject, isEmptyObject } from './shape.ts';

/** Returns the fields owned by the applier of this configuration. */
export function ownedFields(object: Readonly<JsonObject>, { root }: TypeModel, scope: Scope): FieldSet {
  const set: FieldSetDraft = {};
  for (const name in object) {
    if (NEVER_OWNED.has(name) || !scope(name)) continue;
    const plan = memberPlan(root, name);
    const child =
      name === 'metadata' ? ownedMetadata(object[name], plan.node) : ownedMember(object[name], plan);
    if (child !== undefined) set[plan.element] = child;
  }
  return set;
}

/** Returns all fields of a whole object, including those maintained by the server, for comparisons. */
export function presentFields(object: Readonly<JsonObject>, { root }: TypeModel): FieldSet {
  return ownedMembers(object, root) ?? EMPTY_SET;
}

function ownedMetadata(metadata: unknown, node: TypeNode): FieldSet | undefined {
  const type = granularObject(node);
  if (!isObject(metadata) || type === undefined) return undefined;
  return ownedMembers(metadata, type, NEVER_OWNED_METADATA);
}

function ownedMembers(
  object: Readonly<JsonObject>,
  node: ObjectNode,
  skip?: ReadonlySet<string>,
): FieldSet | undefined {
  let set: FieldSetDraft | undefined;
  for (const name in object) {
    if (skip?.has(name) === true) continue;
    const plan = memberPlan(node, name);
    const child = ownedMember(object[name], plan);
    if (child === undefined) continue;
    set ??= {};
    set[plan.element] = child;
  }
  return set;
}

function ownedMember(
  value: unknown,
  { node, declared }: { readonly node: TypeNode; readonly declared: boolean },
): FieldSet | undefined {
  const set = ownedValue(value, node);
  return declared ? set : asMember(set);
}

/** `undefined`: it contains no ownable field. */
function ownedValue(value: unknown, node: TypeNode): FieldSet | undefined {
  if (typeof value !== 'object' || value === null) return LEAF;
  if (Array.isArray(value)) {
    const list = granularList(node);
    return list === undefined ? LEAF : ownedItems(value, list);
  }
  const type = granularObject(node);
  if (type === undefined || !isObject(value) || isEmptyObject(value)) return LEAF;
  return ownedMembers(value, type);
}

function ownedItems(items: readonly unknown[], list: ListNode): FieldSet | undefined {
  let set: FieldSetDraft | undefined;
  for (const item of items) {
    const element = elementOfItem(item, list);
    if (typeof element !== 'string') continue;
    set ??= {};
    set[element] = asMember(ownedValue(item, list.element));
  }
  return set;
}

function asMember(set: FieldSet | undefined): FieldSet {
  return set === undefined || isEmptyObject(set) ? LEAF : withSelf(set);
}
