import { describe, expect, test } from 'vitest';
import { createRandom } from './random.ts';
import { parseLength, sample, UnknownRoundError } from './rounds.ts';

describe('the length of a round', () => {
  test('is short unless the long one is requested', () => {
    expect(parseLength(undefined)).toBe('short');
    expect(parseLength('short')).toBe('short');
    expect(parseLength('long')).toBe('long');
  });

  test.each(['', 'full', 'LONG', 'constructor'])('is never guessed from "%s"', (value) => {
    expect(() => parseLength(value)).toThrow(UnknownRoundError);
  });
});

describe('a sample', () => {
  const items = Array.from({ length: 100 }, (_, index) => index);

  test('has as many different items as requested, in their order', () => {
    for (const count of [0, 1, 7, 99, 100]) {
      const taken = sample(items, count, createRandom(count));
      expect(taken).toHaveLength(count);
      expect(taken).toEqual([...new Set(taken)].toSorted((a, b) => a - b));
    }
    expect(sample(items, 500, createRandom(1))).toEqual(items);
  });

  test('reaches every item, and is repeated by its seed', () => {
    const reached = new Set(items.flatMap((seed) => [...sample(items, 10, createRandom(seed))]));
    expect(reached.size).toBe(items.length);
    expect(sample(items, 10, createRandom(5))).toEqual(sample(items, 10, createRandom(5)));
  });
});
