/** Sets of owned fields, in the very form in which managedFields store them (`FieldsV1`): a tree of path
 *  elements. A node without children, or with the child `.`, is a member of the set; the root never is.
 *  Working on this form directly saves a conversion on every write. Sets are immutable: operations share
 *  subtrees and return their first argument itself if the result equals it. Pure.
 *  Source: managedFields, document 1 §2.5 and §4.9; upstream's FieldsV1. */

/** Elements: `f:<member>`, `k:{<keys of a list item>}`, `v:<value of a set item>`, `i:<index>`, `.`. */
export interface FieldSet {
  readonly [element: string]: FieldSet;
}

/** A set being built. */
export interface FieldSetDraft {
  [element: string]: FieldSet;
}

/** The member without children; as a root, the empty set. */
export const LEAF: FieldSet = Object.freeze({});
export const EMPTY_SET: FieldSet = LEAF;

/** No members (of a root); no children (of a node). */
export function isEmptySet(set: FieldSet): boolean {
  // V8 lists all members before the first one is visited.
  if (set['.'] !== undefined) return false;
  for (const _ in set) return false;
  return true;
}

/** Reports whether the node itself, apart from its children, belongs to the set. */
export function isMember(node: FieldSet): boolean {
  return node['.'] !== undefined || isEmptySet(node);
}

/** Reports whether the set contains this very path. */
export function hasPath(set: FieldSet, path: readonly string[]): boolean {
  let node: FieldSet | undefined = set;
  for (const element of path) node = node?.[element];
  return node !== undefined && path.length > 0 && isMember(node);
}

/** Returns the set of these paths. */
export function setOfPaths(paths: readonly (readonly string[])[]): FieldSet {
  return paths.reduce<FieldSet>((set, path) => {
    const single = path.reduceRight<FieldSet>((child, element) => ({ [element]: child }), LEAF);
    return union(set, single);
  }, EMPTY_SET);
}

/** Returns the union. */
export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b || isEmptySet(b)) return a;
  return isEmptySet(a) ? b : uniteChildren(a, b);
}

/** From this number of members on, spread takes three times as long as a loop; up to it, a third. */
const WIDE_MEMBERS = 500;

/** A copy to be changed. */
export function copySet(set: FieldSet): FieldSetDraft {
  const elements = Object.keys(set);
  if (elements.length <= WIDE_MEMBERS) return { ...set };
  const result: FieldSetDraft = {};
  for (const element of elements) result[element] = set[element] ?? LEAF;
  return result;
}

/** The set with the node itself as a member. */
export function withSelf(set: FieldSet): FieldSet {
  const elements = Object.keys(set);
  if (elements.length <= WIDE_MEMBERS) return { '.': LEAF, ...set };
  const result: FieldSetDraft = { '.': LEAF };
  for (const element of elements) result[element] = set[element] ?? LEAF;
  return result;
}

function uniteChildren(a: FieldSet, b: FieldSet): FieldSet {
  let result: FieldSetDraft | undefined;
  for (const element in b) {
    const theirs = b[element] ?? LEAF;
    const mine = a[element];
    const both = mine === undefined ? theirs : uniteNodes(mine, theirs);
    if (both !== mine) {
      result ??= copySet(a);
      result[element] = both;
    }
  }
  return result ?? a;
}

function uniteNodes(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b) return a;
  if (isEmptySet(a)) return isMember(b) ? (isEmptySet(b) ? a : b) : withSelf(b);
  if (isEmptySet(b)) return a['.'] === undefined ? withSelf(a) : a;
  return uniteChildren(a, b);
}

/** A node under construction: a leaf if only `.` is left, nothing if none is. */
export class Remaining {
  readonly #children: FieldSetDraft = {};
  #count = 0;

  keep(element: string, node: FieldSet | undefined): void {
    if (node === undefined) return;
    this.#children[element] = node;
    if (element !== '.') this.#count += 1;
  }

  settle(): FieldSet | undefined {
    if (this.#count > 0) return this.#children;
    return this.#children['.'] === undefined ? undefined : LEAF;
  }
}

/** Reports whether the sets intersect. */
export function intersects(a: FieldSet, b: FieldSet): boolean {
  for (const element in b) {
    const mine = a[element];
    const theirs = b[element];
    if (mine === undefined || theirs === undefined) continue;
    if (element === '.' || nodesIntersect(mine, theirs)) return true;
  }
  return false;
}

const nodesIntersect = (a: FieldSet, b: FieldSet): boolean =>
  isEmptySet(a) ? isMember(b) : isEmptySet(b) ? isMember(a) : intersects(a, b);

/** Returns the members of `a` that are not members of `b`; children of members of `b` stay. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  return intersects(a, b) ? (subtractNodes(a, b) ?? EMPTY_SET) : a;
}

function subtractNodes(a: FieldSet, b: FieldSet): FieldSet | undefined {
  const result = new Remaining();
  for (const element in a) {
    const mine = a[element] ?? LEAF;
    const theirs = b[element];
    if (theirs === undefined) result.keep(element, mine);
    else if (element !== '.') result.keep(element, subtractNode(mine, theirs));
  }
  return result.settle();
}

/** `undefined`: nothing is left. */
export function subtractNode(a: FieldSet, b: FieldSet): FieldSet | undefined {
  if (isEmptySet(a)) return isMember(b) ? undefined : a;
  return subtractNodes(a, isEmptySet(b) ? { '.': LEAF } : b);
}

/** Returns the members of `a` that are neither members of `b` nor beneath one. */
export function differenceBeneath(a: FieldSet, b: FieldSet): FieldSet {
  return isEmptySet(b) ? a : (cutBeneath(a, b) ?? EMPTY_SET);
}

function cutBeneath(a: FieldSet, b: FieldSet): FieldSet | undefined {
  const result = new Remaining();
  for (const element in a) {
    const mine = a[element] ?? LEAF;
    const theirs = b[element];
    if (theirs === undefined) result.keep(element, mine);
    else if (!isMember(theirs)) result.keep(element, isEmptySet(mine) ? mine : cutBeneath(mine, theirs));
  }
  return result.settle();
}

/** Returns the intersection. */
export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  return a === b ? a : (intersectNodes(a, b) ?? EMPTY_SET);
}

function intersectNodes(a: FieldSet, b: FieldSet): FieldSet | undefined {
  const result = new Remaining();
  for (const element in a) {
    const mine = a[element] ?? LEAF;
    const theirs = b[element];
    if (theirs !== undefined) result.keep(element, element === '.' ? LEAF : intersectNode(mine, theirs));
  }
  return result.settle();
}

/** `undefined`: nothing is left. */
export function intersectNode(a: FieldSet, b: FieldSet): FieldSet | undefined {
  if (isEmptySet(a)) return isMember(b) ? LEAF : undefined;
  if (isEmptySet(b)) return isMember(a) ? LEAF : undefined;
  return intersectNodes(a, b);
}

/** Reports whether the sets have the same members. */
export function sameSet(a: FieldSet, b: FieldSet): boolean {
  if (a === b) return true;
  let surplus = 0;
  for (const element in a) {
    const mine = a[element];
    const theirs = b[element];
    if (mine === undefined || theirs === undefined || !sameSet(mine, theirs)) return false;
    surplus += 1;
  }
  for (const _ in b) surplus -= 1;
  return surplus === 0;
}
