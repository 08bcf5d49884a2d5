import { describe, expect, test } from 'vitest';
import { createFakeClock } from './clock.ts';
import { createTokenBucket } from './token-bucket.ts';

describe('createTokenBucket', () => {
  test('allows a burst, then the steady rate', async () => {
    const clock = createFakeClock();
    const bucket = createTokenBucket(clock, { ratePerSecond: 2, burst: 3 });
    expect([1, 2, 3, 4].map(() => bucket.tryTake())).toEqual([true, true, true, false]);
    await clock.advance(499);
    expect(bucket.tryTake()).toBe(false);
    await clock.advance(1);
    expect(bucket.tryTake()).toBe(true);
    await clock.advance(60_000);
    expect([1, 2, 3, 4].map(() => bucket.tryTake())).toEqual([true, true, true, false]);
  });

  test('serves takers in order as tokens arrive', async () => {
    const clock = createFakeClock();
    const bucket = createTokenBucket(clock, { ratePerSecond: 1, burst: 1 });
    const served: number[] = [];
    const takers = [1, 2, 3].map((taker) => bucket.take().then(() => served.push(taker)));
    await clock.advance(0);
    expect(served).toEqual([1]);
    await clock.advance(1000);
    expect(served).toEqual([1, 2]);
    await clock.advance(1000);
    expect(served).toEqual([1, 2, 3]);
    await Promise.all(takers);
  });

  test('returns the token of a taker that left', async () => {
    const clock = createFakeClock();
    const bucket = createTokenBucket(clock, { ratePerSecond: 1, burst: 1 });
    await bucket.take();
    const controller = new AbortController();
    const leaving = bucket.take(controller.signal);
    controller.abort(new Error('left'));
    await expect(leaving).rejects.toThrow('left');
    await clock.advance(1000);
    expect(bucket.tryTake()).toBe(true);
  });

  test('has no limit for a rate of 0', async () => {
    const bucket = createTokenBucket(createFakeClock(), { ratePerSecond: 0, burst: 1 });
    for (let turn = 0; turn < 100; turn += 1) await bucket.take();
    expect(bucket.tryTake()).toBe(true);
  });
});
