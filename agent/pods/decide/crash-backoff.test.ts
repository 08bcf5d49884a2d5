import { expect, test } from 'vitest';
import { afterRestart, type CrashBackoff, crashDelayMs } from './backoff.ts';

const MINUTE = 60_000;

test('restarts immediately the first time, then after 10 s doubling to 5 min', () => {
  let backoff: CrashBackoff | undefined;
  let nowMs = 0;
  const delays: number[] = [];
  for (let crash = 0; crash < 8; crash += 1) {
    const finishedAtMs = nowMs;
    const delayMs = crashDelayMs(backoff, finishedAtMs);
    delays.push(delayMs / 1000);
    nowMs = finishedAtMs + delayMs;
    backoff = afterRestart(backoff, finishedAtMs, nowMs);
    nowMs += 1000;
  }
  expect(delays).toEqual([0, 10, 20, 40, 80, 160, 300, 300]);
});

test.each([
  ['just ten minutes', 10 * MINUTE, 80_000],
  ['a moment longer', 10 * MINUTE + 1, 0],
])('the delay after a run of %s', (_, lifeMs, expected) => {
  const backoff = { delayMs: 80_000, restartedAtMs: 5 * MINUTE };
  expect(crashDelayMs(backoff, backoff.restartedAtMs + lifeMs)).toBe(expected);
});

test('the backoff resets after a long run', () => {
  const backoff = { delayMs: 300_000, restartedAtMs: 0 };
  expect(afterRestart(backoff, 11 * MINUTE, 12 * MINUTE)).toEqual({
    delayMs: 10_000,
    restartedAtMs: 12 * MINUTE,
  });
});
