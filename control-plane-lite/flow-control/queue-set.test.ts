import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type QueueItem, QueuePlace } from './queue.ts';
import { QueueSet, type QueueSetOptions } from './queue-set.ts';

class Item implements QueueItem<Item> {
  readonly flow: number;
  readonly durationMs: number;
  readonly initialSeats: number;
  finalSeats = 0;
  finalMs = 0;
  readonly place: QueuePlace<Item> = new QueuePlace<Item>();

  constructor(flow: number, durationMs: number, initialSeats = 1) {
    this.flow = flow;
    this.durationMs = durationMs;
    this.initialSeats = initialSeats;
  }
}

const options = (change: Partial<QueueSetOptions> = {}): QueueSetOptions => ({
  seats: 4,
  queues: 8,
  queueLengthLimit: 1000,
  ...change,
});
const createSet = (change?: Partial<QueueSetOptions>, blocked: Item[] = []): QueueSet<Item> =>
  new QueueSet<Item>(options(change), 0, (item) => void blocked.push(item));

/** A client that always has `outstanding` requests in the set, in the queue of its index. */
interface Client {
  readonly outstanding: number;
  readonly durationMs: number;
  readonly seats?: number;
}

/** Runs the clients for `totalMs` of virtual work; returns the seat-milliseconds of each. */
function run(set: QueueSet<Item>, clients: readonly Client[], totalMs: number): readonly number[] {
  const used = clients.map(() => 0);
  const running: { readonly item: Item; readonly endMs: number }[] = [];
  const arrive = (flow: number, nowMs: number): void => {
    const { durationMs = 1, seats } = clients[flow] ?? {};
    const item = new Item(flow, durationMs, seats);
    if (set.arrive(item, [flow], nowMs) === 'executing') running.push({ item, endMs: nowMs + durationMs });
    else dispatch(nowMs);
  };
  const dispatch = (nowMs: number): void => {
    for (let next = set.dispatch(nowMs); next !== undefined; next = set.dispatch(nowMs)) {
      running.push({ item: next, endMs: nowMs + next.durationMs });
    }
  };
  for (const [flow, { outstanding }] of clients.entries()) {
    for (let count = 0; count < outstanding; count += 1) arrive(flow, 0);
  }
  for (let nowMs = 0; nowMs < totalMs; ) {
    running.sort((a, b) => a.endMs - b.endMs);
    const first = running.shift();
    if (first === undefined) break;
    nowMs = first.endMs;
    const { item } = first;
    used[item.flow] = (used[item.flow] ?? 0) + item.durationMs * item.initialSeats;
    set.finish(item, nowMs);
    set.release(item, nowMs);
    dispatch(nowMs);
    arrive(item.flow, nowMs);
  }
  return used;
}

