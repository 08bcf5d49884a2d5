/** ConfigMaps and Secrets that pods of the API server name, each read from there by itself: a node may read no others.
 *  Only what some pod names is kept. Three ways to notice changes, as upstream 1.24's detection strategies:
 *
 *      Watch  follows each object, but those that say they never change
 *      Cache  reads an object again when what is known of it is older than a minute
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

/** Objects on disk, for the time when the server is away. */
export interface SavedObjects {
  load(key: ObjectKey): Promise<Json | undefined>;
  /** Takes note of the newest state; undefined when there is no such object, or nobody names it. Never throws. */
  save(key: ObjectKey, object: Json | undefined): void;
  /** Removes all others, but for the volumes of claims among these, and what those name. Never throws. */
  keepOnly(keys: readonly ObjectKey[]): void;
}

export interface ServerObjectsDeps {
  readonly client: Pick<ApiClient, 'get' | 'list' | 'watch'>;
  /** Calls the listener when the server answers again. Returns the function that ends this. */
  readonly onReturn?: (listener: () => void) => () => void;
  readonly saved: SavedObjects;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface ServerObjects {
  /** The objects that are named now. What is named no more is forgotten; what is named anew is read afresh. */
  name(keys: readonly ObjectKey[]): void;
  /** The object; undefined if there is none. What was saved counts while the server is away.
   *  @throws ApiRequestError; ServerUnreachableError where nothing was saved */
  get(key: ObjectKey): Promise<Json | undefined>;
  /** Calls the listener with what changed, as far as the strategy notices.
   *  @returns a function that ends the subscription */
  onChange(listener: (changed: readonly ObjectKey[]) => void): () => void;
  /** Ends everything under way. */
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

  function tell(key: ObjectKey): void {
    listeners.notify([key]);
  }

  function begin(key: ObjectKey): Named {
    // Claims are read when they are used, and hardly ever then.
    const isFollowed = key.kind === 'ConfigMap' || key.kind === 'Secret';
    if (strategy !== 'Watch' || !isFollowed) return { key, watched: undefined, cached: undefined };
    const changed = (object: Json | undefined): void => {
      saved.save(key, object);
      tell(key);
    };
    return { key, watched: createWatchedObject(deps, key, changed), cached: undefined };
  }

  /** The server's answer, or what was saved where it gives none. */
  async function read(key: ObjectKey): Promise<Json | undefined> {
    try {
      const object = await client.get(addressOfObject(key), stop.signal);
      ledTo.note(key, object);
      // Nobody reads a volume but through a claim of a pod that is here.
      const isKept = key.kind === 'PersistentVolume' || named.has(formatObjectKey(key)) || ledTo.has(key);
      if (isKept) saved.save(key, object);
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
