/** Cache of one resource: the newest revision of each object, in order, and its last changes. Changes arrive
 *  from `cache.ts`, one by one and in the store's order; lists, watches and followers are served from
 *  here. */
import type { Timer } from '#api/kit/clock.ts';
import { callListener, createListeners } from '#api/kit/listeners.ts';
import type { ApiObject, StorageInfo } from '../resources/contract.ts';
import {
  type CacheChange,
  type CachedObject,
  CacheError,
  type ListOptions,
  type ListPage,
  type ResourceCache,
  type WatchHandle,
  type WatchOptions,
} from './contract.ts';
import { sealedValues } from './list/list-errors.ts';
import { pageOf } from './list/page.ts';
import { type ObjectContext, RestampedObject, StoredObject } from './state/cached-object.ts';
import { createHistory, type HeldBytes, type History } from './state/history.ts';
import { createOrdered, type Ordered } from './state/ordered.ts';
import { compileSelection } from './state/selection.ts';
import { createSnapshots, newestView, type Slot } from './state/snapshot.ts';
import { createFanOut, type FanOut } from './watch/fan-out.ts';

export interface ResourceCacheDeps {
  /** The newest applied revision, of any resource. */
  readonly revision: () => number;
  /** Whether an initial state has been loaded. */
  readonly loaded: () => boolean;
  /** Schedules `flush` for a later turn of the event loop. */
  readonly schedule: (fanOut: FanOut) => void;
  readonly setTimer: (fire: () => void, delayMs: number) => Timer;
  readonly random: () => number;
  /** Called when a sink threw. */
  readonly onError: (error: unknown) => void;
  /** Shared by the histories of all resources. */
  readonly held: HeldBytes;
  /** Number of stored values below a prefix that cannot be decrypted yet. */
  readonly sealed: (prefix: string) => number;
  /** Reads a page of a state that history no longer reaches. @throws CacheError */
  readonly listPast: (options: ListOptions, revision: number) => Promise<ListPage>;
}

export interface ResourceCacheOptions {
  readonly storage: StorageInfo;
  readonly context: ObjectContext;
  readonly maxChanges: number;
}

/** A resource's cache with its inputs. */
export interface FedResourceCache extends ResourceCache {
  readonly history: History;
  readonly context: ObjectContext;
  /** `made`: the object that the bytes were encoded from, if known. */
  put(key: string, revision: number, json: Buffer, made?: ApiObject): void;
  remove(key: string, revision: number): void;
  /** Puts or removes without history and watchers: the state is being replaced. */
  replace(key: string, revision: number, json: Buffer | undefined): void;
  all(): Iterable<CachedObject>;
  /** Never throws: undefined also for values that cannot be decrypted yet. */
  peek(key: string): CachedObject | undefined;
  /** Drops history and everything derived from it. */
  trim(drop: (history: History) => void): void;
  endWatchers(reason: 'expired' | 'unavailable'): void;
}

function* eachOf(slots: Iterable<Slot>): Iterable<CachedObject> {
  for (const slot of slots) yield slot.current;
}

/** Followers, notified synchronously of every change. */
interface Followers {
  notify(change: CacheChange): void;
  add(listener: (change: CacheChange) => void, state: Iterable<CachedObject>): WatchHandle;
}

function createFollowers(resource: string): Followers {
  const listeners = createListeners<[change: CacheChange]>(resource);
  return {
    notify: (change) => listeners.notify(change),
    add(listener, state) {
      // A new function per follower, so that one listener may follow twice.
      const own = (change: CacheChange): void => listener(change);
      for (const current of state) callListener(resource, own, { type: 'ADDED', current });
      return { close: listeners.add(own) };
    },
  };
}

/** Initial events of a watch of the state. */
function stateOf({ slots, byKey }: Objects, revision: number, watch: WatchOptions): readonly CachedObject[] {
  const { name, namespace = '' } = watch;
  if (name === undefined) return pageOf(newestView(slots), revision, watch).items;
  const object = byKey.get(namespace === '' ? name : `${namespace}/${name}`)?.current;
  const matches = compileSelection(watch);
  return object === undefined || matches?.(object) === false ? [] : [object];
}

/** @throws CacheError */
function assertStart({ start }: WatchOptions, floor: number, newest: number): void {
  if (start.kind !== 'revision' || start.revision >= floor) return;
  throw new CacheError('expired', `too old resource version: ${start.revision} (${floor})`, newest);
}

