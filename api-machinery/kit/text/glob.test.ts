import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type GlobPart, matchesGlob } from './glob.ts';

const partsOf = (glob: string): readonly GlobPart[] =>
  Array.from(glob, (wanted) => {
    if (wanted === '*') return 'any';
    return wanted === '?' ? () => true : (character: string) => character === wanted;
  });

test('matches like the equivalent regular expression', () => {
  const glob = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), maxLength: 8 });
  const text = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 10 });
  fc.assert(
    fc.property(glob, text, (pattern, written) => {
      const expected = new RegExp(`^${pattern.replaceAll('*', '.*').replaceAll('?', '.')}$`).test(written);
      expect(matchesGlob(partsOf(pattern), written)).toBe(expected);
    }),
    { numRuns: 2000 },
  );
});

test('many stars are fast', () => {
  expect(matchesGlob(partsOf(`${'*a'.repeat(100)}b`), 'a'.repeat(1000))).toBe(false);
});
