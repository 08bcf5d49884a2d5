/** Watch cache: all resources of one store in memory, fed by one watch. Its parts: `feed.ts` follows the
 *  store, `apply.ts` applies states and events to the caches of `router.ts`, `resource-cache.ts` serves one
 *  resource, `fan-out.ts` its watchers. */
import { createBackoff } from '#api/kit/backoff.ts';
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Waits } from '#api/kit/waits.ts';
import type { ApiObject, StorageInfo } from '../resources/contract.ts';
import { type Store, StoreError } from '../store/contract.ts';
import { type Applier, createApplier, createWaiters, type Waiters } from './apply.ts';
import { type Cache, CacheError, type SelectableFields } from './contract.ts';
import { coalesce } from './follow/coalesce.ts';
import { createFeed, type Feed } from './follow/feed.ts';
import { listPast } from './list/past-list.ts';
import { createResourceCache, type FedResourceCache } from './resource-cache.ts';
import { createRouter, type Router } from './router.ts';
import type { ObjectContext } from './state/cached-object.ts';
import { createRetention, type HeldBytes, type Retention } from './state/history.ts';
import { createLruBudget } from './state/lru-budget.ts';
import { createSealed, type Sealed } from './state/sealed.ts';
import { createPendingWrites } from './state/stored-form.ts';
import { createFlusher } from './watch/fan-out.ts';

export interface CacheDeps {
  readonly store: Pick<Store, 'revisionStep' | 'currentRevision' | 'get' | 'range' | 'watch'>;
  /** The same store, as the feed calls it: `waits` shows that it cannot be followed, so its single calls are not shown.
   *  Default: `store`. */
  readonly followedStore?: CacheDeps['store'];
  readonly clock: Clock;
  readonly log: Logger;
  /** Displays that the store cannot be followed. */
  readonly waits?: Pick<Waits, 'begin'> | undefined;
  /** For display. */
  readonly storeName?: string;
  /** 0 to 1; default `Math.random`. */
  readonly random?: () => number;
  /** Runs a task in a later turn of the event loop; default `setImmediate`. */
  readonly defer?: (task: () => void) => void;
}

export interface CacheOptions {
  /** Common prefix of all keys; default `/registry/`. */
  readonly prefix?: string;
  /** Maximum age of retained changes, in ms; default 5 minutes. */
  readonly historyMs?: number;
  /** Memory for overwritten and deleted objects of all resources, in bytes; default 32 MiB. */
  readonly historyBytes?: number;
  /** Maximum number of retained changes per resource; default 100,000. */
  readonly historyChanges?: number;
  /** Approximate memory for parsed objects, in bytes; default 8 MiB. */
  readonly parsedBytes?: number;
  /** Memory for encodings of objects other than JSON, in bytes; default 16 MiB. */
  readonly formBytes?: number;
  /** Number of writes before the newest that are replayed at start as changes, so that watches from before a
   *  restart can resume; default 1,000. */
  readonly replayWrites?: number;
  /** Minimum time between two rounds of writes to watchers, in ms; default 10 ms. */
  readonly flushMs?: number;
  /** Prefixes of resources without which nothing is served: the others are served even if some of their values cannot
   *  be decrypted yet. Default: none. */
  readonly indispensable?: readonly string[];
}

const MIB = 1024 * 1024;
const DEFAULTS = {
  prefix: '/registry/',
  historyMs: 300_000,
  historyBytes: 32 * MIB,
  historyChanges: 100_000,
  parsedBytes: 8 * MIB,
  formBytes: 16 * MIB,
  replayWrites: 1000,
  flushMs: 10,
  indispensable: [],
};

/** Longest wait for the store's newest revision, in ms. */
const NEWEST_MS = 10_000;
const UNREADABLE = 'Failed to decode stored object';
const BACKOFF = { initialMs: 50, maxMs: 5000, jitter: 0.2 };

function isEmpty(selectable: SelectableFields | undefined): boolean {
  return selectable === undefined || Object.keys(selectable).length === 0;
}

type Settings = Required<CacheOptions>;
type Optional = 'waits' | 'storeName';

/** Creates the target of the store's changes. */
interface Intake {
  readonly router: Router;
  readonly applier: Applier;
  readonly waiters: Waiters;
  readonly retention: Retention;
  readonly held: HeldBytes;
  readonly sealed: Sealed;
}

function createIntake(
  { clock, log }: CacheDeps,
  settings: Settings,
  made: (key: string, stored: Buffer) => ApiObject | undefined,
): Intake {
  const onError = (error: unknown, key: string): void => log.error({ err: error, key }, UNREADABLE);
  const router = createRouter({ onError, revision: () => applier.revision });
  const held: HeldBytes = { total: 0 };
  const retention = createRetention(
    { clock, holders: () => router.resources.values(), held },
    { maxAgeMs: settings.historyMs, maxBytes: settings.historyBytes },
  );
  const setTimer = clock.setTimer.bind(clock);
  const waiters = createWaiters({ newest: () => applier.revision, setTimer });
  const onRevision = (revision: number): void => {
    retention.note(revision);
    waiters.reached(revision);
  };
  const sealed = createSealed();
  const applier: Applier = createApplier({ router, log, made, sealed, onRevision });
  return { router, applier, waiters, retention, held, sealed };
}

