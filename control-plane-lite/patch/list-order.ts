/** Order of a list after a strategic merge patch: items in the patch follow the patch's order, items that
 *  only the server has retain theirs and their position relative to the others. Pure.
 *  Source: upstream's rules for `$setElementOrder`. */

import { isObject } from '#api/kit/object.ts';
import { own } from './json-value.ts';
import { malformed } from './patch-errors.ts';

export interface ListMerge {
  /** Absent: a list of scalars, which are their own keys. */
  readonly mergeKey?: string | undefined;
}

/** Returns the key that identifies an item. */
function keyOf(item: unknown, { mergeKey }: ListMerge): unknown {
  return mergeKey !== undefined && isObject(item) ? own(item, mergeKey) : item;
}

type Places = ReadonlyMap<unknown, number>;

/** Returns the first index of every key. */
export function placesOf(items: readonly unknown[], how: ListMerge): Map<unknown, number> {
  const places = new Map<unknown, number>();
  for (const [index, item] of items.entries()) {
    const key = keyOf(item, how);
    if (!places.has(key)) places.set(key, index);
  }
  return places;
}

/** @throws StatusError BadRequest if the items of the patch aren't all in the order list, in its order */
export function validateOrder(items: readonly unknown[], order: readonly unknown[], how: ListMerge): void {
  let next = 0;
  for (const entry of order) {
    if (next < items.length && keyOf(items[next], how) === keyOf(entry, how)) next += 1;
  }
  if (next === items.length) return;
  const detail = `the order in the patch list doesn't match the $setElementOrder list`;
  throw malformed(`invalid patch format of setElementOrder list: ${detail}`);
}

/** Returns the merged list in order.
 *  @param order the patch's order list, or the items of the patch itself
 *  @param before the server's list before the patch */
export function orderList(
  merged: readonly unknown[],
  order: readonly unknown[],
  before: readonly unknown[],
  how: ListMerge,
): unknown[] {
  const wanted = placesOf(order, how);
  const had = placesOf(before, how);
  const place = (places: Places, item: unknown): number => places.get(keyOf(item, how)) ?? -1;
  const named = merged.filter((item) => place(wanted, item) >= 0);
  const others = merged.filter((item) => place(wanted, item) < 0);
  named.sort((a, b) => place(wanted, a) - place(wanted, b));
  others.sort((a, b) => place(had, a) - place(had, b));
  return interleave(others, named, (item) => place(had, item));
}

/** Merges both lists in their orders; an item of the first precedes one of the second only if it did so
 *  before. */
function interleave(
  others: readonly unknown[],
  named: readonly unknown[],
  placeBefore: (item: unknown) => number,
): unknown[] {
  const result: unknown[] = [];
  let at = 0;
  for (const item of named) {
    const place = placeBefore(item);
    for (; at < others.length; at += 1) {
      const otherPlace = placeBefore(others[at]);
      if (otherPlace < 0 || otherPlace >= place) break;
      result.push(others[at]);
    }
    result.push(item);
  }
  return [...result, ...others.slice(at)];
}
