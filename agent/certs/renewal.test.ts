import { X509Certificate } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createFakeClock, type FakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { makeKey } from './keys.ts';
import { createRenewal } from './renewal.ts';
import { rotationTime, shareOf, validityOf } from './rotation.ts';
import { createTestAuthority } from './store.fixture.ts';

const NOW = Date.parse('2026-05-06T07:08:09Z');
const HOUR = 3_600_000;
const authority = createTestAuthority(NOW);

interface World extends AsyncDisposable {
  readonly clock: FakeClock;
  /** When certificates were renewed, by the wall clock. */
  readonly renewals: readonly number[];
  /** Time of the next renewal. */
  dueMs(): number;
}

/** A certificate of ten hours, and its renewals. */
async function setUp(): Promise<World> {
  const clock = createFakeClock(NOW);
  const key = await makeKey('ecdsa');
  const issue = (): X509Certificate =>
    new X509Certificate(authority.issue(key, 'n', clock.now(), clock.now() + 10 * HOUR));
  let certificate = issue();
  const renewals: number[] = [];
  const renewal = createRenewal(
    { clock, log: silentLogger },
    {
      current: () => Promise.resolve(certificate),
      attempt() {
        renewals.push(clock.now());
        certificate = issue();
        return Promise.resolve();
      },
      awaitRemoval: () => Promise.resolve(),
    },
  );
  const stop = new AbortController();
  renewal.wake();
  const running = renewal.run(stop.signal);
  await clock.advance(0);
  return {
    clock,
    renewals,
    dueMs: () => rotationTime(validityOf(certificate), shareOf(certificate)),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

describe('a certificate is renewed', () => {
  test('when it is due', async () => {
    await using world = await setUp();
    await world.clock.advance(world.dueMs() - NOW - 1000);
    expect(world.renewals).toEqual([]);
    await world.clock.advance(2000);
    expect(world.renewals).toHaveLength(1);
  });

  test('within seconds after the clock was set forward past that time', async () => {
    await using world = await setUp();
    world.clock.jumpWall(9.5 * HOUR);
    await world.clock.advance(3000);
    expect(world.renewals).toHaveLength(1);
  });

  test('when it is due by the new time, if the clock was set meanwhile', async () => {
    for (const byHours of [5, -5]) {
      await using world = await setUp();
      const due = world.dueMs();
      world.clock.jumpWall(byHours * HOUR);
      await world.clock.advance(due - world.clock.now() - 1000);
      expect(world.renewals).toEqual([]);
      await world.clock.advance(4000);
      expect(world.renewals).toHaveLength(1);
    }
  });
});
