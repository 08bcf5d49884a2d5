import { assert, dictionary, jsonValue, property, string } from 'fast-check';
import { expect, test } from 'vitest';
import { containerHash, stableJson } from './hash.ts';
import { BASE_CONTAINER } from './pod.fixture.ts';

test('is 16 hexadecimal digits that stay the same from one version to the next', () => {
  expect(containerHash(BASE_CONTAINER)).toMatch(/^[0-9a-f]{16}$/);
  expect(stableJson({ ...BASE_CONTAINER, tty: false })).toBe(
    '{"image":"busybox:1","name":"app","tty":false}',
  );
});

test.each([
  ['the order of fields', { image: 'busybox:1', name: 'app' }],
  ['empty fields', { ...BASE_CONTAINER, args: [], workingDir: '', resources: { limits: {} } }],
])('does not depend on %s', (_, same) => {
  expect(containerHash(same)).toBe(containerHash(BASE_CONTAINER));
});

test.each([
  ['the image', { image: 'busybox:2' }],
  ['an argument', { args: [''] }],
  ['the order of arguments', { args: ['b', 'a'] }],
  ['a variable', { env: [{ name: 'A', value: 'b' }] }],
  ['a flag', { tty: false }],
])('depends on %s', (_, change) => {
  expect(containerHash({ ...BASE_CONTAINER, args: ['a', 'b'], ...change })).not.toBe(
    containerHash({ ...BASE_CONTAINER, args: ['a', 'b'] }),
  );
});

test('stableJson is the same for any order of keys', () => {
  assert(
    property(dictionary(string(), jsonValue()), (record) => {
      const reversed = Object.fromEntries(Object.entries(record).reverse());
      expect(stableJson(reversed)).toBe(stableJson(record));
    }),
  );
});
