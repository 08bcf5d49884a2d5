import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from './durations.ts';
import { LONGEST_FILES, rankOf } from './longest-first.ts';

test.each(LONGEST_FILES)('%s exists', (file) => {
  expect(existsSync(join(ROOT, file))).toBe(true);
});

test('listed files come first, in the order of the list', () => {
  const [first = '', second = ''] = LONGEST_FILES;
  expect(['other.test.ts', second, first].toSorted((a, b) => rankOf(a) - rankOf(b))).toEqual([
    first,
    second,
    'other.test.ts',
  ]);
});
