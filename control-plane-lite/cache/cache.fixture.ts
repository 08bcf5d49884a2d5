/** Test support for the cache and its users: objects, a human-readable encoder, sinks that collect, and a
 *  cache on an in-memory store. */
import { createFakeClock, type FakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { type CacheOptions, createCache } from '#plane/cache/cache.ts';
import type { ByteSink, Cache, EventEncoder, ResourceCache, WatchOptions } from '#plane/cache/contract.ts';
import { toStored } from '#plane/cache/state/stored-form.ts';
import type { ApiObject, StorageInfo } from '#plane/resources/contract.ts';
import { createMemoryStore, type MemoryStore } from '../store/memory-store.fixture.ts';

export const PODS: StorageInfo = {
  prefix: '/registry/pods/',
  apiVersion: 'v1',
  kind: 'Pod',
  namespaced: true,
};

export const NODES: StorageInfo = {
  prefix: '/registry/nodes/',
  apiVersion: 'v1',
  kind: 'Node',
  namespaced: false,
};

export interface PodTraits {
  readonly labels?: Readonly<Record<string, string>>;
  readonly node?: string;
  readonly uid?: string;
}

/** Returns a pod by its key, `namespace/name`. */
export function podOf(key: string, traits: PodTraits = {}): ApiObject {
  const [namespace = '', name = ''] = key.split('/');
  const { labels, node = '', uid = `uid-of-${name}` } = traits;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, uid, ...(labels === undefined ? {} : { labels }) },
    spec: { nodeName: node },
  };
}

/** `spec.nodeName` of a pod created by `podOf`. */
export function nodeNameOf(object: ApiObject): string {
  const { spec } = object;
  return typeof spec === 'object' && spec !== null && 'nodeName' in spec ? String(spec.nodeName) : '';
}

/** Formats one event per line: `ADDED default/web 7`. */
export const lineEncoder: EventEncoder = {
  id: 'lines',
  encode: (type, { key, json }) => Buffer.from(`${type} ${key} ${revisionIn(json)}\n`),
  bookmark: (revision, end) => Buffer.from(`BOOKMARK ${revision}${end ? ' end' : ''}\n`),
};

/** Returns the events that the bytes describe. */
function revisionIn(json: Buffer): string {
  return /"uid":"[^"]*","resourceVersion":"(\d+)"/.exec(json.toString())?.[1] ?? 'none';
}

export interface CollectingSink extends ByteSink {
  /** Lines written, of all writes together. */
  readonly lines: string[];
  readonly writes: number;
  readonly ended: string | undefined;
}

export function createCollectingSink(drained?: () => Promise<void> | undefined): CollectingSink {
  const lines: string[] = [];
  let writes = 0;
  let ended: string | undefined;
  return {
    lines,
    get writes() {
      return writes;
    },
    get ended() {
      return ended;
    },
    write(bytes) {
      writes += 1;
      lines.push(...bytes.toString().trimEnd().split('\n'));
    },
    end(reason) {
      ended = reason;
    },
    ...(drained === undefined ? {} : { drained }),
  };
}

export const EVERYTHING = { labels: [], fields: [] } as const;

export function fromState(change: Partial<WatchOptions> = {}): WatchOptions {
  return { ...EVERYTHING, start: { kind: 'state' }, bookmarks: false, markInitialEnd: false, ...change };
}

export function fromRevision(revision: number, change: Partial<WatchOptions> = {}): WatchOptions {
  return fromState({ start: { kind: 'revision', revision }, ...change });
}

/** Runs the current and the following turns of the event loop. */
export async function settle(turns = 4): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

export interface CacheFixture extends AsyncDisposable {
  readonly store: MemoryStore;
  readonly clock: FakeClock;
  readonly cache: Cache;
  readonly pods: ResourceCache;
  /** Writes unconditionally; returns the revision. */
  put(key: string, traits?: PodTraits): Promise<number>;
  remove(key: string): Promise<number>;
  start(): Promise<void>;
}

async function write(store: MemoryStore, key: string, value: Buffer | undefined): Promise<number> {
  const found = await store.get(key);
  const expected = found?.revision ?? 'absent';
  const result =
    value !== undefined
      ? await store.put(key, value, expected)
      : await store.delete(key, expected === 'absent' ? 0 : expected);
  if (!result.ok) throw new Error(`${key} was written by another`);
  return result.revision;
}

/** Creates a cache of pods with `spec.nodeName` as selectable field; not started yet. It writes to watchers
 *  in every turn. */
export function createCacheFixture(options: CacheOptions = {}): CacheFixture {
  const store = createMemoryStore();
  const clock = createFakeClock();
  const cache = createCache(
    { store, clock, log: silentLogger, random: () => 0.5 },
    { flushMs: 0, ...options },
  );
  const pods = cache.resource(PODS, { 'spec.nodeName': nodeNameOf });
  const stop = new AbortController();
  return {
    store,
    clock,
    cache,
    pods,
    put: (key, traits) => write(store, PODS.prefix + key, toStored(podOf(key, traits))),
    remove: (key) => write(store, PODS.prefix + key, undefined),
    start: () => cache.start(stop.signal),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await settle();
    },
  };
}
