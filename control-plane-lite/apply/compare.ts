/** Compares two objects and returns sets of fields: added, removed and modified ones. Order makes no
 *  difference in lists with keyed items. Pure.
 *  Source: server-side apply, document 1 §4.9; structured-merge-diff 4.2 (Compare). */

import { isObject } from '#api/kit/object.ts';
import type { ListNode, TypeModel, TypeNode } from '#api/schema/type-model.ts';
import { type JsonObject, own, sameJson } from '../patch/json-value.ts';
import { everyField, membersOfNew } from './every-field.ts';
import { EMPTY_SET, type FieldSet, type FieldSetDraft, LEAF, union } from './field-set.ts';
import { memberPlan, type ObjectNode, UNTYPED } from './member-plan.ts';
import { elementOfItem, isSameItem } from './path-element.ts';
import { NEVER_OWNED, NEVER_OWNED_METADATA, type Scope } from './scope.ts';
import { granularList, granularObject, isEmptyObject, listOrNothing, membersOf } from './shape.ts';

/** Absent: none. */
export interface Changes {
  added?: FieldSet;
  modified?: FieldSet;
  removed?: FieldSet;
}

/** Returns the changes from the first to the second object, of the fields that can have an owner.
 *  `undefined`: no change. */
export function compareObjects(
  before: Readonly<JsonObject>,
  after: Readonly<JsonObject>,
  { root }: TypeModel,
  scope: Scope,
): Changes | undefined {
  const skip = (name: string): boolean => NEVER_OWNED.has(name) || !scope(name);
  const metadata = memberPlan(root, 'metadata').node;
  const skipMetadata = (name: string): boolean => NEVER_OWNED_METADATA.has(name);
  return compareMembers(before, after, root, (name) => name === 'metadata' || skip(name), {
    plan: memberPlan(root, 'metadata'),
    changes: scope('metadata')
      ? compareMembers(
          membersOf(metadataOf(before)),
          membersOf(metadataOf(after)),
          granularObject(metadata) ?? UNTYPED,
          skipMetadata,
        )
      : undefined,
  });
}

const metadataOf = (object: Readonly<JsonObject>): JsonObject | undefined => {
  const metadata = object['metadata'];
  return isObject(metadata) ? metadata : undefined;
};

/** Returns the added and modified fields: a write gives them to its manager and takes them from others. */
export function writtenFields({ added = EMPTY_SET, modified = EMPTY_SET }: Changes): FieldSet {
  return union(modified, added);
}

interface Known {
  readonly plan: { readonly element: string };
  readonly changes: Changes | undefined;
}

function compareMembers(
  before: Readonly<JsonObject>,
  after: Readonly<JsonObject>,
  node: ObjectNode,
  skip?: (name: string) => boolean,
  known?: Known,
): Changes | undefined {
  let changes: Changes | undefined;
  for (const name in after) {
    const [left, right] = [own(before, name), after[name]];
    if (left === right || skip?.(name) === true) continue;
    const plan = memberPlan(node, name);
    if (left === undefined && right === null && plan.declared) continue;
    const child =
      left === undefined && plan.always ? addedTo(right, plan.node) : compareValues(left, right, plan.node);
    changes = attach(changes, plan.element, child);
  }
  for (const name in before) {
    if (own(after, name) !== undefined || skip?.(name) === true) continue;
    const plan = memberPlan(node, name);
    if (before[name] === null && plan.declared) continue;
    changes = attach(changes, plan.element, { removed: everyField(before[name], plan.node) });
  }
  return known === undefined ? changes : attach(changes, known.plan.element, known.changes);
}

/** Adds the contents of a structure that existed before, empty or implied. */
function addedTo(right: unknown, node: TypeNode): Changes | undefined {
  const hollow = node.kind === 'struct' && isObject(right) && isEmptyObject(right);
  return hollow ? undefined : { added: membersOfNew(right, node, true) };
}

function attach(
  target: Changes | undefined,
  element: string,
  child: Changes | undefined,
): Changes | undefined {
  if (child === undefined) return target;
  const changes = target ?? {};
  if (child.added !== undefined) changes.added = put(changes.added, element, child.added);
  if (child.modified !== undefined) changes.modified = put(changes.modified, element, child.modified);
  if (child.removed !== undefined) changes.removed = put(changes.removed, element, child.removed);
  return changes;
}

