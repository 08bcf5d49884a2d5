import { describe, expect, test } from 'vitest';
import { createBackoff } from './backoff.ts';

const policy = { initialMs: 10_000, maxMs: 300_000 };

describe('createBackoff', () => {
  test('doubles the delay up to the maximum, and starts again after a reset or a long time', () => {
    const backoff = createBackoff(policy);
    expect([1, 2, 3, 4, 5, 6, 7].map((nowMs) => backoff.fail('a', nowMs) / 1000)).toEqual([
      10, 20, 40, 80, 160, 300, 300,
    ]);
    expect(backoff.fail('a', 7 + 600_001)).toBe(10_000);
    backoff.reset('a');
    expect(backoff.readyAt('a', 8)).toBe(0);
    expect(backoff.current('a', 8)).toBe(0);
  });

  test('does not delay because of a future failure: the clock was set back', () => {
    const backoff = createBackoff(policy);
    backoff.fail('a', 1_000_000);
    backoff.fail('b', 1_000_000);
    expect(backoff.readyAt('a', 1_000_000)).toBe(1_010_000);
    expect(backoff.readyAt('a', 999_999)).toBe(0);
    expect(backoff.fail('b', 5)).toBe(10_000);
    expect(backoff.readyAt('b', 6)).toBe(10_005);
  });

  test('separates all keys', () => {
    const backoff = createBackoff(policy);
    backoff.fail('__proto__', 1);
    expect(backoff.readyAt('constructor', 2)).toBe(0);
    expect(backoff.readyAt('__proto__', 2)).toBe(10_001);
  });
});
