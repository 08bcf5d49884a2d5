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
import {
  type RangeResult,
  type Store,
  type StoredItem,
  StoreError,
  type StoreEvent,
  type StoreWatch,
} from '../../store/contract.ts';
import type { Sealed } from '../state/sealed.ts';
import { unsealAll } from './unseal.ts';

/** Target of states and changes. */
export interface FeedTarget {
  /** A whole state follows. */
  readonly begin: () => Loading;
  readonly onEvents: (events: readonly StoreEvent[]) => void;
  readonly onProgress: (revision: number) => void;
  readonly revision: () => number;
  /** Resolves once the target has seen the revision. */
  readonly reached: (revision: number) => Promise<void>;
  /** Everything that the store contained a moment ago has been delivered. */
  readonly onSynced: () => void;
  /** Keys whose values cannot be decrypted yet. */
  readonly sealed: Sealed;
  /** Applies a value that was sealed; `undefined`: the key was deleted meanwhile. */
  readonly unseal: (key: string, item: StoredItem | undefined) => void;
}

export interface Loading {
  add(items: readonly StoredItem[]): void;
  /** The state is complete; it is that of this revision. */
  finish(revision: number): void;
}

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

export interface FeedOptions {
  /** Common prefix of all keys. */
  readonly prefix: string;
  /** Number of writes before the newest from which the initial state is read, so that watches from before a
   *  restart resume. More are read if the store wrote several at once. */
  readonly replayWrites: number;
  /** Prefixes of resources without which nothing may be served, because they protect the others. */
  readonly indispensable?: readonly string[];
}

export interface Feed {
  /** Follows until the signal. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
  /** Requests a report of the newest revision. */
  requestProgress(): void;
  /** Whether the store is being followed and was caught up with since the last interruption. */
  readonly synced: boolean;
}

const PAGE = 500;
const KEY = 'store';
/** After this time the server starts without the values that cannot be decrypted, in ms. */
const SEALED_AFTER_MS = 15_000;
/** Time between two attempts to decrypt them, in ms. */
const UNSEAL_MS = 2000;

/** The requested revision is compacted or was never reached, or the known state is not one of this store. */
function isLost(error: unknown): boolean {
  if (!(error instanceof StoreError)) return false;
  return error.reason === 'compacted' || error.reason === 'future' || error.reason === 'corrupt';
}

interface LoadOptions {
  readonly prefix: string;
  /** The revision to read; absent: the newest. */
  readonly revision: number | undefined;
  readonly signal: AbortSignal;
  /** Returns whether the state may be served without the value; absent: without none. */
  readonly maySeal?: (key: string) => boolean;
}

/** Returns the last key of a page. */
function lastKey({ items, sealed = [] }: RangeResult): string | undefined {
  const [item, other] = [items.at(-1)?.key, sealed.at(-1)?.key];
  if (item === undefined || other === undefined) return item ?? other;
  return Buffer.compare(Buffer.from(item), Buffer.from(other)) > 0 ? item : other;
}

/** Reads the whole state at one revision. @throws StoreError of a value that may not be missing */
async function load(store: FeedDeps['store'], target: FeedTarget, options: LoadOptions): Promise<void> {
  const loading = target.begin();
  const { maySeal } = options;
  const sealed: string[] = [];
  let { revision } = options;
  let after: string | undefined;
  for (;;) {
    const page: RangeResult = await store.range(options.prefix, {
      limit: PAGE,
      ...(revision === undefined ? {} : { revision }),
      ...(after === undefined ? {} : { after }),
      ...(maySeal === undefined ? {} : { sealed: 'return' }),
    });
    options.signal.throwIfAborted();
    revision = page.revision;
    loading.add(page.items);
    for (const { key, error } of page.sealed ?? []) {
      if (maySeal?.(key) !== true) throw error;
      sealed.push(key);
    }
    after = lastKey(page);
    if (!page.more || after === undefined) break;
  }
  for (const key of sealed) target.sealed.add(key);
  loading.finish(revision);
}

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