describe('seats', () => {
  test('requests are started while seats are free, then wait, and start in the order of arrival', () => {
    const set = createSet({ seats: 2 });
    const items = [0, 0, 0, 0].map((flow) => new Item(flow, 1));
    expect(items.map((item) => set.arrive(item, [0], 0))).toEqual([
      'executing',
      'executing',
      'waiting',
      'waiting',
    ]);
    const [first, second, third] = items;
    if (first === undefined || second === undefined) throw new Error('no items');
    expect(set.dispatch(0)).toBeUndefined();
    set.finish(second, 1);
    expect(set.dispatch(1)).toBeUndefined();
    set.release(second, 1);
    expect(set.dispatch(1)).toBe(third);
    expect([set.waiting, set.executing, set.seatsInUse]).toEqual([1, 2, 2]);
  });

  test('without queues, requests beyond the seats are rejected', () => {
    const set = createSet({ seats: 1, queues: 0 });
    expect([set.arrive(new Item(0, 1), [], 0), set.arrive(new Item(0, 1), [], 0)]).toEqual([
      'executing',
      'rejected',
    ]);
  });

  test('a queue takes so many requests while no seat is free', () => {
    const set = createSet({ seats: 1, queueLengthLimit: 1 });
    const arrivals = [0, 0, 0].map((flow) => set.arrive(new Item(flow, 1), [flow], 0));
    expect(arrivals).toEqual(['executing', 'waiting', 'rejected']);
    expect(set.arrive(new Item(1, 1), [1], 0)).toBe('waiting');
  });

  test('the shortest queue of a hand is chosen', () => {
    const set = createSet({ seats: 1, queueLengthLimit: 1 });
    const arrivals = [0, 1, 2, 3].map(() => set.arrive(new Item(0, 1), [2, 5], 0));
    expect(arrivals).toEqual(['executing', 'waiting', 'waiting', 'rejected']);
    expect(
      set.queues.flatMap((queue) => (queue === undefined ? [] : [queue.index])).toSorted((a, b) => a - b),
    ).toEqual([2, 5]);
  });

  test('a request that needs more seats than are free blocks the narrower ones behind it, and is reported', () => {
    const blocked: Item[] = [];
    const set = createSet({ seats: 4 }, blocked);
    const [running, wide, narrow] = [new Item(0, 1, 3), new Item(1, 1, 4), new Item(1, 1)];
    for (const item of [running, wide, narrow]) set.arrive(item, [item.flow], 0);
    expect(set.dispatch(0)).toBeUndefined();
    expect(blocked).toEqual([wide]);
    set.finish(running, 1);
    set.release(running, 1);
    expect([set.dispatch(1), set.dispatch(1)]).toEqual([wide, undefined]);
  });

  test('a request that is wider than the level runs alone', () => {
    const set = createSet({ seats: 2 });
    const [small, wide] = [new Item(0, 1), new Item(1, 1, 10)];
    expect([set.arrive(small, [0], 0), set.arrive(wide, [1], 0)]).toEqual(['executing', 'waiting']);
    set.finish(small, 1);
    set.release(small, 1);
    expect(set.dispatch(1)).toBe(wide);
    expect(set.arrive(new Item(0, 1), [0], 1)).toBe('waiting');
    expect(set.dispatch(1)).toBeUndefined();
  });

  test('seats of the final work are occupied beyond the end; on fewer seats it takes longer', () => {
    const set = createSet({ seats: 4 });
    const item = new Item(0, 1);
    item.finalSeats = 8;
    item.finalMs = 10;
    expect(set.arrive(item, [0], 0)).toBe('executing');
    expect([item.finalSeats, item.finalMs]).toEqual([4, 20]);
    set.finish(item, 1);
    expect([set.executing, set.seatsInUse, set.isIdle]).toEqual([0, 4, true]);
    set.release(item, 21);
    expect(set.seatsInUse).toBe(0);
  });

  test('a cancelled request leaves its queue; cancelling twice, or one that runs, has no effect', () => {
    const set = createSet({ seats: 1 });
    const [running, gone, last] = [new Item(0, 1), new Item(0, 1), new Item(0, 1)];
    for (const item of [running, gone, last]) set.arrive(item, [0], 0);
    expect([set.cancel(gone, 1), set.cancel(gone, 1), set.cancel(running, 1)]).toEqual([true, false, false]);
    set.finish(running, 2);
    set.release(running, 2);
    expect(set.dispatch(2)).toBe(last);
  });

  test('requests in queues that a change removed are served', () => {
    const set = createSet({ seats: 1 });
    const items = [new Item(0, 1), new Item(7, 1)];
    for (const item of items) set.arrive(item, [item.flow], 0);
    set.configure(options({ seats: 2, queues: 1 }), 1);
    expect(set.dispatch(1)).toBe(items[1]);
  });
});

