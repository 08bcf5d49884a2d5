/** Merges a configuration into the live object: fields of the configuration take its values, all others stay.
 *  The result shares parts with the live object, nothing with the configuration. Pure. Source: merging,
 *  document 1 §4.9.7; structured-merge-diff 4.2 (Merge). */

import { copyJson } from '#api/codec/copy-json.ts';
import { setMember } from '#api/codec/set-member.ts';
import { isObject } from '#api/kit/object.ts';
import type { ListNode, TypeModel, TypeNode } from '#api/schema/type-model.ts';
import { type JsonObject, own } from '../patch/json-value.ts';
import { memberPlan, type ObjectNode } from './member-plan.ts';
import { elementOfItem } from './path-element.ts';
import { NEVER_OWNED_METADATA } from './scope.ts';
import { granularList, granularObject, isEmptyObject, listOrNothing } from './shape.ts';

/** The result contains nulls of the configuration; decoding drops them. */
export function mergeApplied(
  live: Readonly<JsonObject>,
  applied: Readonly<JsonObject>,
  { root }: TypeModel,
): JsonObject {
  const merged = mergeMembers(live, applied, root);
  const metadata = merged['metadata'];
  const before = live['metadata'];
  if (isObject(metadata) && isObject(before) && metadata !== before) keepIdentity(metadata, before);
  return merged;
}

/** Tools write `creationTimestamp: null`; that does not request a change of a field maintained by the
 *  server. */
function keepIdentity(metadata: JsonObject, before: JsonObject): void {
  for (const name of NEVER_OWNED_METADATA) {
    if (metadata[name] !== null) continue;
    if (own(before, name) === undefined) delete metadata[name];
    else metadata[name] = before[name];
  }
}

/** Merges a value of the configuration over a live one; either may be absent. */
function mergeValues(live: unknown, applied: unknown, node: TypeNode): unknown {
  if (applied === undefined) return live;
  if (live === undefined || live === null) return copyJson(applied);
  const list = granularList(node);
  if (list !== undefined && Array.isArray(live) && listOrNothing(applied)) {
    const items = applied ?? [];
    return live.length === 0 && items.length === 0 ? copyJson(applied) : mergeItems(live, items, list);
  }
  const type = granularObject(node);
  if (type === undefined || !isObject(live)) return copyJson(applied);
  if (isObject(applied)) return mergeMembers(live, applied, type);
  return applied === null && type.kind !== 'untyped' && !isEmptyObject(live) ? live : copyJson(applied);
}

function mergeMembers(
  live: Readonly<JsonObject>,
  applied: Readonly<JsonObject>,
  node: ObjectNode,
): JsonObject {
  const merged: JsonObject = {};
  for (const name in live) {
    const value = Object.hasOwn(applied, name)
      ? mergeValues(live[name], applied[name], memberPlan(node, name).node)
      : live[name];
    setMember(merged, name, value);
  }
  for (const name in applied) {
    if (!Object.hasOwn(live, name)) setMember(merged, name, copyJson(applied[name]));
  }
  return merged;
}

/** Live items in their order, then new ones in theirs. */
function mergeItems(live: readonly unknown[], applied: readonly unknown[], list: ListNode): unknown[] {
  const wanted = new Map<string, unknown>();
  for (const item of applied) {
    const element = elementOfItem(item, list);
    if (typeof element === 'string') wanted.set(element, item);
  }
  const seen = new Set<string>();
  const merged: unknown[] = [];
  for (const item of live) {
    const element = elementOfItem(item, list);
    if (typeof element !== 'string') {
      merged.push(item);
      continue;
    }
    const named = wanted.has(element);
    // Old objects may have duplicate items; the configuration merges them.
    if (named && seen.has(element)) continue;
    seen.add(element);
    merged.push(named ? mergeValues(item, wanted.get(element), list.element) : item);
  }
  for (const [element, item] of wanted) if (!seen.has(element)) merged.push(copyJson(item));
  return merged;
}
