/** Strategic merge patch: a merge patch that knows which lists are sets or have keyed items, and that accepts
 *  directives in members whose names start with `$`. Pure. Source: upstream's strategic merge patch of 1.24.
 *
 *  Deviation: directives are executed, not stored, if the document has no value at their place yet, and
 *  `$patch: merge` requests the default behaviour. */

import { copyJson, copyLater } from '#api/codec/copy-json.ts';
import type { MemberNames } from '#api/codec/member-names.ts';
import { setMember } from '#api/codec/set-member.ts';
import { Later } from '#api/kit/later.ts';
import { isObject } from '#api/kit/object.ts';
import type { Steps } from '#api/kit/steps.ts';
import type { MemberNode, TypeModel, TypeNode } from '#api/schema/type-model.ts';
import { type JsonObject, own } from './json-value.ts';
import { type ListMerge, orderList, placesOf, validateOrder } from './list-order.ts';
import { malformed, strategicMergeUnsupported, unprocessable } from './patch-errors.ts';
import { listDirectives, NO_DIRECTIVES, PATCH, patchedNames, retained } from './strategic-directives.ts';

/** Returns the document after the patch. Shares unchanged parts with the document, nothing with the patch.
 *  @throws StatusError BadRequest if the patch is malformed, Invalid if it doesn't fit the document,
 *  UnsupportedMediaType if the type of the object isn't known (custom resources) */
export function applyStrategicMergePatch(
  document: Readonly<JsonObject>,
  patch: unknown,
  { root }: TypeModel,
): JsonObject {
  if (root.kind === 'untyped') throw strategicMergeUnsupported();
  if (!isObject(patch)) throw malformed('a strategic merge patch must be a JSON object');
  return mergeObject(document, patch, root);
}

/** The same of a large document or patch, in short steps. `names`: of objects in the patch with very many members;
 *  it learns those of the result.
 *  @throws StatusError as `applyStrategicMergePatch` does */
export function* strategicMergeSteps(
  document: Readonly<JsonObject>,
  patch: unknown,
  { root }: TypeModel,
  names: MemberNames,
): Steps<JsonObject> {
  if (root.kind === 'untyped') throw strategicMergeUnsupported();
  if (!isObject(patch)) throw malformed('a strategic merge patch must be a JSON object');
  const work: LaterMerge = { later: new Later(), names, wide: [] };
  const merged = mergeObject(document, patch, root, work);
  yield* work.later.steps();
  for (const { object, members, removed } of work.wide) {
    names.learn(object, removed.size === 0 ? members : members.filter((name) => !removed.has(name)));
  }
  return merged;
}

/** A map of the result, the names that it got, and those that it lost again. */
interface Built {
  readonly object: JsonObject;
  readonly members: string[];
  readonly removed: Set<string>;
}

interface LaterMerge {
  readonly later: Later;
  readonly names: MemberNames;
  readonly wide: Built[];
}

function memberOf(node: TypeNode | undefined, name: string): MemberNode | undefined {
  if (node?.kind === 'struct') return node.member(name);
  return node?.kind === 'map' ? { node: node.element } : undefined;
}

const strategyOf = (member: MemberNode | undefined): string | undefined =>
  member?.patchStrategy?.split(',').find((strategy) => strategy !== 'retainKeys');

function mergeObject(
  document: Readonly<JsonObject>,
  patch: JsonObject,
  node: TypeNode | undefined,
  work?: LaterMerge,
): JsonObject {
  const directive = own(patch, PATCH);
  switch (directive) {
    case 'delete':
      return {};
    case 'replace':
      return mergeMembers({}, patch, node, work);
    case undefined:
    case 'merge':
      return mergeMembers(retained(document, patch), patch, node, work);
    default:
      throw malformed(
        `unknown patch type ${JSON.stringify(directive)}: $patch must be replace, delete or merge`,
      );
  }
}

function mergeMembers(
  document: Readonly<JsonObject>,
  patch: JsonObject,
  node: TypeNode | undefined,
  work?: LaterMerge,
): JsonObject {
  if (work !== undefined && node?.kind !== 'struct') return mergeMapLater(document, patch, node, work);
  const merged = node?.kind === 'struct' ? { ...document } : copyOfMap(document);
  const { names, hasOrders } = patchedNames(patch);
  for (const name of names) mergeMember(merged, name, patch, memberOf(node, name), hasOrders, work);
  return merged;
}

function mergeMapLater(
  document: Readonly<JsonObject>,
  patch: JsonObject,
  node: TypeNode | undefined,
  work: LaterMerge,
): JsonObject {
  const { later, wide } = work;
  const object: JsonObject = {};
  const built: Built = { object, members: [], removed: new Set() };
  const given = work.names.of(patch);
  const isPlain = given.every((name) => !name.startsWith('$'));
  const { names, hasOrders } = isPlain ? { names: given, hasOrders: false } : patchedNames(patch);
  const before = Object.keys(document);
  later.each([...before, ...names], (name, index) => {
    if (index < before.length) {
      built.members.push(name);
      setMember(object, name, document[name]);
      return;
    }
    const had = own(object, name) !== undefined;
    mergeMember(object, name, patch, memberOf(node, name), hasOrders, work);
    const has = own(object, name) !== undefined;
    if (had && !has) built.removed.add(name);
    else if (has && !had) built.members.push(name);
  });
  wide.push(built);
  return object;
}

