/** All resources of one store in memory, fed by one watch. The parts: `feed.ts` follows the store, `apply.ts` puts
 *  what comes into the caches of `tree.ts`, `resource-cache.ts` serves one resource, `fan-out.ts` its watchers. */
import { createBackoff } from '#api/kit/backoff.ts';
import { asError, type Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Waits } from '#api/kit/waits.ts';
import type { ApiObject, StorageInfo } from '../resources/contract.ts';
import { type Store, StoreError } from '../store/contract.ts';
import { type Applier, createApplier } from './apply.ts';
import type { ObjectContext } from './cached-object.ts';
import { type Cache, CacheError, type SelectableFields } from './contract.ts';
import { createFeed, type Feed } from './feed.ts';
import { createFlusher } from './flusher.ts';
import type { HeldBytes } from './history.ts';
import { createKeeper } from './keeper.ts';
import { shareQuestion } from './newest.ts';
import { createOffers } from './offers.ts';
import { listPast } from './past-list.ts';
import { createResourceCache, type FedResourceCache } from './resource-cache.ts';
import { createRetention, type Retention } from './retention.ts';
import { createTree, type Tree } from './tree.ts';
import { createWaiters, type Waiters } from './waiters.ts';

export interface CacheDeps {
  readonly store: Pick<Store, 'revisionStep' | 'currentRevision' | 'range' | 'watch'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Shows that the store cannot be followed. */
  readonly waits?: Pick<Waits, 'begin'> | undefined;
  /** 0 to 1; default `Math.random`. */
  readonly random?: () => number;
  /** Runs a task in a later turn of the event loop; default `setImmediate`. */
  readonly defer?: (task: () => void) => void;
}

export interface CacheOptions {
  /** Common prefix of all keys; default `/registry/`. */
  readonly prefix?: string;
  /** Age up to which changes are kept; default 5 minutes. */
  readonly historyMs?: number;
  /** Memory for overwritten and deleted objects, of all resources together; default 32 MiB. */
  readonly historyBytes?: number;
  /** Changes kept per resource; default 100,000. */
  readonly historyChanges?: number;
  /** Memory for parsed objects, about; default 8 MiB. */
  readonly parsedBytes?: number;
  /** Memory for other forms of objects than JSON; default 16 MiB. */
  readonly formBytes?: number;
  /** Writes before the newest that are read again at start as changes, so that watches begun before a restart can
   *  go on; default 1,000. */
  readonly replayWrites?: number;
  /** Shortest time between two rounds of writes to watchers; default 10 ms. */
  readonly flushMs?: number;
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
};

/** Longest wait for the store's newest revision. */
const NEWEST_MS = 10_000;
const UNREADABLE = 'Stored bytes could not be read';
const BACKOFF = { initialMs: 50, maxMs: 5000, jitter: 0.2 };

function isEmpty(selectable: SelectableFields | undefined): boolean {
  return selectable === undefined || Object.keys(selectable).length === 0;
}

type Settings = Required<CacheOptions>;

/** What takes in the store's changes. */
interface Intake {
  readonly tree: Tree;
  readonly applier: Applier;
  readonly waiters: Waiters;
  readonly retention: Retention;
  readonly held: HeldBytes;
}

function createIntake(
  { clock, log }: CacheDeps,
  settings: Settings,
  made: (key: string, stored: Buffer) => ApiObject | undefined,
): Intake {
  const onError = (error: unknown, key: string): void => log.error({ err: error, key }, UNREADABLE);
  const tree = createTree({ onError, revision: () => applier.revision });
  const held: HeldBytes = { total: 0 };
  const retention = createRetention(
    { clock, holders: () => tree.resources.values(), held },
    { maxAgeMs: settings.historyMs, maxBytes: settings.historyBytes },
  );
  const setTimer = clock.setTimer.bind(clock);
  const waiters = createWaiters({ newest: () => applier.revision, setTimer });
  const onRevision = (revision: number): void => {
    retention.note(revision);
    waiters.reached(revision);
  };
  const applier: Applier = createApplier({ tree, log, made, onRevision });
  return { tree, applier, waiters, retention, held };
}

