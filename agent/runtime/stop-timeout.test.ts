import { describe, expect, test } from 'vitest';
import { stopTimeout } from './stop-timeout.ts';

describe('stopTimeout', () => {
  test.each<[number, bigint]>([
    [30, 30n],
    [0, 0n],
    [0.2, 1n],
    [-5, 0n],
    [Number.NaN, 0n],
    [9_300_000_000, 2_147_483_647n],
    [Number.MAX_SAFE_INTEGER, 2_147_483_647n],
    [Number.POSITIVE_INFINITY, 2_147_483_647n],
  ])('%d s', (seconds, expected) => {
    expect(stopTimeout(seconds)).toBe(expected);
  });
});