/** Loads the initial state, from a little before the newest revision if the store still has it. */
async function loadFirst(
  deps: { readonly store: FeedDeps['store']; readonly target: FeedTarget },
  options: FeedOptions,
  signal: AbortSignal,
): Promise<void> {
  const { store, target } = deps;
  const { prefix, replayWrites } = options;
  const newest = await store.currentRevision();
  const step = store.revisionStep;
  const revision = replayWrites > 0 ? Math.max(step, newest - replayWrites * step) : undefined;
  try {
    await load(store, target, { prefix, revision, signal });
  } catch (error) {
    if (!isLost(error)) throw error;
    await load(store, target, { prefix, revision: undefined, signal });
  }
}

const STORE_WAIT = 'store to be followed';
const UNSEAL_WAIT = 'stored values to be decrypted';

/** Returns the resources of the keys with their counts: `2 of secrets`. */
function describeSealed(keys: readonly string[], prefix: string): string {
  const counts = new Map<string, number>();
  for (const key of keys) {
    const resource = key.slice(prefix.length, key.indexOf('/', prefix.length));
    counts.set(resource, (counts.get(resource) ?? 0) + 1);
  }
  return [...counts].map(([resource, count]) => `${count} of ${resource}`).join(', ');
}

export function createFeed(deps: FeedDeps, options: FeedOptions, target: FeedTarget): Feed {
  const { store, clock, log, backoff, waits, storeName = STORE_WAIT } = deps;
  let wait: Wait | undefined;
  const { prefix } = options;
  let following: Following | undefined;
  let state: 'empty' | 'loaded' | 'lost' = 'empty';
  let synced = false;
  let unsealWait: Wait | undefined;
  const beganMs = clock.monotonic();
  /** Why the store could not be followed; absent once it was. */
  let firstFailure: Error | undefined;
  let wasSynced = false;
  const { sealed } = target;
  const { indispensable = [] } = options;

  /** A value that was readable once must not appear to be deleted. */
  async function loadAgain(signal: AbortSignal): Promise<void> {
    const known = new Set(sealed.keys());
    const maySeal = (key: string): boolean => known.has(key);
    await load(store, target, {
      prefix,
      revision: undefined,
      signal,
      ...(known.size > 0 ? { maySeal } : {}),
    });
  }

  /** Whether values may be to blame that nobody can decrypt at the moment. */
  const isLate = (): boolean =>
    !wasSynced && firstFailure !== undefined && clock.monotonic() - beganMs >= SEALED_AFTER_MS;

  /** Changes from before the start are not replayed, because some may be unreadable. */
  async function loadReadable(signal: AbortSignal): Promise<void> {
    const maySeal = (key: string): boolean => !indispensable.some((each) => key.startsWith(each));
    await load(store, target, { prefix, revision: undefined, signal, maySeal });
    if (sealed.size === 0) return;
    const missing = describeSealed(sealed.keys(), prefix);
    log.warn({ missing, err: firstFailure }, 'Stored values cannot be decrypted; serving without them');
  }

  /** Returns when to try again; undefined if nothing is sealed. */
  async function unseal(signal: AbortSignal): Promise<number | undefined> {
    if (sealed.size === 0) return undefined;
    unsealWait ??= waits?.begin(UNSEAL_WAIT);
    const failure = await unsealAll(
      { store, sealed, unseal: (key, item) => target.unseal(key, item) },
      signal,
    );
    if (sealed.size === 0) {
      unsealWait?.end();
      log.info({}, 'All stored values are decrypted');
      return undefined;
    }
    const missing = describeSealed(sealed.keys(), prefix);
    unsealWait?.because(failure === undefined ? missing : `${missing}: ${describeError(failure)}`);
    return clock.now() + UNSEAL_MS;
  }

  function onEnd(error: StoreError): void {
    synced = false;
    firstFailure ??= error;
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
    if (isLate()) {
      following?.end();
      following?.watch.close();
      await loadReadable(signal);
    } else if (state === 'empty') await loadFirst({ store, target }, options, signal);
    else if (state === 'lost') await loadAgain(signal);
    state = 'loaded';
    if (following === undefined || following.isOver) {
      following = followStore({ store, target, prefix }, onEnd);
    }
    await catchUp(following);
    if (following.isOver || signal.aborted) return;
    synced = true;
    wasSynced = true;
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
        return await unseal(signal);
      } catch (thrown) {
        if (signal.aborted) return undefined;
        firstFailure ??= asError(thrown);
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
      unsealWait?.end();
    },
    requestProgress() {
      if (following?.isOver === false) following.watch.requestProgress();
    },
    get synced() {
      return synced;
    },
  };
}
