/** The loop of a controller: keys become due, and each is worked on by one worker at a time, never on a cache older
 *  than what was written for it. */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createWorkQueue } from '#api/kit/work-queue.ts';
import type { Cache, WatchHandle } from '../../cache/contract.ts';
import { createExpectations } from './expectations.ts';

export interface KeyLoop {
  /** Makes a key due now. */
  due(key: string): void;
  /** Makes a key due soon, with what else happens meanwhile: one look for many changes. */
  dueSoon(key: string): void;
  /** Something is about to be written for the key that the next look has to see. */
  expect(key: string): void;
  /** Works until the signal fires, then closes what it was given. */
  run(signal: AbortSignal, ...followed: readonly WatchHandle[]): Promise<void>;
}

export interface KeyLoopDeps {
  readonly cache: Pick<Cache, 'waitForNewest'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How long changes of what belongs to a key are gathered: about as long as a look takes, so that the many changes of
 *  something large leave time for everything else. */
const LEAST_GATHER_MS = 10;
const MOST_GATHER_MS = 200;
const CONCURRENCY = 5;

/** `work` may ask for another look by a delay in ms. */
export function createKeyLoop(
  { cache, clock, log }: KeyLoopDeps,
  work: (key: string) => Promise<number | undefined>,
): KeyLoop {
  const expectations = createExpectations(cache);
  let gatherMs = LEAST_GATHER_MS;
  const queue = createWorkQueue({
    clock,
    concurrency: CONCURRENCY,
    async work(key) {
      await expectations.met(key);
      const startedMs = clock.monotonic();
      const again = await work(key);
      gatherMs = Math.min(MOST_GATHER_MS, Math.max(LEAST_GATHER_MS, clock.monotonic() - startedMs));
      return again;
    },
    onError: (key, err) => log.warn({ err, key }, 'Object could not be brought in line; it is tried again'),
  });
  return {
    due: (key) => queue.add(key),
    dueSoon: (key) => queue.addAfter(key, gatherMs),
    expect: (key) => expectations.expect(key),
    async run(signal, ...followed) {
      await queue.run(signal);
      for (const each of followed) each.close();
    },
  };
}
