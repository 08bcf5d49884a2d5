import { expect, test } from 'vitest';
import { trimEnd } from './trim-end.ts';

test.each([
  ['', '/', ''],
  ['a//', '/', 'a'],
  ['//a', '/', '//a'],
  ['///', '/', ''],
  ['a.-.', '-.', 'a'],
  ['a b', '/', 'a b'],
])('%j without %j at its end is %j', (text, characters, expected) => {
  expect(trimEnd(text, characters)).toBe(expected);
});
