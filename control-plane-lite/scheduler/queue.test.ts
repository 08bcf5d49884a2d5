/** Order, backoff and waking of the pods that wait. */
import { describe, expect, test } from 'vitest';
import { createFakeClock, type FakeClock } from '#api/kit/clock.ts';
import type { WakeEvent } from './filters/filter.ts';
import { createSchedulingQueue, type SchedulingQueue } from './queue.ts';
import { type PodOptions, pod } from './scheduler.fixture.ts';

interface Case {
  readonly clock: FakeClock;
  readonly queue: SchedulingQueue;
  readonly add: (name: string, options?: PodOptions) => void;
  /** Removes all due entries and returns their names. */
  readonly takeAll: () => readonly string[];
}

function begin(): Case {
  const clock = createFakeClock();
  const queue = createSchedulingQueue({ clock, onDue: () => undefined });
  return {
    clock,
    queue,
    add: (name, options = {}) => queue.put(pod(name, options), false),
    takeAll() {
      const names: string[] = [];
      for (let next = queue.take(); next !== undefined; next = queue.take()) names.push(next.name);
      return names;
    },
  };
}

const on = (...events: readonly WakeEvent[]): ReadonlySet<WakeEvent> => new Set(events);

describe('the queue', () => {
  test('takes pods by priority, then by time', () => {
    const { add, takeAll } = begin();
    add('a');
    add('b', { priority: 5 });
    add('c');
    add('d', { priority: 5 });
    expect(takeAll()).toEqual(['b', 'd', 'a', 'c']);
  });

  test('forgets pods that are removed, and those that are not the same any more', () => {
    const { add, takeAll, queue } = begin();
    add('a');
    add('b');
    queue.remove('default/a');
    queue.put(pod('b', { metadata: { namespace: 'default', uid: 'other' } }), false);
    expect(queue.get('default/b')?.uid).toBe('other');
    expect(takeAll()).toEqual(['b']);
    expect(queue.size).toBe(1);
  });

  test('tries again after a backoff that doubles up to ten seconds', async () => {
    const { add, takeAll, queue, clock } = begin();
    add('a');
    const waits: number[] = [];
    for (let attempt = 0; attempt < 6; attempt += 1) {
      expect(takeAll()).toEqual(['a']);
      queue.giveBack('default/a', undefined);
      let waitMs = 0;
      while (queue.take() === undefined) {
        await clock.advance(500);
        waitMs += 500;
      }
      waits.push(waitMs);
      queue.giveBack('default/a', undefined);
      await clock.advance(10_000);
    }
    // Each round has two attempts; the delay after the first is observed.
    expect(waits).toEqual([1000, 4000, 10_000, 10_000, 10_000, 10_000]);
  });

  test('wakes only pods that the event may help, and not before their backoff', async () => {
    const { add, takeAll, queue, clock } = begin();
    add('a');
    add('b');
    expect(takeAll()).toEqual(['a', 'b']);
    queue.giveBack('default/a', on('podGone'));
    queue.giveBack('default/b', on('nodeTaints'));
    queue.wake('podGone');
    expect(takeAll()).toEqual([]);
    await clock.advance(1000);
    expect(takeAll()).toEqual(['a']);
    queue.wake('nodeTaints');
    expect(takeAll()).toEqual(['b']);
  });

  test('retries every pod within five minutes', async () => {
    const { add, takeAll, queue, clock } = begin();
    add('a');
    takeAll();
    queue.giveBack('default/a', on('volumes'));
    await clock.advance(299_000);
    expect(takeAll()).toEqual([]);
    await clock.advance(31_000);
    expect(takeAll()).toEqual(['a']);
  });

  test('a change of the pod itself wakes it if it may help', async () => {
    const { add, takeAll, queue, clock } = begin();
    add('a');
    takeAll();
    queue.giveBack('default/a', on('volumes'));
    await clock.advance(2000);
    queue.put(pod('a'), false);
    expect(takeAll()).toEqual([]);
    queue.put(pod('a'), true);
    expect(takeAll()).toEqual(['a']);
  });

  test('a taken pod is not due again until it is given back', () => {
    const { add, takeAll, queue } = begin();
    add('a');
    takeAll();
    queue.put(pod('a'), true);
    expect(takeAll()).toEqual([]);
  });

  test('a changed priority changes the place', () => {
    const { add, takeAll } = begin();
    add('a');
    add('b');
    add('b', { priority: 1 });
    expect(takeAll()).toEqual(['b', 'a']);
  });
});