/** Mutable while the comparison runs; not shared until it is done. */
function put(set: FieldSet | undefined, element: string, child: FieldSet): FieldSet {
  const draft: FieldSetDraft = set ?? {};
  draft[element] = child;
  return draft;
}

function compareValues(left: unknown, right: unknown, node: TypeNode): Changes | undefined {
  if (left === right) return undefined;
  if (left === undefined) return { added: everyField(right, node) };
  if (right === undefined) return { removed: everyField(left, node) };
  const list = granularList(node);
  if (list !== undefined && listOrNothing(left) && listOrNothing(right)) {
    return compareLists(left ?? [], right ?? [], list) ?? promoted(left, right);
  }
  const type = granularObject(node);
  if (type !== undefined && fits(left, type) && fits(right, type)) {
    return compareMembers(membersOf(left), membersOf(right), type) ?? promoted(left, right);
  }
  return sameJson(left, right) ? undefined : replaced(left, right, type !== undefined);
}

/** Null means an empty object if the type always has one. */
const fits = (value: unknown, { kind }: ObjectNode): value is JsonObject | null =>
  isObject(value) || (value === null && kind !== 'untyped');

/** Two empty structures are a leaf, so that empty and null remain different. */
function promoted(left: unknown, right: unknown): Changes | undefined {
  const differ = (left === null) !== (right === null);
  return differ && isHollow(left) && isHollow(right) ? { modified: LEAF } : undefined;
}

const isHollow = (value: unknown): boolean =>
  value === null || (Array.isArray(value) ? value.length === 0 : isObject(value) && isEmptyObject(value));

/** The shapes differ: the field is modified, and its former contents are removed and the new ones added. */
function replaced(left: unknown, right: unknown, granular: boolean): Changes {
  const changes: Changes = { modified: LEAF };
  if (granular && isObject(right) && !isEmptyObject(right)) changes.added = everyField(right, UNTYPED);
  if (granular && isObject(left) && !isEmptyObject(left)) changes.removed = everyField(left, UNTYPED);
  return changes;
}

function compareLists(
  left: readonly unknown[],
  right: readonly unknown[],
  list: ListNode,
): Changes | undefined {
  if (!inStep(left, right, list)) return compareGroups(groupItems(left, list), groupItems(right, list), list);
  let changes: Changes | undefined;
  for (const [index, item] of right.entries()) {
    const child = compareValues(left[index], item, list.element);
    const element = child === undefined ? undefined : elementOfItem(item, list);
    if (typeof element === 'string') changes = attach(changes, element, child);
  }
  return changes;
}

/** Fast path: the same items at the same positions, and no duplicates that `groupItems` would find. */
function inStep(left: readonly unknown[], right: readonly unknown[], list: ListNode): boolean {
  if (left.length !== right.length) return false;
  for (const [index, item] of right.entries()) if (!isSameItem(left[index], item, list)) return false;
  return true;
}

type Groups = ReadonlyMap<string, readonly unknown[]>;

/** Groups items by key. Several items with one key, which only old objects may have, are one entry. */
function groupItems(items: readonly unknown[], list: ListNode): Groups {
  const groups = new Map<string, unknown[]>();
  for (const item of items) {
    const element = elementOfItem(item, list);
    if (typeof element !== 'string') continue;
    const group = groups.get(element);
    if (group === undefined) groups.set(element, [item]);
    else group.push(item);
  }
  return groups;
}

function compareGroups(left: Groups, right: Groups, list: ListNode): Changes | undefined {
  let changes: Changes | undefined;
  for (const [element, items] of right) {
    changes = attach(changes, element, compareGroup(left.get(element), items, list));
  }
  for (const [element, items] of left) {
    if (!right.has(element))
      changes = attach(changes, element, { removed: everyField(items[0], list.element) });
  }
  return changes;
}

function compareGroup(
  left: readonly unknown[] | undefined,
  right: readonly unknown[],
  list: ListNode,
): Changes | undefined {
  if (left === undefined) return { added: everyField(right[0], list.element) };
  if (left.length === 1 && right.length === 1) return compareValues(left[0], right[0], list.element);
  return sameJson(left, right) ? undefined : { modified: LEAF };
}
