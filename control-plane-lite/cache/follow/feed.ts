/** Follows the store: lists the whole keyspace once, in pages, then watches it. When the watch ends, resumes
 *  from its last revision; if history no longer reaches that far, lists everything again. Holds no objects:
 *  the target does. */
import type { Backoff } from '#api/kit/backoff.ts';
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { describeError } from '#api/kit/error-chain.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createLoop } from '#api/kit/loop.ts';
import type { Wait, Waits } from '#api/kit/waits.ts';
import { type Store, StoreError, type StoreWatch } from '../../store/contract.ts';
import { createLoads, isLost } from './load.ts';
import type { FeedOptions, FeedTarget } from './target.ts';
import { createUnsealing } from './unseal.ts';

export interface FeedDeps {
  readonly store: Pick<Store, 'revisionStep' | 'currentRevision' | 'get' | 'range' | 'watch'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly backoff: Backoff;
  /** Displays that the store cannot be followed. */
  readonly waits?: Pick<Waits, 'begin'> | undefined;
  /** For display. */
  readonly storeName?: string;
}

export interface Feed {
  /** Follows until the signal. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
  /** Requests a report of the newest revision. */
  requestProgress(): void;
  /** Whether the store is being followed and was caught up with since the last interruption. */
  readonly synced: boolean;
}

const KEY = 'store';
/** One watch of the store. */
interface Following {
  readonly watch: StoreWatch;
  /** Resolves when it is over. */
  readonly over: Promise<void>;
  isOver: boolean;
  end(): void;
}

function followStore(
  deps: { readonly store: FeedDeps['store']; readonly target: FeedTarget; readonly prefix: string },
  onEnd: (error: StoreError) => void,
): Following {
  const { store, target, prefix } = deps;
  const { promise: over, resolve } = Promise.withResolvers<void>();

  function fail(error: StoreError): void {
    if (following.isOver) return;
    end();
    onEnd(error);
  }

  function end(): void {
    following.isOver = true;
    resolve();
  }

  /** A store doesn't report when it drops a sink that threw. */
  function give(call: () => void): void {
    if (following.isOver) return;
    try {
      call();
    } catch (cause) {
      fail(new StoreError('corrupt', 'events could not be applied', { cause }));
    }
  }

  const following = { over, isOver: false, end };
  const watch = store.watch(prefix, target.revision(), {
    onEvents: (events) => give(() => target.onEvents(events)),
    onProgress: (revision) => give(() => target.onProgress(revision)),
    onEnd: fail,
  });
  return Object.assign(following, { watch });
}

const STORE_WAIT = 'store to be followed';

export function createFeed(deps: FeedDeps, options: FeedOptions, target: FeedTarget): Feed {
  const { store, clock, log, backoff, waits, storeName = STORE_WAIT } = deps;
  let wait: Wait | undefined;
  let following: Following | undefined;
  let state: 'empty' | 'loaded' | 'lost' = 'empty';
  let synced = false;
  const loads = createLoads({ store, clock, log, target }, options);
  const unsealing = createUnsealing({ store, clock, log, waits, target, prefix: options.prefix });

  function onEnd(error: StoreError): void {
    synced = false;
    loads.failed(error);
    following?.watch.close();
    if (isLost(error)) state = 'lost';
    const delayMs = backoff.fail(KEY, clock.now());
    log.warn({ err: error, delayMs }, 'Store watch ended');
    loop.wakeAt(clock.now() + delayMs);
  }

  async function catchUp({ watch, over }: Following): Promise<void> {
    const newest = await store.currentRevision();
    watch.requestProgress();
    await Promise.race([target.reached(newest), over]);
  }

  /** Loads the state or resumes the watch, whichever is due. */
  async function follow(signal: AbortSignal): Promise<void> {
    if (loads.isLate) {
      following?.end();
      following?.watch.close();
      await loads.readable(signal);
    } else if (state === 'empty') await loads.first(signal);
    else if (state === 'lost') await loads.again(signal);
    state = 'loaded';
    if (following === undefined || following.isOver) {
      following = followStore({ store, target, prefix: options.prefix }, onEnd);
    }
    await catchUp(following);
    if (following.isOver || signal.aborted) return;
    synced = true;
    loads.done();
    wait?.end();
    wait = undefined;
    backoff.reset(KEY);
    target.onSynced();
    log.debug({ revision: target.revision() }, 'Caught up with the store');
  }

  const loop = createLoop({
    clock,
    onError: (error) => log.error({ err: error }, 'Store follower failed'),
    step: async (signal) => {
      try {
        if (!synced) wait ??= waits?.begin(storeName);
        await follow(signal);
        return await unsealing.attempt(signal);
      } catch (thrown) {
        if (signal.aborted) return undefined;
        loads.failed(asError(thrown));
        const delayMs = backoff.fail(KEY, clock.now());
        wait?.because(describeError(asError(thrown)));
        // Warn once; the delay is displayed anyway.
        if (waits === undefined) log.warn({ err: asError(thrown), delayMs }, 'Failed to follow the store');
        else log.debug({ err: asError(thrown), delayMs }, 'Failed to follow the store');
        return clock.now() + delayMs;
      }
    },
  });

  return {
    async run(signal) {
      // The awaited revision may never arrive.
      signal.addEventListener('abort', () => following?.end(), { once: true });
      loop.wake();
      await loop.run(signal);
      following?.watch.close();
      synced = false;
      wait?.end();
      unsealing.stop();
    },
    requestProgress() {
      if (following?.isOver === false) following.watch.requestProgress();
    },
    get synced() {
      return synced;
    },
  };
}
