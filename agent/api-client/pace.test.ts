import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { createPace } from './pace.ts';

describe('createPace', () => {
  test.each([
    ['as set', { qps: 1, burst: 2 }, 2, 3],
    ['the default for zero', { qps: 0, burst: 0 }, 10, 15],
    ['all below zero', { qps: -1, burst: 0 }, 200, 200],
  ])('lets through %s', async (_, options, atOnce, afterOneSecond) => {
    const clock = createFakeClock();
    const pace = createPace(clock, options);
    const { signal } = new AbortController();
    let passed = 0;
    for (let i = 0; i < 200; i += 1) void pace(signal).then(() => (passed += 1));
    await clock.advance(0);
    expect(passed).toBe(atOnce);
    await clock.advance(1000);
    expect(passed).toBe(afterOneSecond);
  });
});