/** Creates the cache of one resource. */
function createFactory(
  deps: Required<Omit<CacheDeps, Optional>> & Pick<CacheDeps, Optional>,
  settings: Settings,
  { applier, held, sealed }: Pick<Intake, 'applier' | 'held' | 'sealed'>,
): (storage: StorageInfo, selectable: SelectableFields | undefined) => FedResourceCache {
  const { store, clock, log, random, defer } = deps;
  const parsed = createLruBudget(settings.parsedBytes);
  const forms = createLruBudget(settings.formBytes);
  const revision = (): number => applier.revision;
  const shared = {
    held,
    revision,
    loaded: () => applier.loaded,
    sealed: (prefix: string) => (sealed.all.size === 0 ? 0 : sealed.below(prefix)),
    schedule: createFlusher(clock, settings.flushMs, defer),
    setTimer: clock.setTimer.bind(clock),
    random,
    onError: (error: unknown) => log.error({ err: asError(error) }, 'Cache watcher failed'),
  };
  return (storage, selectable) => {
    const context: ObjectContext = { selectable, parsed, forms };
    const place = { prefix: storage.prefix, context };
    const past = { range: store.range.bind(store), newest: revision };
    return createResourceCache(
      { ...shared, listPast: (request, requested) => listPast(past, place, request, requested) },
      { storage, context, maxChanges: settings.historyChanges },
    );
  };
}

/** Maps the store's failures to the cache's errors. */
function asUnavailable(error: unknown, revision: number): Error {
  if (error instanceof StoreError) return new CacheError('unavailable', error.message, revision);
  return asError(error);
}

export function createCache(deps: CacheDeps, options: CacheOptions = {}): Cache {
  const completed: Required<Omit<CacheDeps, Optional>> & Pick<CacheDeps, Optional> = {
    random: Math.random,
    defer: setImmediate,
    followedStore: deps.store,
    ...deps,
  };
  const { store, followedStore, random, defer } = completed;
  const settings = { ...DEFAULTS, ...options };
  const pendingWrites = createPendingWrites();
  const intake = createIntake(deps, settings, (key, stored) => pendingWrites.take(key, stored));
  const { router, applier, waiters, retention, sealed } = intake;
  const createResource = createFactory(completed, settings, intake);
  const firstSync = Promise.withResolvers<void>();
  const feed: Feed = createFeed(
    { ...completed, store: followedStore, backoff: createBackoff(BACKOFF, random) },
    settings,
    {
      begin: () => applier.begin(),
      onEvents: (events) => applier.apply(events),
      onProgress: (revision) => applier.progress(revision),
      revision: () => applier.revision,
      reached: (revision) => waiters.wait(revision, NEWEST_MS),
      onSynced: () => firstSync.resolve(),
      sealed,
      unseal: (key, item) => applier.unseal(key, item),
    },
  );
  const readNewest = coalesce(() => store.currentRevision(), defer);

  async function waitFor(revision: number, timeoutMs: number): Promise<void> {
    if (revision <= applier.revision) return;
    feed.requestProgress();
    await waiters.wait(revision, timeoutMs);
  }

  async function run(signal: AbortSignal): Promise<void> {
    await feed.run(signal);
    retention.stop();
    for (const resource of router.resources.values()) resource.endWatchers('unavailable');
    firstSync.reject(asError(signal.reason));
  }

  return {
    resource(storage, selectable) {
      const fields = isEmpty(selectable) ? undefined : selectable;
      const known = router.resources.get(storage.prefix);
      if (known !== undefined) {
        known.context.selectable ??= fields;
        return known;
      }
      const created = createResource(storage, fields);
      router.claim(created);
      return created;
    },
    offer: (key, stored, object) => pendingWrites.add(key, stored, object),
    forget: (storage) => router.release(storage.prefix)?.endWatchers('unavailable'),
    get revision() {
      return applier.revision;
    },
    waitFor,
    async waitForNewest() {
      const newest = await readNewest().catch((error: unknown) => {
        throw asUnavailable(error, applier.revision);
      });
      await waitFor(newest, NEWEST_MS);
    },
    async start(signal) {
      run(signal).catch((error: unknown) => firstSync.reject(asError(error)));
      await firstSync.promise;
    },
    get synced() {
      return feed.synced;
    },
    readable: (prefixes, signal) => sealed.readable(prefixes, signal),
  };
}
