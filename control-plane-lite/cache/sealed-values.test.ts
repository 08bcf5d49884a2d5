import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createWaits } from '#api/kit/waits.ts';
import { type Store, type StoredItem, StoreError } from '../store/contract.ts';
import { createMemoryStore, type MemoryStore } from '../store/memory-store.fixture.ts';
import { createCollectingSink, lineEncoder, NODES, PODS, podOf } from './cache.fixture.ts';
import { createCache } from './cache.ts';
import { toStored } from './state/stored-form.ts';

const ALL = { labels: [], fields: [] };

/** A store that cannot decrypt the values of some keys. */
function sealing(store: MemoryStore): { readonly store: Store; readonly sealed: Set<string> } {
  const sealed = new Set<string>();
  const errorOf = (key: string): StoreError => new StoreError('unavailable', `${key} cannot be decrypted`);
  const open = (item: StoredItem): StoredItem => {
    if (sealed.has(item.key)) throw errorOf(item.key);
    return item;
  };
  return {
    sealed,
    store: {
      ...store,
      async get(key) {
        const item = await store.get(key);
        return item === undefined ? undefined : open(item);
      },
      watch: (prefix, after, sink) =>
        store.watch(prefix, after, {
          onEvents(events) {
            const unreadable = events.find(({ type, key }) => type === 'put' && sealed.has(key));
            if (unreadable === undefined) sink.onEvents(events);
            else sink.onEnd(errorOf(unreadable.key));
          },
          onProgress: (revision) => sink.onProgress(revision),
          onEnd: (error) => sink.onEnd(error),
        }),
      async range(prefix, { sealed: wanted, ...options } = {}) {
        const result = await store.range(prefix, options);
        if (wanted === undefined) return { ...result, items: result.items.map(open) };
        return {
          ...result,
          items: result.items.filter(({ key }) => !sealed.has(key)),
          sealed: result.items
            .filter(({ key }) => sealed.has(key))
            .map(({ key }) => ({ key, error: errorOf(key) })),
        };
      },
    },
  };
}

async function setUp(sealedKeys: readonly string[], indispensable: readonly string[] = []) {
  const inner = createMemoryStore();
  const put = (key: string): Promise<unknown> =>
    inner.put(`/registry/${key}`, toStored(podOf(key.slice(key.indexOf('/') + 1))), 'absent');
  for (const key of ['nodes/n', 'pods/default/a', 'pods/default/b', 'secrets/default/s']) await put(key);
  const { store, sealed } = sealing(inner);
  for (const key of sealedKeys) sealed.add(`/registry/${key}`);
  const clock = createFakeClock();
  const waits = createWaits({ clock, log: silentLogger });
  const cache = createCache(
    { store, clock, log: silentLogger, waits, storeName: 'the store' },
    { indispensable },
  );
  const stop = new AbortController();
  const started = { done: false };
  async function start(): Promise<void> {
    await cache.start(stop.signal);
    started.done = true;
  }
  const starting = start().catch(() => undefined);
  /** Lets time pass in steps, so that whatever follows a timer happens at its time. */
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 500) {
      await clock.advance(500);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return {
    inner,
    cache,
    sealed,
    started,
    waits,
    pass,
    signal: stop.signal,
    pods: cache.resource(PODS),
    nodes: cache.resource(NODES),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await starting;
    },
  };
}

const unavailable = /1 stored values below \/registry\/pods\/ cannot be decrypted yet/;

describe('values that cannot be decrypted when the server starts', () => {
  test('prevent the start for a while only: the others are served then', async () => {
    await using world = await setUp(['pods/default/a']);
    await world.pass(14_000);
    expect(world.started.done).toBe(false);
    await world.pass(10_000);
    expect(world.started.done).toBe(true);
    expect(world.nodes.get('n')?.key).toBe('n');
    expect(world.pods.get('default/b')?.key).toBe('default/b');
    // A wait is listed after some seconds; the one before it took a random time.
    await world.pass(30_000);
    expect(world.waits.lasting().map(({ what, why }) => `${what}: ${why}`)).toEqual([
      'stored values to be decrypted: 1 of pods: /registry/pods/default/a cannot be decrypted',
    ]);
  });

  test('are never taken for absent', async () => {
    await using world = await setUp(['pods/default/a']);
    await world.pass(30_000);
    const { pods } = world;
    for (const key of ['default/a', 'default/new']) expect(() => pods.get(key)).toThrow(unavailable);
    expect(() => pods.list(ALL)).toThrow(unavailable);
    const watch = { ...ALL, start: { kind: 'state' }, bookmarks: false, markInitialEnd: false } as const;
    expect(() => pods.watch(watch, lineEncoder, createCollectingSink())).toThrow(unavailable);
    expect(world.nodes.get('other')).toBeUndefined();
  });

  test('are served once they can be decrypted, to those who wait for them as well', async () => {
    await using world = await setUp(['pods/default/a', 'secrets/default/s']);
    await world.pass(30_000);
    const followed: string[] = [];
    world.pods.follow(({ type, current }) => followed.push(`${type} ${current.key}`));
    const order: string[] = [];
    void world.cache.readable(new Set([PODS.prefix]), world.signal)?.then(() => order.push('pods'));
    void world.cache.readable('every', world.signal)?.then(() => order.push('every'));
    world.sealed.delete('/registry/pods/default/a');
    await world.pass(20_000);
    expect(order).toEqual(['pods']);
    expect(followed).toEqual(['ADDED default/b', 'ADDED default/a']);
    expect((await world.pods.list(ALL)).items.map(({ key }) => key)).toEqual(['default/a', 'default/b']);
    world.sealed.clear();
    await world.pass(20_000);
    expect(order).toEqual(['pods', 'every']);
    expect(world.cache.readable('every', world.signal)).toBeUndefined();
    expect(world.waits.lasting()).toEqual([]);
  });

  test('are known as soon as they are written again or deleted', async () => {
    await using world = await setUp(['pods/default/a', 'pods/default/b']);
    await world.pass(30_000);
    const revisionOf = async (key: string): Promise<number> => (await world.inner.get(key))?.revision ?? 0;
    const [a, b] = ['/registry/pods/default/a', '/registry/pods/default/b'];
    world.sealed.delete(a);
    await world.inner.put(a, toStored(podOf('default/a')), await revisionOf(a));
    await world.inner.delete(b, await revisionOf(b));
    await world.pass(500);
    expect((await world.pods.list(ALL)).items.map(({ key }) => key)).toEqual(['default/a']);
    expect(world.pods.get('default/b')).toBeUndefined();
  });

  test('prevent the start as long as they protect others', async () => {
    await using world = await setUp(['nodes/n'], [NODES.prefix]);
    await world.pass(60_000);
    expect(world.started.done).toBe(false);
    world.sealed.clear();
    await world.pass(10_000);
    expect(world.started.done).toBe(true);
    expect(world.nodes.get('n')?.key).toBe('n');
  });
});
