import { expect, test } from 'vitest';
import { isBackingOff } from './backoff.ts';

const NOW = 1_700_000_000_000;

test.each([
  ['a past time', -1, false],
  ['this moment', 0, false],
  ['a time to come', 1, true],
  ['the end of the longest wait', 300_000, true],
  ['a time noted before the clock was set back', 300_001, false],
  ['a time noted before the clock was set back by a year', 365 * 86_400_000, false],
])('%s', (_, afterMs, expected) => {
  expect(isBackingOff(NOW + afterMs, NOW)).toBe(expected);
});
