/** Compares two objects and returns sets of fields: added, removed and modified ones. Order makes no
 *  difference in lists with keyed items. Pure.
 *  Source: server-side apply, document 1 §4.9; structured-merge-diff 4.2 (Compare). */

import { Later } from '#api/kit/later.ts';
import { isObject } from '#api/kit/object.ts';
import type { Steps } from '#api/kit/steps.ts';
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
  work?: WideWork,
): Changes | undefined {
  const skip = (name: string): boolean => NEVER_OWNED.has(name) || !scope(name);
  const metadata = memberPlan(root, 'metadata').node;
  const skipMetadata = (name: string): boolean => NEVER_OWNED_METADATA.has(name);
  return compareMembers(before, after, root, work, (name) => name === 'metadata' || skip(name), {
    plan: memberPlan(root, 'metadata'),
    changes: scope('metadata')
      ? compareMembers(
          membersOf(metadataOf(before)),
          membersOf(metadataOf(after)),
          granularObject(metadata) ?? UNTYPED,
          work,
          skipMetadata,
        )
      : undefined,
  });
}

/** The same of large objects, in short steps: objects with very many members are compared one after the other, a few
 *  thousand members at a time, before all else. */
export function* compareSteps(
  before: Readonly<JsonObject>,
  after: Readonly<JsonObject>,
  model: TypeModel,
  scope: Scope,
): Steps<Changes | undefined> {
  const work: WideWork = { later: new Later(), wide: new Map() };
  yield* compareWide(before, after, model.root, work);
  const changes = compareObjects(before, after, model, scope, work);
  yield* work.later.steps();
  return changes;
}

interface WideWork {
  readonly later: Later;
  /** Changes found in objects with very many members, by the later object. */
  readonly wide: Map<object, Changes | undefined>;
}

/** Members compared at a time, and more than most objects have. */
const WIDE_MEMBERS = 2000;

function* compareWide(left: unknown, right: unknown, node: TypeNode, work: WideWork): Steps<void> {
  const type = granularObject(node);
  if (left === right || type === undefined || !isObject(left) || !isObject(right)) return;
  const names = Object.keys(right);
  if (names.length <= WIDE_MEMBERS) {
    for (const name of names) {
      if (isObject(right[name])) {
        yield* compareWide(own(left, name), right[name], memberPlan(type, name).node, work);
      }
    }
    return;
  }
  yield;
  let changes: Changes | undefined;
  for (const [index, name] of names.entries()) {
    if (index % WIDE_MEMBERS === 0) yield;
    changes = compareMember(changes, left, right, type, name, work);
  }
  yield;
  for (const [index, name] of Object.keys(left).entries()) {
    if (index % WIDE_MEMBERS === 0) yield;
    changes = addRemoved(changes, left, right, type, name, work);
  }
  work.wide.set(right, changes);
  yield;
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
  work?: WideWork,
  skip?: (name: string) => boolean,
  known?: Known,
): Changes | undefined {
  if (work?.wide.has(after) === true) return work.wide.get(after);
  let changes: Changes | undefined;
  for (const name in after) {
    if (skip?.(name) !== true) changes = compareMember(changes, before, after, node, name, work);
  }
  for (const name in before) {
    if (skip?.(name) !== true) changes = addRemoved(changes, before, after, node, name, work);
  }
  return known === undefined ? changes : attach(changes, known.plan.element, known.changes);
}

function compareMember(
  changes: Changes | undefined,
  before: Readonly<JsonObject>,
  after: Readonly<JsonObject>,
  node: ObjectNode,
  name: string,
  work: WideWork | undefined,
): Changes | undefined {
  const [left, right] = [own(before, name), after[name]];
  if (left === right) return changes;
  const plan = memberPlan(node, name);
  if (left === undefined && right === null && plan.declared) return changes;
  const child =
    left === undefined && plan.always
      ? addedTo(right, plan.node, work)
      : compareValues(left, right, plan.node, work);
  return attach(changes, plan.element, child);
}

function addRemoved(
  changes: Changes | undefined,
  before: Readonly<JsonObject>,
  after: Readonly<JsonObject>,
  node: ObjectNode,
  name: string,
  work: WideWork | undefined,
): Changes | undefined {
  if (own(after, name) !== undefined) return changes;
  const plan = memberPlan(node, name);
  if (before[name] === null && plan.declared) return changes;
  return attach(changes, plan.element, { removed: everyField(before[name], plan.node, work?.later) });
}

/** Adds the contents of a structure that existed before, empty or implied. */
function addedTo(right: unknown, node: TypeNode, work: WideWork | undefined): Changes | undefined {
  const hollow = node.kind === 'struct' && isObject(right) && isEmptyObject(right);
  return hollow ? undefined : { added: membersOfNew(right, node, true, work?.later) };
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

function compareValues(left: unknown, right: unknown, node: TypeNode, work?: WideWork): Changes | undefined {
  if (left === right) return undefined;
  if (left === undefined) return { added: everyField(right, node, work?.later) };
  if (right === undefined) return { removed: everyField(left, node, work?.later) };
  const list = granularList(node);
  if (list !== undefined && listOrNothing(left) && listOrNothing(right)) {
    return compareLists(left ?? [], right ?? [], list, work) ?? promoted(left, right);
  }
  const type = granularObject(node);
  if (type !== undefined && fits(left, type) && fits(right, type)) {
    return compareMembers(membersOf(left), membersOf(right), type, work) ?? promoted(left, right);
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
  work: WideWork | undefined,
): Changes | undefined {
  if (!inStep(left, right, list)) return compareGroups(groupItems(left, list), groupItems(right, list), list);
  let changes: Changes | undefined;
  for (const [index, item] of right.entries()) {
    const child = compareValues(left[index], item, list.element, work);
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
