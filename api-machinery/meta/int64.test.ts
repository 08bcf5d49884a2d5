import { expect, test } from 'vitest';
import { MAX_INT64, MIN_INT64, parseInt64 } from './int64.ts';

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
