/** ConfigMaps and Secrets referenced by API pods, each read individually: a node may not list them. Only
 *  referenced objects are cached. Three strategies for detecting changes, as in upstream 1.24:
 *
 *      Watch  watches each object, except immutable ones
 *      Cache  reads an object again if the cached one is older than a minute
 *      Get    reads it each time */

import type { Clock } from '#api/kit/clock.ts';
import { createListeners } from '#api/kit/listeners.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { ApiClient, Json } from '../api-client/client.ts';
import { ApiRequestError } from '../api-client/errors.ts';
import { addressOfObject } from './object-address.ts';
import { formatObjectKey, type ObjectKey } from './references.ts';
import { createLedTo } from './volume-references.ts';
import { createWatchedObject, type WatchedObject } from './watched-object.ts';

export type DetectionStrategy = 'Watch' | 'Cache' | 'Get';

/** Persisted objects, for use while the server is unavailable. */
export interface SavedObjects {
  load(key: ObjectKey): Promise<Json | undefined>;
  /** Persists the newest state; undefined when the object was deleted or is no longer referenced. Never
   *  throws. */
  save(key: ObjectKey, object: Json | undefined): void;
  /** Removes all others, except volumes of these claims, and objects referenced by those. Never throws. */
  retainOnly(keys: readonly ObjectKey[]): void;
}

export interface ServerObjectsDeps {
  readonly client: Pick<ApiClient, 'get' | 'list' | 'watch'>;
  /** Calls the listener when the server is available again. Returns a function that ends the subscription. */
  readonly onReturn?: (listener: () => void) => () => void;
  readonly saved: SavedObjects;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface ServerObjects {
  /** Sets the referenced objects. Others are dropped; new ones are read again. */
  name(keys: readonly ObjectKey[]): void;
  /** Returns the object; undefined if it does not exist. While the server is unavailable, the persisted one.
   *  @throws ApiRequestError; ServerUnreachableError if none was persisted */
  get(key: ObjectKey): Promise<Json | undefined>;
  /** Calls the listener with changes, as far as the strategy detects them.
   *  @returns a function that ends the subscription */
  onChange(listener: (changed: readonly ObjectKey[]) => void): () => void;
  /** Aborts all requests in flight. */
  stop(): void;
}

const CACHE_MS = 60_000;

interface Named {
  readonly key: ObjectKey;
  readonly watched: WatchedObject | undefined;
  cached: { readonly object: Json | undefined; readonly atMs: number } | undefined;
}

export function createServerObjects(
  deps: ServerObjectsDeps,
  { strategy }: { readonly strategy: DetectionStrategy },
): ServerObjects {
  const { client, saved, clock } = deps;
  const named = new Map<string, Named>();
  const ledTo = createLedTo();
  const listeners = createListeners<[changed: readonly ObjectKey[]]>('objects of the API server');
  const stop = new AbortController();

  function notify(key: ObjectKey): void {
    listeners.notify([key]);
  }

  function begin(key: ObjectKey): Named {
    // Claims are read when they are used, which is rare.
    const isFollowed = key.kind === 'ConfigMap' || key.kind === 'Secret';
    if (strategy !== 'Watch' || !isFollowed) return { key, watched: undefined, cached: undefined };
    const changed = (object: Json | undefined): void => {
      saved.save(key, object);
      notify(key);
    };
    return { key, watched: createWatchedObject(deps, key, changed), cached: undefined };
  }

  /** Returns the response of the server, or the persisted object if it is unavailable. */
  async function read(key: ObjectKey): Promise<Json | undefined> {
    try {
      const object = await client.get(addressOfObject(key), stop.signal);
      ledTo.note(key, object);
      // Volumes are read only through a claim of a pod on this node.
      const isReferenced =
        key.kind === 'PersistentVolume' || named.has(formatObjectKey(key)) || ledTo.has(key);
      if (isReferenced) saved.save(key, object);
      return object;
    } catch (thrown) {
      if (thrown instanceof ApiRequestError && thrown.status === 404) return undefined;
      if (thrown instanceof ApiRequestError && !thrown.retryable) throw thrown;
      const object = await saved.load(key);
      if (object === undefined) throw thrown;
      ledTo.note(key, object);
      return object;
    }
  }

  async function readCached(entry: Named): Promise<Json | undefined> {
    const { cached } = entry;
    const ageMs = cached === undefined ? Number.POSITIVE_INFINITY : clock.monotonic() - cached.atMs;
    if (cached !== undefined && ageMs < CACHE_MS) return cached.object;
    const object = await read(entry.key);
    entry.cached = { object, atMs: clock.monotonic() };
    return object;
  }

  return {
    name(keys) {
      const wanted = new Map(keys.map((key) => [formatObjectKey(key), key]));
      for (const [text, entry] of named) {
        if (wanted.has(text)) continue;
        entry.watched?.stop();
        named.delete(text);
        ledTo.forget(entry.key);
        if (!ledTo.has(entry.key)) saved.save(entry.key, undefined);
      }
      for (const [text, key] of wanted) if (!named.has(text)) named.set(text, begin(key));
    },
    async get(key) {
      const entry = named.get(formatObjectKey(key));
      if (entry?.watched !== undefined) {
        const known = await entry.watched.current();
        return known.kind === 'known' ? known.object : await read(key);
      }
      return entry === undefined || strategy !== 'Cache' ? await read(key) : await readCached(entry);
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    stop() {
      stop.abort(new Error('agent is stopping'));
      for (const { watched } of named.values()) watched?.stop();
    },
  };
}
