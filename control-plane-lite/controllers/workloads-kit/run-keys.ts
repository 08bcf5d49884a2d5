/** Work queue of a controller: each queued key is processed by one worker at a time, never with a cache older
 *  than the controller's last write for that key. */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createWorkQueue, type QueueObserver } from '#api/kit/work-queue.ts';
import type { Cache } from '../../cache/contract.ts';
import { createExpectations } from './expectations.ts';
import { isNamespaceEnding } from './namespace-ending.ts';

export interface KeyQueue {
  /** Queues a key now. */
  add(key: string): void;
  /** Queues a key after a short delay, so that many changes are coalesced into one run. */
  addSoon(key: string): void;
  /** Queues a key after a delay in ms, unless it is due sooner. */
  addAfter(key: string, delayMs: number): void;
  /** Announces a write for the key that the next run has to see. */
  expect(key: string): void;
  /** Runs until the signal is aborted and the work in flight has finished. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

export interface KeyQueueDeps {
  readonly cache: Pick<Cache, 'waitForNewest'>;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface KeyQueueOptions {
  /** Maximum number of keys in flight; default 5. */
  readonly workers?: number;
  /** Default: a warning with the key. */
  readonly onError?: (key: string, error: Error) => void;
  readonly observer?: QueueObserver | undefined;
}

/** How long changes of a key are coalesced: about the duration of a run, so that the many changes of a large
 *  object leave time for everything else. */
const LEAST_GATHER_MS = 10;
const MOST_GATHER_MS = 200;
const WORKERS = 5;

/** Ignores rejections of a terminating namespace: its objects are deleted with it, so a retry is useless. */
async function unlessNamespaceEnds(run: Promise<number | undefined>): Promise<number | undefined> {
  try {
    return await run;
  } catch (thrown) {
    if (isNamespaceEnding(thrown)) return undefined;
    throw thrown;
  }
}

/** `work` may request another run by returning a delay in ms. */
export function createKeyQueue(
  { cache, clock, log }: KeyQueueDeps,
  work: (key: string) => Promise<number | undefined>,
  { workers = WORKERS, onError, observer }: KeyQueueOptions = {},
): KeyQueue {
  const expectations = createExpectations(cache);
  let gatherMs = LEAST_GATHER_MS;
  const queue = createWorkQueue({
    clock,
    concurrency: workers,
    observer,
    async work(key) {
      await expectations.met(key);
      const startedMs = clock.monotonic();
      const again = await unlessNamespaceEnds(work(key));
      gatherMs = Math.min(MOST_GATHER_MS, Math.max(LEAST_GATHER_MS, clock.monotonic() - startedMs));
      return again;
    },
    onError: onError ?? ((key, err) => log.warn({ err, key }, 'Failed to reconcile object; retrying')),
  });
  return {
    add: (key) => queue.add(key),
    addSoon: (key) => queue.addAfter(key, gatherMs),
    addAfter: (key, delayMs) => queue.addAfter(key, delayMs),
    expect: (key) => expectations.expect(key),
    run: (signal) => queue.run(signal),
  };
}
