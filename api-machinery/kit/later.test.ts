import { expect, test } from 'vitest';
import { Later } from './later.ts';
import { finish } from './steps.ts';

/** A copy, made in slices. */
function copy(value: unknown, later: Later): unknown {
  if (!Array.isArray(value)) return value;
  const items: readonly unknown[] = value;
  const result: unknown[] = [];
  later.each(items, (item, index) => {
    expect(result).toHaveLength(index);
    result.push(copy(item, later));
  });
  return result;
}

const list = (length: number, item: unknown): unknown[] => Array.from({ length }, () => item);

test.each([
  ['few', [1, [2], []], 0],
  ['many', list(10_000, 1), 2],
  ['many in many', list(100, list(100, 0)), 2],
  ['many in the last of many', [...list(5000, 1), list(5000, 2)], 2],
  ['many empty ones', list(9000, []), 2],
])('a walk over %s items is complete after its steps', (_name, value, slices) => {
  const later = new Later();
  const copied = copy(value, later);
  const steps = [...later.steps()].length;
  expect(steps).toBe(slices);
  expect(copied).toEqual(value);
});

test('a walk is as far as its steps are', () => {
  const later = new Later();
  const seen: number[] = [];
  later.each(list(9000, 0), (_, index) => seen.push(index));
  expect(seen).toHaveLength(4000);
  finish(later.steps());
  expect(seen).toEqual(Array.from({ length: 9000 }, (_, index) => index));
});