function copyOfMap(document: Readonly<JsonObject>): JsonObject {
  const copy: JsonObject = {};
  for (const name in document) setMember(copy, name, document[name]);
  return copy;
}

function mergeMember(
  merged: JsonObject,
  name: string,
  patch: JsonObject,
  member: MemberNode | undefined,
  hasOrders: boolean,
  work?: LaterMerge,
): void {
  const change = own(patch, name);
  const { order, deleted } = hasOrders ? listDirectives(patch, name) : NO_DIRECTIVES;
  if (change === null) delete merged[name];
  else if (change !== undefined || order !== undefined) {
    const value = own(merged, name);
    const result =
      order === undefined
        ? mergeValue(value, change, member, work)
        : mergeOrdered(value, change, order, member);
    if (result !== undefined) setMember(merged, name, result);
  }
  const list = own(merged, name);
  if (deleted !== undefined && Array.isArray(list)) {
    const gone = new Set<unknown>(deleted);
    setMember(
      merged,
      name,
      list.filter((item) => !gone.has(item)),
    );
  }
}

function mergeValue(
  value: unknown,
  change: unknown,
  member: MemberNode | undefined,
  work?: LaterMerge,
): unknown {
  if (isObject(change)) {
    const replaced = strategyOf(member) === 'replace' || !isObject(value);
    return mergeObject(replaced ? {} : value, change, member?.node, work);
  }
  if (!Array.isArray(change)) return change;
  const how = listMergeOf(member);
  if (how === undefined) return work === undefined ? copyJson(change) : copyLater(change, work.later);
  return mergeList(Array.isArray(value) ? value : [], change, how);
}

interface TypedListMerge extends ListMerge {
  readonly element: TypeNode | undefined;
}

/** Returns `undefined` if a patch replaces the list. */
function listMergeOf(member: MemberNode | undefined): TypedListMerge | undefined {
  if (strategyOf(member) !== 'merge') return undefined;
  const element = member?.node.kind === 'list' ? member.node.element : undefined;
  return { mergeKey: member?.patchMergeKey, element };
}

function mergeOrdered(
  value: unknown,
  change: unknown,
  order: readonly unknown[],
  member: MemberNode | undefined,
): unknown {
  const how = listMergeOf(member);
  if (change !== undefined && !Array.isArray(change)) {
    throw malformed('invalid patch format of setElementOrder list: what it orders must be a list');
  }
  const list = Array.isArray(value) ? value : [];
  const key: ListMerge = { mergeKey: how?.mergeKey ?? member?.patchMergeKey };
  const remaining = (change ?? []).filter(
    (item: unknown) => !(isObject(item) && own(item, PATCH) === 'delete'),
  );
  validateOrder(remaining, order, key);
  if (change === undefined) return value === undefined ? undefined : orderList(list, order, list, key);
  const merged = how === undefined ? copyJson(change) : mergeList(list, change, how);
  return Array.isArray(merged) ? orderList(merged, order, list, key) : merged;
}

/** @throws StatusError Invalid if items lack the type's merge key, BadRequest for an unknown directive */
function mergeList(list: readonly unknown[], change: readonly unknown[], how: TypedListMerge): unknown[] {
  const isKeyed = [...list, ...change].some(isObject);
  const merged = isKeyed ? mergeItems(list, change, how) : [...new Set([...list, ...change])];
  const order = change.filter((item) => !(isObject(item) && Object.hasOwn(item, PATCH)));
  return orderList(merged, order, list, isKeyed ? how : {});
}

function mergeItems(list: readonly unknown[], change: readonly unknown[], how: TypedListMerge): unknown[] {
  const { mergeKey } = how;
  if (mergeKey === undefined) throw unprocessable('cannot merge lists of maps without a merge key');
  const gone = new Set<unknown>();
  const plain: JsonObject[] = [];
  let replaces = false;
  for (const item of change) {
    if (!isObject(item)) throw unprocessable('items of a list with a merge key must be maps');
    const directive = own(item, PATCH);
    if (directive === 'replace') replaces = true;
    else if (directive === 'delete') gone.add(requiredKey(item, mergeKey));
    else plain.push(item);
  }
  if (replaces) return plain.map((item) => mergeObject({}, item, how.element));
  const left =
    gone.size === 0 ? [...list] : list.filter((old) => !isObject(old) || !gone.has(own(old, mergeKey)));
  mergePlainItems(left, plain, mergeKey, how.element);
  return left;
}

function mergePlainItems(
  merged: unknown[],
  items: readonly JsonObject[],
  mergeKey: string,
  element: TypeNode | undefined,
): void {
  const places = placesOf(merged, { mergeKey });
  for (const item of items) {
    const key = requiredKey(item, mergeKey);
    const at = places.get(key);
    const old = at === undefined ? undefined : merged[at];
    if (at !== undefined && isObject(old)) merged[at] = mergeObject(old, item, element);
    else {
      places.set(key, merged.length);
      merged.push(mergeObject({}, item, element));
    }
  }
}

/** @throws StatusError Invalid */
function requiredKey(item: JsonObject, mergeKey: string): unknown {
  const key = own(item, mergeKey);
  if (key !== undefined && key !== null) return key;
  throw unprocessable(
    `map: ${JSON.stringify(item).slice(0, 200)} does not contain declared merge key: ${mergeKey}`,
  );
}
