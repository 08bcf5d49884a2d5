import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createFakeClock, type FakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createEvictionManager, type EvictionManager, type EvictionOrder } from './manager.ts';
import type { Candidate } from './ranking.ts';
import type { PressureCondition } from './signals.ts';
import { parseAmount, type Threshold } from './thresholds.ts';

const CAPACITY = 1000;
const TRANSITION_MS = 50;
const HARD: Threshold = {
  signal: 'memory.available',
  amount: parseAmount('100'),
  minReclaim: parseAmount('50'),
  graceMs: 0,
  hard: true,
};

interface TestPod {
  readonly name: string;
  used: number;
  readonly requested: number;
  readonly priority: number;
  readonly critical: boolean;
}

/** A node with this memory, pods with this usage, and reclaimable caches. */
class World {
  readonly clock: FakeClock = createFakeClock();
  readonly orders: EvictionOrder<TestPod>[] = [];
  readonly reported: (readonly PressureCondition[])[] = [];
  readonly ages: number[] = [];
  readonly manager: EvictionManager;
  pods: readonly TestPod[];
  cache: number;
  reclaimed = 0;

  constructor(pods: readonly TestPod[], cache = 0, thresholds: readonly Threshold[] = [HARD]) {
    this.pods = pods;
    this.cache = cache;
    this.manager = createEvictionManager<TestPod>(
      {
        clock: this.clock,
        log: silentLogger,
        observe: async () => {
          const atMs = this.clock.monotonic();
          return new Map([['memory.available', { available: this.available(), capacity: CAPACITY, atMs }]]);
        },
        reclaim: async () => {
          this.reclaimed += 1;
          this.cache = 0;
        },
        candidates: async () => this.pods.map((pod): Candidate<TestPod> => ({ ...pod, pod, containers: [] })),
        evict: async (order) => {
          this.orders.push(order);
          this.pods = this.pods.filter((pod) => pod !== order.pod);
        },
        evicted: (_, ageMs) => void this.ages.push(ageMs),
        conditionsChanged: (conditions) => void this.reported.push([...conditions]),
      },
      { thresholds, transitionMs: TRANSITION_MS, maxPodGraceSeconds: 7, periodMs: 10 },
    );
  }

  available(): number {
    return CAPACITY - this.cache - this.pods.reduce((sum, { used }) => sum + used, 0);
  }

  async check(): Promise<boolean> {
    await this.clock.advance(1);
    return this.manager.check(new AbortController().signal);
  }
}

const pod = (name: string, used: number, more: Partial<TestPod> = {}): TestPod => ({
  name,
  used,
  requested: 0,
  priority: 0,
  critical: false,
  ...more,
});

describe('a node under pressure', () => {
  test('reclaims unused resources before it evicts a pod', async () => {
    const world = new World([pod('a', 800)], 150);
    expect(await world.check()).toBe(false);
    expect(world).toMatchObject({ reclaimed: 1, orders: [], reported: [['MemoryPressure']] });
  });

  test('evicts one pod, at once and with the reason, and checks again before the next', async () => {
    const world = new World([pod('a', 300, { requested: 300 }), pod('b', 650)]);
    expect(await world.check()).toBe(true);
    expect(world.orders).toMatchObject([{ pod: { name: 'b' }, graceSeconds: 0 }]);
    expect(world.orders[0]?.message).toMatch(
      /^The node was low on resource: memory\. Threshold quantity: 100/,
    );
    expect(world.ages).toEqual([0]);
    expect(await world.check()).toBe(false);
  });

  test('grants a grace period for a soft threshold', async () => {
    const soft: Threshold = { ...HARD, hard: false, graceMs: 0 };
    const world = new World([pod('a', 950)], 0, [soft]);
    await world.check();
    expect(world.orders).toMatchObject([{ graceSeconds: 7 }]);
  });

  test('evicts no critical pods', async () => {
    const world = new World([pod('a', 950, { critical: true })]);
    expect(await world.check()).toBe(false);
    expect(world.orders).toEqual([]);
  });

  test('reports its condition once when it begins and once when it ends', async () => {
    const world = new World([pod('a', 950)]);
    await world.check();
    await world.check();
    await world.clock.advance(TRANSITION_MS);
    await world.check();
    expect(world.reported).toEqual([['MemoryPressure'], []]);
  });
});

test('checks earlier when a threshold may be crossed without a notification', async () => {
  const clock = createFakeClock();
  const seenAtMs: number[] = [];
  const manager = createEvictionManager<TestPod>(
    {
      clock,
      log: silentLogger,
      observe: () => {
        seenAtMs.push(clock.monotonic());
        return Promise.resolve(new Map());
      },
      reclaim: () => Promise.resolve(),
      candidates: () => Promise.resolve([]),
      evict: () => Promise.resolve(),
      conditionsChanged: () => undefined,
      nextCrossingMs: () => (seenAtMs.length < 3 ? 20 : undefined),
    },
    { thresholds: [HARD], transitionMs: TRANSITION_MS, maxPodGraceSeconds: 0, periodMs: 1000 },
  );
  const stop = new AbortController();
  const running = manager.run(stop.signal);
  for (let ms = 0; ms < 1500; ms += 10) await clock.advance(10);
  stop.abort();
  await running;
  const [, second = 0, ...others] = seenAtMs;
  expect(others.map((ms) => ms - second)).toEqual([20, 1020]);
});

const arbitraryPod = fc.record({
  used: fc.nat(400),
  requested: fc.nat(400),
  priority: fc.integer({ min: 0, max: 2 }),
  critical: fc.boolean(),
});
/** Changes between two checks: pods are added, and all running ones grow. */
const arbitraryStep = fc.record({ come: fc.option(arbitraryPod), grow: fc.nat(30), waitMs: fc.nat(40) });

test('over any thousand schedules: one at a time, only when it helps, and no flapping', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(arbitraryStep, { maxLength: 12 }), fc.nat(300), async (steps, cache) => {
      const world = new World([], cache);
      let lastShortMs = Number.NEGATIVE_INFINITY;
      for (const [index, { come, grow, waitMs }] of steps.entries()) {
        if (come !== null) world.pods = [...world.pods, { name: `p${index}`, ...come }];
        for (const one of world.pods) one.used += grow;
        await world.clock.advance(waitMs);
        const before = { pods: world.pods, orders: world.orders.length, available: world.available() };
        const withoutCache = before.available + world.cache;
        const evicted = await world.check();
        const ended = world.orders.length - before.orders;
        const nowMs = world.clock.monotonic();
        if (before.available < 100) lastShortMs = nowMs;
        const promises = {
          'says whether it ended one': ended === (evicted ? 1 : 0),
          'evicts no pod where reclaimable cache suffices': withoutCache < 150 || ended === 0,
          'evicts one where that does not suffice and a pod may be evicted':
            withoutCache >= 100 || before.pods.every(({ critical }) => critical) || ended === 1,
          'ends no critical pod': world.orders.every((order) => !order.pod.critical),
          'keeps the condition for its time':
            nowMs - lastShortMs >= TRANSITION_MS || world.manager.standing().conditions.has('MemoryPressure'),
        };
        expect(Object.entries(promises).filter(([, kept]) => !kept)).toEqual([]);
      }
      // The same conditions are never reported twice.
      expect(world.reported.every((one, i) => String(one) !== String(world.reported[i - 1] ?? []))).toBe(
        true,
      );
    }),
    { numRuns: 1000 },
  );
});
