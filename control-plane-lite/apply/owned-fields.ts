/** Set of fields that a configuration sets: scalars, whole structures and the items of lists and maps; a
 *  struct only if it is empty. Pure. Source: ownership, document 1 §4.9.3; structured-merge-diff 4.2
 *  (ToFieldSet). */

import { Later } from '#api/kit/later.ts';
import { isObject } from '#api/kit/object.ts';
import type { Steps } from '#api/kit/steps.ts';
import type { ListNode, TypeModel, TypeNode } from '#api/schema/type-model.ts';
import { type JsonObject } from '../patch/json-value.ts';
import { EMPTY_SET, type FieldSet, type FieldSetDraft, isEmptySet, LEAF, withSelf } from './field-set.ts';
import { memberPlan, type ObjectNode } from './member-plan.ts';
import { elementOfItem } from './path-element.ts';
import { NEVER_OWNED, NEVER_OWNED_METADATA, type Scope } from './scope.ts';
import { granularList, granularObject, isEmptyObject } from './shape.ts';

/** Returns the fields owned by the applier of this configuration. */
export const ownedFields = (object: Readonly<JsonObject>, model: TypeModel, scope: Scope): FieldSet =>
  ownedRoot(object, model, scope);

/** The same of a large configuration, in short steps. */
export function* ownedFieldsSteps(
  object: Readonly<JsonObject>,
  model: TypeModel,
  scope: Scope,
): Steps<FieldSet> {
  const later = new Later();
  const set = ownedRoot(object, model, scope, later);
  yield* later.steps();
  return set;
}

function ownedRoot(object: Readonly<JsonObject>, { root }: TypeModel, scope: Scope, later?: Later): FieldSet {
  const set: FieldSetDraft = {};
  for (const name in object) {
    if (NEVER_OWNED.has(name) || !scope(name)) continue;
    const plan = memberPlan(root, name);
    const child =
      name === 'metadata'
        ? ownedMetadata(object[name], plan.node, later)
        : ownedMember(object[name], plan, later);
    if (child !== undefined) set[plan.element] = child;
  }
  return set;
}

/** Returns all fields of a whole object, including those maintained by the server, for comparisons. */
export function presentFields(object: Readonly<JsonObject>, { root }: TypeModel): FieldSet {
  return ownedMembers(object, root) ?? EMPTY_SET;
}

function ownedMetadata(metadata: unknown, node: TypeNode, later?: Later): FieldSet | undefined {
  const type = granularObject(node);
  if (!isObject(metadata) || type === undefined) return undefined;
  return ownedMembers(metadata, type, later, NEVER_OWNED_METADATA);
}

function ownedMembers(
  object: Readonly<JsonObject>,
  node: ObjectNode,
  later?: Later,
  skip?: ReadonlySet<string>,
): FieldSet | undefined {
  let set: FieldSetDraft | undefined;
  for (const name in object) {
    if (skip?.has(name) === true) continue;
    const plan = memberPlan(node, name);
    const child = ownedMember(object[name], plan, later);
    if (child === undefined) continue;
    set ??= {};
    set[plan.element] = child;
  }
  return set;
}

/** Entries of a map: each is a member, whatever it contains. `self`: so is the map. */
function ownedEntries(object: JsonObject, node: ObjectNode, self: boolean, later: Later): FieldSet {
  const names = Object.keys(object);
  if (names.length === 0) return LEAF;
  const set: FieldSetDraft = self ? { '.': LEAF } : {};
  later.each(names, (name) => {
    const plan = memberPlan(node, name);
    set[plan.element] = asMember(
      ownedValue(object[name], plan.node, later, true),
      isOfEntries(object[name], plan.node),
    );
  });
  return set;
}

function ownedMember(
  value: unknown,
  { node, declared }: { readonly node: TypeNode; readonly declared: boolean },
  later?: Later,
): FieldSet | undefined {
  const set = ownedValue(value, node, later, !declared);
  return declared ? set : asMember(set, later !== undefined && isOfEntries(value, node));
}

/** The set of a map says itself whether the map is a member. */
function isOfEntries(value: unknown, node: TypeNode): boolean {
  const type = Array.isArray(value) ? undefined : granularObject(node);
  return type !== undefined && type.kind !== 'struct';
}

/** `undefined`: it contains no ownable field. */
function ownedValue(value: unknown, node: TypeNode, later?: Later, self = false): FieldSet | undefined {
  if (typeof value !== 'object' || value === null) return LEAF;
  if (Array.isArray(value)) {
    const list = granularList(node);
    return list === undefined ? LEAF : ownedItems(value, list, later);
  }
  const type = granularObject(node);
  if (type === undefined || !isObject(value)) return LEAF;
  if (later !== undefined && type.kind !== 'struct') return ownedEntries(value, type, self, later);
  return isEmptyObject(value) ? LEAF : ownedMembers(value, type, later);
}

function ownedItems(items: readonly unknown[], list: ListNode, later?: Later): FieldSet | undefined {
  let set: FieldSetDraft | undefined;
  for (const item of items) {
    const element = elementOfItem(item, list);
    if (typeof element !== 'string') continue;
    set ??= {};
    set[element] = asMember(
      ownedValue(item, list.element, later, true),
      later !== undefined && isOfEntries(item, list.element),
    );
  }
  return set;
}

/** `isDone`: the set says of itself whether it is a member. */
function asMember(set: FieldSet | undefined, isDone = false): FieldSet {
  if (set === undefined) return LEAF;
  if (isDone) return set;
  return isEmptySet(set) ? LEAF : withSelf(set);
}
