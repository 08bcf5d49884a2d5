/** Work loop of a controller: each queued key is processed by one worker at a time, never with a cache older
 *  than the controller's last write for that key. */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createWorkQueue } from '#api/kit/work-queue.ts';
import type { Cache, WatchHandle } from '../../cache/contract.ts';
import { createExpectations } from './expectations.ts';
import { isNamespaceEnding } from './namespace-ending.ts';

export interface KeyLoop {
  /** Queues a key now. */
  due(key: string): void;
  /** Queues a key after a short delay, so that many changes are coalesced into one run. */
  dueSoon(key: string): void;
  /** Announces a write for the key that the next run has to see. */
  expect(key: string): void;
  /** Runs until the signal is aborted, then closes its subscriptions. */
  run(signal: AbortSignal, ...followed: readonly WatchHandle[]): Promise<void>;
}

export interface KeyLoopDeps {
  readonly cache: Pick<Cache, 'waitForNewest'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How long changes of a key are coalesced: about the duration of a run, so that the many changes of a large
 *  object leave time for everything else. */
const LEAST_GATHER_MS = 10;
const MOST_GATHER_MS = 200;
const CONCURRENCY = 5;

/** Ignores rejections of an ending namespace: its objects end with it, so a retry is useless. */
async function unlessNamespaceEnds(look: Promise<number | undefined>): Promise<number | undefined> {
  try {
    return await look;
  } catch (thrown) {
    if (isNamespaceEnding(thrown)) return undefined;
    throw thrown;
  }
}

/** `work` may request another run by returning a delay in ms. */
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
      const again = await unlessNamespaceEnds(work(key));
      gatherMs = Math.min(MOST_GATHER_MS, Math.max(LEAST_GATHER_MS, clock.monotonic() - startedMs));
      return again;
    },
    onError: (key, err) => log.warn({ err, key }, 'Failed to reconcile object; retrying'),
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
