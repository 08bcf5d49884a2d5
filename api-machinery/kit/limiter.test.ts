import { expect, test } from 'vitest';
import { createLimiter } from './limiter.ts';

/** Creates tasks that finish on demand, and records the order in which they started. */
function createTasks() {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    started,
    task: (name: string) => () => {
      started.push(name);
      return new Promise<void>((resolve) => ends.set(name, resolve));
    },
    end: async (name: string): Promise<void> => {
      ends.get(name)?.();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

test('runs urgent tasks before those that have waited longer, and never more than the limit', async () => {
  const { started, task, end } = createTasks();
  const limiter = createLimiter(1);
  const all = ['a', 'b', 'c'].map((name) => limiter.run(task(name)));
  const urgent = ['x', 'y'].map((name) => limiter.runUrgent(task(name)));
  await end('');
  expect(started).toEqual(['a']);
  for (const name of ['a', 'x', 'y', 'b', 'c']) await end(name);
  expect(started).toEqual(['a', 'x', 'y', 'b', 'c']);
  await Promise.all([...all, ...urgent]);
});

test('skips a task whose signal fired while it waited', async () => {
  const { started, task, end } = createTasks();
  const limiter = createLimiter(1);
  const stop = new AbortController();
  const first = limiter.run(task('a'));
  const aborted = limiter.runUrgent(task('b'), stop.signal);
  const last = limiter.run(task('c'));
  stop.abort(new Error('not wanted'));
  await expect(aborted).rejects.toThrow('not wanted');
  await end('a');
  expect(started).toEqual(['a', 'c']);
  await end('c');
  await Promise.all([first, last]);
});

test('passes the slot of a failed task to the next', async () => {
  const limiter = createLimiter(1);
  await expect(limiter.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await limiter.run(() => Promise.resolve(1))).toBe(1);
});
