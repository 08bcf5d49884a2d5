import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createFairQueue } from './in-flight.ts';

const take = (
  queue: ReturnType<typeof createFairQueue<string>>,
  count: number,
): readonly (string | undefined)[] => Array.from({ length: count }, () => queue.leave());

describe('createFairQueue', () => {
  test('serves flows in turn, items of a flow in order', () => {
    const queue = createFairQueue<string>({ slots: 1, maxPerFlow: 10, maxWaiting: 10 });
    expect(queue.admit()).toBe(true);
    expect(queue.admit()).toBe(false);
    for (const item of ['a1', 'a2', 'a3', 'b1', 'c1']) queue.arrive(item.slice(0, 1), item);
    expect(take(queue, 5)).toEqual(['a1', 'b1', 'c1', 'a2', 'a3']);
    expect(queue.waiting).toBe(0);
    expect(queue.leave()).toBeUndefined();
    expect(queue.inside).toBe(0);
  });

  test('bounds the waiting items of one flow and of all flows', () => {
    const queue = createFairQueue<string>({ slots: 0, maxPerFlow: 2, maxWaiting: 3 });
    expect(queue.arrive('a', 'a1').kind).toBe('waiting');
    expect(queue.arrive('a', 'a2').kind).toBe('waiting');
    expect(queue.arrive('a', 'a3').kind).toBe('rejected');
    expect(queue.arrive('b', 'b1').kind).toBe('waiting');
    expect(queue.arrive('b', 'b2').kind).toBe('rejected');
  });

  test('makes room for a flow without items by the newest item of the longest queue', () => {
    const queue = createFairQueue<string>({ slots: 0, maxPerFlow: 9, maxWaiting: 3 });
    for (const item of ['a1', 'b1', 'b2']) queue.arrive(item.slice(0, 1), item);
    expect(queue.arrive('c', 'c1')).toEqual({ kind: 'waiting', evicted: 'b2' });
    expect(queue.arrive('d', 'd1')).toEqual({ kind: 'rejected' });
  });

  test('forgets an item that was removed', () => {
    const queue = createFairQueue<string>({ slots: 0, maxPerFlow: 9, maxWaiting: 9 });
    queue.arrive('a', 'a1');
    queue.arrive('b', 'b1');
    expect(queue.remove('a', 'a1')).toBe(true);
    expect(queue.remove('a', 'a1')).toBe(false);
    expect(queue.leave()).toBe('b1');
  });

  const flow = fc.constantFrom('a', 'b', 'c', 'd');
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.tuple(fc.constant('arrive'), flow) },
    { weight: 2, arbitrary: fc.tuple(fc.constant('leave'), flow) },
    { weight: 1, arbitrary: fc.tuple(fc.constant('remove'), flow) },
  );

  test('respects its bounds, loses nothing, and never leaves a slot free while someone waits', () => {
    const bounds = fc.record({
      slots: fc.integer({ min: 1, max: 3 }),
      maxPerFlow: fc.integer({ min: 1, max: 4 }),
      maxWaiting: fc.integer({ min: 1, max: 6 }),
    });
    fc.assert(
      fc.property(bounds, fc.array(step, { maxLength: 200 }), (options, steps) => {
        const queue = createFairQueue<string>(options);
        const waiting = new Map<string, string>();
        const lost: string[] = [];
        let inside = 0;
        const forget = (item: string | undefined): void => {
          if (item !== undefined && !waiting.delete(item)) lost.push(item);
        };
        steps.forEach(([kind, name], number) => {
          const own = [...waiting].filter(([, owner]) => owner === name);
          const oldest = own[0]?.[0];
          if (kind === 'arrive' && queue.admit()) inside += 1;
          else if (kind === 'arrive') {
            const arrival = queue.arrive(name, `${name}${number}`);
            if (arrival.kind === 'rejected') return;
            waiting.set(`${name}${number}`, name);
            forget(arrival.evicted);
          } else if (kind === 'leave' && inside > 0) {
            const next = queue.leave();
            if (next === undefined) inside -= 1;
            forget(next);
          } else if (kind === 'remove' && oldest !== undefined && queue.remove(name, oldest)) forget(oldest);
          expect(own.length).toBeLessThanOrEqual(options.maxPerFlow);
          expect([queue.inside, queue.waiting, lost]).toEqual([inside, waiting.size, []]);
          expect(inside).toBeLessThanOrEqual(options.slots);
          expect(waiting.size).toBeLessThanOrEqual(options.maxWaiting);
          expect(waiting.size === 0 || inside === options.slots).toBe(true);
        });
      }),
    );
  });

  test('starves no flow: an item waits for at most one turn of every other flow per item before it', () => {
    fc.assert(
      fc.property(fc.array(flow, { minLength: 1, maxLength: 80 }), fc.nat(), (crowd, pick) => {
        const queue = createFairQueue<string>({ slots: 1, maxPerFlow: 100, maxWaiting: 1000 });
        queue.admit();
        crowd.forEach((name, index) => queue.arrive(name, `${name}${index}`));
        const chosen = pick % crowd.length;
        const own = crowd[chosen] ?? '';
        const before = crowd.slice(0, chosen).filter((name) => name === own).length;
        const others = new Set(crowd).size - 1;
        const order = take(queue, crowd.length);
        expect(order.indexOf(`${own}${chosen}`)).toBeLessThanOrEqual(before + (before + 1) * others);
      }),
    );
  });
});
