import { describe, expect, test } from 'vitest';
import { createFlusher } from './fan-out.ts';

/** A clock that a flush can advance, as its writing would. */
function setUp(everyMs: number) {
  let nowMs = 0;
  let timers: { readonly atMs: number; readonly fire: () => void }[] = [];
  let turns: (() => void)[] = [];
  const requestFlush = createFlusher(
    {
      monotonic: () => nowMs,
      setTimer(fire, delayMs) {
        timers.push({ atMs: nowMs + delayMs, fire });
        return { cancel: () => undefined };
      },
    },
    everyMs,
    (task) => void turns.push(task),
  );
  const flushes: string[] = [];
  const flushable = (name: string, tookMs = 0) => ({
    flush() {
      flushes.push(`${name} ${nowMs}`);
      nowMs += tookMs;
    },
  });
  const turn = (): void => {
    const tasks = turns;
    turns = [];
    for (const task of tasks) task();
  };
  const passTo = (atMs: number): void => {
    nowMs = atMs;
    const fired = timers.filter((timer) => timer.atMs <= atMs);
    timers = timers.filter((timer) => timer.atMs > atMs);
    for (const { fire } of fired) fire();
  };
  return { requestFlush, flushes, flushable, turn, passTo };
}

describe('flusher', () => {
  test('flushes each requester once, in the next turn', () => {
    const { requestFlush, flushes, flushable, turn } = setUp(10);
    const a = flushable('a');
    requestFlush(a);
    requestFlush(flushable('b'));
    requestFlush(a);
    expect(flushes).toEqual([]);
    turn();
    expect(flushes).toEqual(['a 0', 'b 0']);
  });

  test('waits until the last round began long enough ago', () => {
    const { requestFlush, flushes, flushable, turn, passTo } = setUp(10);
    const a = flushable('a');
    requestFlush(a);
    turn();
    passTo(3);
    requestFlush(a);
    turn();
    passTo(9);
    expect(flushes).toEqual(['a 0']);
    passTo(10);
    expect(flushes).toEqual(['a 0', 'a 10']);
  });

  test.each([
    [0.5, 10],
    [2, 20],
    [30, 40],
  ])('a round of %d ms makes the next wait for %i ms', (tookMs, waitMs) => {
    const { requestFlush, flushes, flushable, turn, passTo } = setUp(10);
    const a = flushable('a', tookMs);
    requestFlush(a);
    turn();
    requestFlush(a);
    passTo(waitMs - 1);
    expect(flushes).toHaveLength(1);
    passTo(waitMs);
    expect(flushes).toEqual(['a 0', `a ${waitMs}`]);
  });
});