/** Makes the cache of one resource. */
function createFactory(
  deps: Required<Omit<CacheDeps, 'waits'>> & Pick<CacheDeps, 'waits'>,
  settings: Settings,
  { applier, held }: Pick<Intake, 'applier' | 'held'>,
): (storage: StorageInfo, selectable: SelectableFields | undefined) => FedResourceCache {
  const { store, clock, log, random, defer } = deps;
  const parsed = createKeeper(settings.parsedBytes);
  const forms = createKeeper(settings.formBytes);
  const revision = (): number => applier.revision;
  const shared = {
    held,
    revision,
    loaded: () => applier.loaded,
    schedule: createFlusher(clock, settings.flushMs, defer),
    setTimer: clock.setTimer.bind(clock),
    random,
    onError: (error: unknown) => log.error({ err: asError(error) }, 'Watcher of the cache failed'),
  };
  return (storage, selectable) => {
    const context: ObjectContext = { selectable, parsed, forms };
    const place = { prefix: storage.prefix, context };
    const past = { range: store.range.bind(store), newest: revision };
    return createResourceCache(
      { ...shared, listPast: (request, asked) => listPast(past, place, request, asked) },
      { storage, context, maxChanges: settings.historyChanges },
    );
  };
}

/** The store's failures as the cache's own. */
function asUnavailable(error: unknown, revision: number): Error {
  if (error instanceof StoreError) return new CacheError('unavailable', error.message, revision);
  return asError(error);
}

export function createCache(deps: CacheDeps, options: CacheOptions = {}): Cache {
  const completed: Required<Omit<CacheDeps, 'waits'>> & Pick<CacheDeps, 'waits'> = {
    random: Math.random,
    defer: setImmediate,
    ...deps,
  };
  const { store, clock, log, random, defer } = completed;
  const settings = { ...DEFAULTS, ...options };
  const offers = createOffers();
  const intake = createIntake(deps, settings, (key, stored) => offers.take(key, stored));
  const { tree, applier, waiters, retention } = intake;
  const createResource = createFactory(completed, settings, intake);
  const firstSync = Promise.withResolvers<void>();
  const feed: Feed = createFeed(
    { store, clock, log, waits: deps.waits, backoff: createBackoff(BACKOFF, random) },
    settings,
    {
      begin: () => applier.begin(),
      onEvents: (events) => applier.apply(events),
      onProgress: (revision) => applier.progress(revision),
      revision: () => applier.revision,
      reached: (revision) => waiters.wait(revision, NEWEST_MS),
      onSynced: () => firstSync.resolve(),
    },
  );
  const askNewest = shareQuestion(() => store.currentRevision(), defer);

  async function waitFor(revision: number, timeoutMs: number): Promise<void> {
    if (revision <= applier.revision) return;
    feed.requestProgress();
    await waiters.wait(revision, timeoutMs);
  }

  async function run(signal: AbortSignal): Promise<void> {
    await feed.run(signal);
    retention.stop();
    for (const resource of tree.resources.values()) resource.endWatchers('unavailable');
    firstSync.reject(asError(signal.reason));
  }

  return {
    resource(storage, selectable) {
      const fields = isEmpty(selectable) ? undefined : selectable;
      const known = tree.resources.get(storage.prefix);
      if (known !== undefined) {
        known.context.selectable ??= fields;
        return known;
      }
      const created = createResource(storage, fields);
      tree.claim(created);
      return created;
    },
    offer: (key, stored, object) => offers.add(key, stored, object),
    forget: (storage) => tree.release(storage.prefix)?.endWatchers('unavailable'),
    get revision() {
      return applier.revision;
    },
    waitFor,
    async waitForNewest() {
      const newest = await askNewest().catch((error: unknown) => {
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
  };
}
