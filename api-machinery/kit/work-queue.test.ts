import { describe, expect, test } from 'vitest';
import { createFakeClock } from './clock.ts';
import { createWorkQueue } from './work-queue.ts';

function bench(work: (key: string, count: number) => Promise<number | undefined>, concurrency = 2) {
  const clock = createFakeClock();
  const done: string[] = [];
  const errors: string[] = [];
  const counts = new Map<string, number>();
  const queue = createWorkQueue({
    clock,
    concurrency,
    backoff: { initialMs: 100, maxMs: 1000 },
    onError: (key) => errors.push(key),
    work: async (key) => {
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      const again = await work(key, count);
      done.push(key);
      return again;
    },
  });
  const stop = new AbortController();
  const ended = queue.run(stop.signal);
  return { clock, queue, done, errors, stop, ended };
}

describe('createWorkQueue', () => {
  test('processes every key once', async () => {
    const { queue, clock, done } = bench(() => Promise.resolve(undefined));
    for (const key of ['a', 'b', 'c', 'a']) queue.add(key);
    await clock.advance(0);
    expect(new Set(done)).toEqual(new Set(['a', 'b', 'c']));
    expect(queue.length).toBe(0);
  });

  test('never processes a key twice at a time, and repeats keys added meanwhile', async () => {
    const gates: (() => void)[] = [];
    let atWork = 0;
    let most = 0;
    const { queue, clock, done } = bench(async () => {
      atWork += 1;
      most = Math.max(most, atWork);
      await new Promise<void>((resolve) => gates.push(resolve));
      atWork -= 1;
      return undefined;
    });
    queue.add('a');
    queue.add('a');
    await clock.advance(0);
    queue.add('a');
    queue.add('a');
    while (gates.length > 0) {
      gates.shift()?.();
      await clock.advance(0);
    }
    expect(most).toBe(1);
    expect(done).toEqual(['a', 'a']);
  });

  test('respects its concurrency', async () => {
    const gates: (() => void)[] = [];
    const { queue, clock } = bench(async () => {
      await new Promise<void>((resolve) => gates.push(resolve));
      return undefined;
    }, 3);
    for (let index = 0; index < 10; index += 1) queue.add(`k${index}`);
    await clock.advance(0);
    expect(gates).toHaveLength(3);
  });

  test('retries failures with growing delays', async () => {
    const { queue, clock, done, errors } = bench((_, count) =>
      count < 3 ? Promise.reject(new Error('no')) : Promise.resolve(undefined),
    );
    queue.add('a');
    await clock.advance(0);
    await clock.advance(99);
    expect(errors).toHaveLength(1);
    await clock.advance(1);
    expect(errors).toHaveLength(2);
    await clock.advance(199);
    expect(done).toEqual([]);
    await clock.advance(1);
    expect(done).toEqual(['a']);
  });

  test('runs again after the delay that the work requests', async () => {
    const { queue, clock, done } = bench((_, count) => Promise.resolve(count === 1 ? 500 : undefined));
    queue.add('a');
    await clock.advance(0);
    await clock.advance(499);
    expect(done).toHaveLength(1);
    await clock.advance(1);
    expect(done).toHaveLength(2);
  });

  test('stops when the work in flight has finished', async () => {
    let open: () => void = () => undefined;
    const { queue, clock, stop, ended, done } = bench(async () => {
      await new Promise<void>((resolve) => {
        open = resolve;
      });
      return undefined;
    });
    queue.add('a');
    await clock.advance(0);
    stop.abort();
    open();
    await ended;
    queue.add('b');
    await clock.advance(0);
    expect(done).toEqual(['a']);
  });
});
