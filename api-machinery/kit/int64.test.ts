import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  addInt64,
  compareNumbers,
  int64Of,
  isWhole,
  LONGEST_MS,
  MAX_INT64,
  MIN_INT64,
  nextInt64,
  parseInt64,
  readNumber,
  secondsInMs,
} from './int64.ts';

test.each<readonly [string, bigint | undefined]>([
  ['0', 0n],
  ['-0', 0n],
  ['007', 7n],
  ['+12', 12n],
  ['-5', -5n],
  ['9007199254740991', 2n ** 53n - 1n],
  ['9007199254740993', 2n ** 53n + 1n],
  ['-9007199254740993', -(2n ** 53n) - 1n],
  ['9223372036854775807', MAX_INT64],
  ['9223372036854775808', undefined],
  ['-9223372036854775808', MIN_INT64],
  ['-9223372036854775809', undefined],
  ['', undefined],
  ['-', undefined],
  ['1.0', undefined],
  ['1e3', undefined],
  [' 1', undefined],
  ['0x10', undefined],
  ['9'.repeat(100), undefined],
])('%s', (text, value) => expect(parseInt64(text)).toBe(value));

const SAFE = 2n ** 53n - 1n;
const ANY = fc.oneof(
  fc.bigInt({ min: MIN_INT64, max: MAX_INT64 }),
  fc.constantFrom(0n, SAFE, SAFE + 1n, -SAFE, -SAFE - 1n, MIN_INT64, MAX_INT64),
);

test('each number has one form', () => {
  fc.assert(
    fc.property(ANY, (value) => {
      const form = int64Of(value);
      expect(String(form)).toBe(String(value));
      expect(typeof form).toBe(value > SAFE || value < -SAFE ? 'bigint' : 'number');
      expect(readNumber(String(value))).toBe(form);
      expect(isWhole(form)).toBe(true);
    }),
  );
});

test('arithmetic is exact, and order does not depend on the form', () => {
  fc.assert(
    fc.property(ANY, ANY, (left, right) => {
      const [a, b] = [int64Of(left), int64Of(right)];
      expect(BigInt(addInt64(a, b))).toBe(left + right);
      expect(compareNumbers(a, b)).toBe(left < right ? -1 : left > right ? 1 : 0);
      expect(BigInt(nextInt64(a))).toBe(left === MAX_INT64 ? left : left + 1n);
    }),
  );
});

test('seconds are milliseconds that a date of today can be moved by', () => {
  fc.assert(
    fc.property(ANY, (seconds) => {
      const ms = secondsInMs(int64Of(seconds));
      const inRange = seconds * 1000n <= BigInt(LONGEST_MS) && seconds * 1000n >= -BigInt(LONGEST_MS);
      expect(ms).toBe(inRange ? Number(seconds) * 1000 : seconds > 0n ? LONGEST_MS : -LONGEST_MS);
      expect(new Date(Date.UTC(2026, 0) + ms).toISOString().length).toBeGreaterThanOrEqual(24);
    }),
  );
});
