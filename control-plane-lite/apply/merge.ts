/** Merges a configuration into the live object: fields of the configuration take its values, all others stay.
 *  The result shares parts with the live object, nothing with the configuration. Pure. Source: merging,
 *  document 1 §4.9.7; structured-merge-diff 4.2 (Merge). */

import { copyJson, copyLater } from '#api/codec/copy-json.ts';
import { setMember } from '#api/codec/set-member.ts';
import { Later } from '#api/kit/later.ts';
import { isObject } from '#api/kit/object.ts';
import type { Steps } from '#api/kit/steps.ts';
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

/** The same of a large object or configuration, in short steps. */
export function* mergeAppliedSteps(
  live: Readonly<JsonObject>,
  applied: Readonly<JsonObject>,
  { root }: TypeModel,
): Steps<JsonObject> {
  const later = new Later();
  const merged = mergeMembers(live, applied, root, later);
  yield* later.steps();
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
function mergeValues(live: unknown, applied: unknown, node: TypeNode, later?: Later): unknown {
  if (applied === undefined) return live;
  if (live === undefined || live === null) return copied(applied, later);
  const list = granularList(node);
  if (list !== undefined && Array.isArray(live) && listOrNothing(applied)) {
    const items = applied ?? [];
    return live.length === 0 && items.length === 0
      ? copied(applied, later)
      : mergeItems(live, items, list, later);
  }
  const type = granularObject(node);
  if (type === undefined || !isObject(live)) return copied(applied, later);
  if (isObject(applied)) return mergeMembers(live, applied, type, later);
  return applied === null && type.kind !== 'untyped' && !isEmptyObject(live) ? live : copied(applied, later);
}

const copied = (value: unknown, later: Later | undefined): unknown =>
  later === undefined ? copyJson(value) : copyLater(value, later);

function mergeMembers(
  live: Readonly<JsonObject>,
  applied: Readonly<JsonObject>,
  node: ObjectNode,
  later?: Later,
): JsonObject {
  const merged: JsonObject = {};
  if (later !== undefined) {
    const before = Object.keys(live);
    // One walk over both: live members come first.
    later.each([...before, ...Object.keys(applied)], (name, index) => {
      if (index >= before.length && Object.hasOwn(live, name)) return;
      const value = Object.hasOwn(applied, name)
        ? mergeValues(own(live, name), own(applied, name), memberPlan(node, name).node, later)
        : live[name];
      setMember(merged, name, value);
    });
    return merged;
  }
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
function mergeItems(
  live: readonly unknown[],
  applied: readonly unknown[],
  list: ListNode,
  later?: Later,
): unknown[] {
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
    merged.push(named ? mergeValues(item, wanted.get(element), list.element, later) : item);
  }
  for (const [element, item] of wanted) if (!seen.has(element)) merged.push(copied(item, later));
  return merged;
}
