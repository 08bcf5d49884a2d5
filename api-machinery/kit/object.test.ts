import { expect, test } from 'vitest';
import { isObject, textOf } from './object.ts';

test.each<[unknown, boolean]>([
  [{}, true],
  [{ a: 1 }, true],
  [null, false],
  [[], false],
  ['a', false],
  [undefined, false],
])('%o is an object with members: %s', (value, expected) => {
  expect(isObject(value)).toBe(expected);
});

test('only a string has text', () => {
  expect(['a', '', 1, null, undefined, ['a']].map(textOf)).toEqual(['a', '', '', '', '', '']);
});
