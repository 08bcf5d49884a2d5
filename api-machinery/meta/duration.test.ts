import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  DurationError,
  formatDuration,
  formatDurationMs,
  parseDuration,
  parseDurationMs,
} from './duration.ts';

describe('parseDuration', () => {
  test.each([
    ['0', 0n],
    ['0s', 0n],
    ['-0', 0n],
    ['1ns', 1n],
    ['1us', 1000n],
    ['1µs', 1000n],
    ['1μs', 1000n],
    ['100ms', 100_000_000n],
    ['1m0s', 60_000_000_000n],
    ['1.5h', 5_400_000_000_000n],
    ['.5s', 500_000_000n],
    ['5.s', 5_000_000_000n],
    ['-2h3m4s', -7_384_000_000_000n],
    ['+5s', 5_000_000_000n],
    ['1h1h', 7_200_000_000_000n],
    ['0.9ns', 0n],
    ['2562047h47m16.854775807s', 2n ** 63n - 1n],
    ['-2562047h47m16.854775808s', -(2n ** 63n)],
  ])('reads %s', (text, nanos) => {
    expect(parseDuration(text)).toBe(nanos);
  });

  test.each([
    '',
    '1',
    '-',
    '.',
    '.s',
    '1d',
    's',
    '1 s',
    ' 1s',
    '1s ',
    '1.2.3s',
    '1e3s',
    '5m30',
    '2562047h47m16.854775808s',
  ])('rejects %j', (text) => {
    expect(() => parseDuration(text)).toThrow(DurationError);
  });
});

describe('formatDuration', () => {
  test.each([
    [0n, '0s'],
    [1n, '1ns'],
    [1100n, '1.1µs'],
    [2_200_000n, '2.2ms'],
    [3_300_000_000n, '3.3s'],
    [100_000_000n, '100ms'],
    [60_000_000_000n, '1m0s'],
    [245_000_000_000n, '4m5s'],
    [3_600_000_000_000n, '1h0m0s'],
    [18_367_001_000_000n, '5h6m7.001s'],
    [-300_000_000_000n, '-5m0s'],
  ])('writes %s', (nanos, text) => {
    expect(formatDuration(nanos)).toBe(text);
  });

  it('round-trips every duration', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n) + 1n, max: 2n ** 63n - 1n }), (nanos) => {
        expect(parseDuration(formatDuration(nanos))).toBe(nanos);
      }),
    );
  });

  it('round-trips milliseconds', () => {
    fc.assert(
      fc.property(fc.integer({ min: -1e12, max: 1e12 }), (ms) => {
        expect(parseDurationMs(formatDurationMs(ms))).toBe(ms);
      }),
    );
    expect(formatDurationMs(0.25)).toBe('250µs');
    expect(parseDurationMs('250µs')).toBe(0.25);
  });
});
