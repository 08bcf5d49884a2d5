/** Order of `--sort-by PATH`. Pure. */
import { compareNumbers } from '#api/kit/int64.ts';
import { findFirst, type JsonPath } from '#api/meta/json-path.ts';
import { compareQuantities, isQuantity } from '#api/meta/quantity.ts';

const isNumber = (value: unknown): value is number | bigint =>
  typeof value === 'number' || typeof value === 'bigint';

/** Digits in names are compared as numbers: `web-9` is before `web-10`. */
const NATURAL = new Intl.Collator('en', { numeric: true });

/** Quantities are compared by amount, other text in natural order. */
export function compareValues(left: unknown, right: unknown): number {
  if (isNumber(left) && isNumber(right)) return compareNumbers(left, right);
  if (typeof left === 'boolean' && typeof right === 'boolean') return Number(left) - Number(right);
  const [a, b] = [textOf(left), textOf(right)];
  if (isQuantity(a) && isQuantity(b)) return compareQuantities(a, b);
  return NATURAL.compare(a, b);
}

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? '');

/** Returns the objects in ascending order; objects without the value come first. Stable. */
export function sortByPath<T>(objects: readonly T[], path: JsonPath): readonly T[] {
  const keyed = objects.map((object) => ({ object, key: findFirst(path, object) }));
  return keyed
    .toSorted((left, right) => {
      if (left.key === undefined || right.key === undefined) {
        return Number(left.key !== undefined) - Number(right.key !== undefined);
      }
      return compareValues(left.key, right.key);
    })
    .map(({ object }) => object);
}