describe('fairness', () => {
  test.each<[string, readonly Client[], readonly number[]]>([
    [
      'two alike',
      [
        { outstanding: 20, durationMs: 10 },
        { outstanding: 20, durationMs: 10 },
      ],
      [0.5, 0.5],
    ],
    [
      'a flood and a small one',
      [
        { outstanding: 500, durationMs: 10 },
        { outstanding: 8, durationMs: 10 },
      ],
      [0.5, 0.5],
    ],
    [
      'long and short requests',
      [
        { outstanding: 20, durationMs: 50 },
        { outstanding: 40, durationMs: 5 },
      ],
      [0.5, 0.5],
    ],
    [
      'wide and narrow requests',
      [
        { outstanding: 20, durationMs: 10, seats: 2 },
        { outstanding: 40, durationMs: 10 },
      ],
      [0.5, 0.5],
    ],
    [
      'one that uses less than its share',
      [
        { outstanding: 1, durationMs: 10 },
        { outstanding: 40, durationMs: 10 },
        { outstanding: 40, durationMs: 10 },
      ],
      [0.25, 0.375, 0.375],
    ],
  ])('%s: seats are shared', (_, clients, shares) => {
    const used = run(createSet(), clients, 20_000);
    const total = used.reduce((sum, each) => sum + each, 0);
    for (const [flow, share] of shares.entries()) {
      expect(Math.abs((used[flow] ?? 0) / total - share), `flow ${flow}: ${used.join()}`).toBeLessThan(0.1);
    }
  });

  test('no flow starves, whatever the others do', () => {
    const client = fc.record({
      outstanding: fc.integer({ min: 1, max: 60 }),
      durationMs: fc.integer({ min: 1, max: 40 }),
      seats: fc.integer({ min: 1, max: 4 }),
    });
    fc.assert(
      fc.property(fc.array(client, { minLength: 2, maxLength: 8 }), (clients) => {
        const used = run(createSet(), [...clients, { outstanding: 1, durationMs: 5 }], 10_000);
        for (const each of used) expect(each).toBeGreaterThan(0);
        // Between two of its requests, of 5 ms each, every one of up to 8 others is served twice at most, for up to
        // 40 ms: wide requests leave seats idle, which virtual time counts as used.
        expect(used.at(-1)).toBeGreaterThan(50);
      }),
      { numRuns: 60 },
    );
  });

  test('counts are consistent after any sequence, and all are 0 in the end', () => {
    const action = fc.record({ kind: fc.nat(3), flow: fc.nat(5), seats: fc.integer({ min: 1, max: 6 }) });
    fc.assert(
      fc.property(fc.array(action, { maxLength: 120 }), (actions) => {
        const set = createSet({ queueLengthLimit: 5 });
        const waiting: Item[] = [];
        const running: Item[] = [];
        let nowMs = 0;
        const started = (item: Item): void => {
          const at = waiting.indexOf(item);
          if (at >= 0) waiting.splice(at, 1);
          running.push(item);
        };
        const settle = (): void => {
          for (let next = set.dispatch(nowMs); next !== undefined; next = set.dispatch(nowMs)) started(next);
        };
        const end = (item: Item | undefined): void => {
          if (item === undefined) return;
          set.finish(item, nowMs);
          set.release(item, nowMs);
        };
        for (const { kind, flow, seats } of actions) {
          nowMs += 1;
          const item = new Item(flow, 1, seats);
          if (kind < 2) {
            const arrival = set.arrive(item, [flow, (flow + 1) % 6], nowMs);
            if (arrival === 'executing') running.push(item);
            else if (arrival === 'waiting') waiting.push(item);
          } else if (kind === 2) end(running.shift());
          else {
            const gone = waiting.shift();
            if (gone !== undefined && !set.cancel(gone, nowMs)) throw new Error('it did not wait');
          }
          settle();
          expect([set.waiting, set.executing]).toEqual([waiting.length, running.length]);
          expect(set.seatsInUse).toBe(running.reduce((sum, each) => sum + each.initialSeats, 0));
          // Nothing waits beside an idle server.
          expect(waiting.length === 0 || running.length > 0).toBe(true);
        }
        while (running.length > 0) {
          end(running.shift());
          settle();
        }
        expect([set.waiting, set.executing, set.seatsInUse, set.isIdle]).toEqual([0, 0, 0, true]);
      }),
    );
  });

  test('virtual time is wound back before it becomes inexact, and the order stays', () => {
    const set = createSet({ seats: 1 });
    const running = new Item(0, 1);
    set.arrive(running, [0], 0);
    const [early, late] = [new Item(1, 1), new Item(2, 1)];
    set.arrive(early, [1], 1);
    const farMs = 2 ** 30 * 1000 * 3;
    set.arrive(late, [2], farMs);
    expect(set.epochs).toBe(1);
    expect(set.currentR).toBeLessThan(2 ** 30);
    set.finish(running, farMs);
    set.release(running, farMs);
    expect(set.dispatch(farMs)).toBe(early);
    expect(set.lastDispatch?.minS).toBeLessThan(set.lastDispatch?.maxS ?? 0);
  });
});
