import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { editDistance, nearest, suggestion } from './suggest.ts';

describe('editDistance', () => {
  test.each([
    ['', '', 0],
    ['abc', 'abc', 0],
    ['abc', 'acb', 1],
    ['abc', 'ab', 1],
    ['abc', 'axc', 1],
    ['kitten', 'sitting', 3],
  ])('of %j and %j is %i', (left, right, distance) => {
    expect(editDistance(left, right)).toBe(distance);
  });

  test('is the same both ways and at most the longer length', () => {
    const word = fc.string({ maxLength: 12 });
    fc.assert(
      fc.property(word, word, (left, right) => {
        const distance = editDistance(left, right);
        expect(editDistance(right, left)).toBe(distance);
        expect(distance).toBeLessThanOrEqual(Math.max(left.length, right.length));
        expect(distance === 0).toBe(left === right);
      }),
    );
  });
});

describe('nearest', () => {
  const flags = ['max-pods', 'max-open-files', 'root-dir', 'port'];

  test.each([
    ['max-pod', 'max-pods'],
    ['Max-Pods', 'max-pods'],
    ['maxpods', 'max-pods'],
    ['rootdir', 'root-dir'],
    ['something-else', undefined],
    ['x'.repeat(200), undefined],
  ])('of %j is %j', (word, found) => {
    expect(nearest(word, flags)).toBe(found);
  });

  test('is a phrase for the end of a sentence, or empty', () => {
    expect(suggestion('max-pod', flags, '--')).toBe('; did you mean --max-pods?');
    expect(suggestion('nothing like it', flags)).toBe('');
  });
});
