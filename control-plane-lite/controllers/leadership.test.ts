/** Leader election: who leads, and when leadership changes. */

import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Lease } from '#api/gen/coordination-v1.ts';
import { createFakeClock, type FakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createWaits } from '#api/kit/waits.ts';
import type { ApiObject, Resource } from '../resources/contract.ts';
import { typed } from '../resources/view.ts';
import type { Verbs } from '../verbs/contract.ts';
import { runAsLeader } from './leadership.ts';

/** A lease that all servers of a test share. */
interface Shared {
  readonly clock: FakeClock;
  readonly spec: () => NonNullable<Lease['spec']>;
  /** Servers that can't reach the store. */
  readonly cut: Set<string>;
  /** Servers that get no response from it. */
  readonly hung: Set<string>;
  /** Waits of the servers. */
  readonly waits: ReturnType<typeof createWaits>;
  readonly begin: (identity: string) => { readonly leads: () => boolean; readonly end: () => Promise<void> };
}

function share(): Shared {
  const clock = createFakeClock();
  const waits = createWaits({ clock, log: silentLogger });
  const cut = new Set<string>();
  const hung = new Set<string>();
  let lease: ApiObject | undefined;
  const leases = { info: { group: 'coordination.plat', version: 'v1' } } as unknown as Resource;
  const verbsOf = (identity: string): Pick<Verbs, 'update'> => ({
    async update({ change, allowCreate }) {
      await turn();
      if (hung.has(identity)) return new Promise(() => undefined);
      if (cut.has(identity)) throw new Error('the store is away');
      if (allowCreate !== true) throw new Error('unexpected create');
      lease = await change(structuredClone(lease));
      return { object: lease };
    },
  });
  return {
    clock,
    cut,
    hung,
    waits,
    spec: () => (lease === undefined ? {} : (typed<Lease>(lease).spec ?? {})),
    begin(identity) {
      const stop = new AbortController();
      let leads = false;
      const running = runAsLeader(
        { leases, verbs: verbsOf(identity), clock, log: silentLogger, waits },
        { namespace: 'system', name: 'the-work', identity },
        (signal) => {
          leads = true;
          return new Promise((resolve) => {
            signal.addEventListener('abort', () => {
              leads = false;
              resolve();
            });
          });
        },
        stop.signal,
      );
      return {
        leads: () => leads,
        async end() {
          stop.abort();
          await running;
        },
      };
    },
  };
}

/** Advances the clock in steps, with a turn for each server in every step. */
async function pass(clock: FakeClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 500) {
    await clock.advance(500);
    for (let turns = 0; turns < 4; turns += 1) await turn();
  }
}

describe('runAsLeader', () => {
  test('one server leads, and the next as soon as the leader stops', async () => {
    const { begin, clock, spec } = share();
    const first = begin('a');
    await pass(clock, 1000);
    const second = begin('b');
    await pass(clock, 60_000);
    expect([first.leads(), second.leads()]).toEqual([true, false]);
    expect(spec()).toMatchObject({ holderIdentity: 'a', leaseDurationSeconds: 15, leaseTransitions: 0 });
    await first.end();
    expect(first.leads()).toBe(false);
    await pass(clock, 3000);
    expect(second.leads()).toBe(true);
    expect(spec()).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
    await second.end();
  });

  test('a waiting server reports the holder until it leads', async () => {
    const { begin, clock, waits } = share();
    const first = begin('a');
    await pass(clock, 1000);
    const second = begin('b');
    await pass(clock, 8000);
    expect(waits.lasting()).toMatchObject([{ what: 'lease system/the-work', why: 'the lease is held by a' }]);
    await first.end();
    await pass(clock, 3000);
    expect([second.leads(), waits.lasting()]).toEqual([true, []]);
    await second.end();
  });

  test('a leader without connection to the store stops before another starts', async () => {
    const { begin, clock, cut } = share();
    const first = begin('a');
    await pass(clock, 1000);
    const second = begin('b');
    await pass(clock, 5000);
    cut.add('a');
    let together = false;
    for (let passed = 0; passed < 40; passed += 1) {
      await pass(clock, 500);
      together ||= first.leads() && second.leads();
    }
    expect([first.leads(), second.leads(), together]).toEqual([false, true, false]);
    cut.delete('a');
    await pass(clock, 10_000);
    expect([first.leads(), second.leads()]).toEqual([false, true]);
    await Promise.all([first.end(), second.end()]);
  });

  test('a leader without responses stops before another starts', async () => {
    const { begin, clock, hung } = share();
    const first = begin('a');
    await pass(clock, 1000);
    const second = begin('b');
    await pass(clock, 5000);
    hung.add('a');
    let together = false;
    for (let passed = 0; passed < 40; passed += 1) {
      await pass(clock, 500);
      together ||= first.leads() && second.leads();
    }
    expect([first.leads(), second.leads(), together]).toEqual([false, true, false]);
    await second.end();
  });

  test('a leader survives a short failure of the store', async () => {
    const { begin, clock, cut } = share();
    const first = begin('a');
    await pass(clock, 1000);
    cut.add('a');
    await pass(clock, 6000);
    cut.delete('a');
    expect(first.leads()).toBe(true);
    await pass(clock, 6000);
    expect(first.leads()).toBe(true);
    await first.end();
  });
});
