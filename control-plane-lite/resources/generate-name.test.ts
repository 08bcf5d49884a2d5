import { expect, test } from 'vitest';
import { generateName } from './generate-name.ts';

test.each([
  ['web-', /^web-[bcdfghjklmnpqrstvwxz2-9]{5}$/],
  ['x'.repeat(80), /^x{58}.{5}$/],
  ['', /^.{5}$/],
])('generateName(%j)', (base, pattern) => {
  expect(generateName(base)).toMatch(pattern);
});

test('names differ', () => {
  expect(new Set(Array.from({ length: 1000 }, () => generateName('a-'))).size).toBeGreaterThan(990);
});