/** @throws CacheError */
function assertLoaded({ loaded, revision }: ResourceCacheDeps): void {
  if (!loaded()) throw new CacheError('unavailable', 'the store has not been read yet', revision());
}

/** @throws StatusError ServiceUnavailable */
function assertDecrypted({ sealed }: ResourceCacheDeps, { prefix }: StorageInfo): void {
  const count = sealed(prefix);
  if (count > 0) throw sealedValues(count, prefix);
}

export function createResourceCache(
  deps: ResourceCacheDeps,
  { storage, context, maxChanges }: ResourceCacheOptions,
): FedResourceCache {
  const { revision: newest, listPast } = deps;
  const objects = createObjects();
  const { slots, byKey } = objects;
  const history = createHistory(newest(), maxChanges, deps.held);
  const snapshots = createSnapshots({ slots, holds: (key) => byKey.has(key), history });
  const followers = createFollowers(storage.prefix);
  const fanOut: FanOut = createFanOut({
    ...deps,
    source: { history, revision: newest, state: (watch) => stateOf(objects, newest(), watch) },
    schedule: () => deps.schedule(fanOut),
  });

  function apply(key: string, current: StoredObject | undefined, revision: number, isNew: boolean): void {
    const previous = byKey.get(key)?.current;
    const change = objects.set(key, current, revision);
    if (change === undefined) return;
    if (isNew) {
      history.append(change);
      fanOut.offer(change);
    }
    followers.notify(change);
    // Readers of the past need its bytes.
    previous?.drop();
  }

  const assertReadable = (): void => assertDecrypted(deps, storage);

  return {
    storage,
    history,
    context,
    get revision() {
      return newest();
    },
    get size() {
      return byKey.size;
    },
    get(key) {
      const found = byKey.get(key)?.current;
      if (found === undefined) assertReadable();
      return found;
    },
    list(request) {
      assertLoaded(deps);
      assertReadable();
      const { revision = newest() } = request;
      if (revision > newest()) {
        throw new CacheError('future', `revision ${revision} has not been reached yet`, newest());
      }
      // A revision below the retained history may still equal the current state, but tokens must expire alike for every
      // resource.
      if (revision < Math.max(history.floor, history.aged)) return listPast(request, revision);
      return pageOf(snapshots.view(revision), revision, request);
    },
    watch(options, encoder, sink) {
      assertLoaded(deps);
      assertReadable();
      assertStart(options, history.floor, newest());
      return fanOut.watch(options, encoder, sink);
    },
    follow: (listener) => followers.add(listener, eachOf(byKey.values())),
    put(key, revision, json, made) {
      const object = new StoredObject(key, revision, json, context, made);
      apply(key, object, revision, true);
      if (made !== undefined) object.drop();
    },
    remove: (key, revision) => apply(key, undefined, revision, true),
    replace(key, revision, json) {
      const current = json === undefined ? undefined : new StoredObject(key, revision, json, context);
      apply(key, current, revision, false);
    },
    all: () => eachOf(byKey.values()),
    peek: (key) => byKey.get(key)?.current,
    trim(drop) {
      drop(history);
      snapshots.dropBefore(history.floor);
    },
    endWatchers: (reason) => fanOut.endAll(reason),
  };
}

function changeOf(
  previous: CachedObject | undefined,
  current: CachedObject | undefined,
  revision: number,
): CacheChange | undefined {
  if (current !== undefined) {
    return previous === undefined ? { type: 'ADDED', current } : { type: 'MODIFIED', current, previous };
  }
  if (previous === undefined) return undefined;
  return { type: 'DELETED', current: new RestampedObject(previous, revision), previous };
}

/** Newest revision of each object, by key and in order. */
interface Objects {
  readonly slots: Ordered<Slot>;
  readonly byKey: ReadonlyMap<string, Slot>;
  /** Sets or removes; returns the change, if it is one. */
  set(key: string, current: StoredObject | undefined, revision: number): CacheChange | undefined;
}

function createObjects(): Objects {
  const slots = createOrdered<Slot>();
  const byKey = new Map<string, Slot>();
  return {
    slots,
    byKey,
    set(key, current, revision) {
      const slot = byKey.get(key);
      const change = changeOf(slot?.current, current, revision);
      if (current === undefined) {
        if (byKey.delete(key)) slots.remove(key);
      } else if (slot === undefined) {
        const added = { key, current };
        byKey.set(key, added);
        slots.add(added);
      } else slot.current = current;
      return change;
    },
  };
}
