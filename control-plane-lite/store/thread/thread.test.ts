/** Proxy and server together, with a store of the test's own and messages that are copied as between
 *  threads. */
import { Buffer } from 'node:buffer';
import { describe, expect, test } from 'vitest';
import {
  type RangeResult,
  type StoredItem,
  StoreError,
  type StoreEvent,
  type StoreWatch,
  type WatchSink,
  type WriteResult,
} from '../contract.ts';
import type { ToThread, Turn } from './protocol.ts';
import { createStoreProxy, type ProxiedStore, type StoreProxy } from './proxy.ts';
import { type ServableStore, type ServedSink, serveStore } from './serve.ts';

type Fake = { -readonly [K in keyof ServableStore]: ServableStore[K] };

interface Setup {
  /** The thread's store; a test replaces the relevant methods. */
  readonly fake: Fake;
  readonly proxy: StoreProxy;
  readonly toThread: ToThread[];
  readonly toMain: Turn[];
  /** Sinks of the watches that are open in the thread. */
  readonly sinks: ServedSink[];
  readonly sinkErrors: unknown[];
  readonly held: boolean[];
  readonly ended: () => boolean;
  /** Delivers messages until none is left. */
  readonly settle: () => Promise<void>;
  /** Holds back messages to this side from now on. */
  readonly stall: (isStalled: boolean) => void;
}

const item = (key: string, text: string, revision: number): StoredItem => ({
  key,
  value: Buffer.from(text),
  revision,
});
const put = (key: string, revision: number, value = Buffer.from('x')): StoreEvent => ({
  type: 'put',
  key,
  value,
  revision,
});
const refuse = (): Promise<never> => Promise.reject(new Error('not expected'));

function setUp(kind: Partial<ProxiedStore> = {}): Setup {
  const sinks: ServedSink[] = [];
  const held: boolean[] = [];
  const fake: Fake = {
    isShared: true,
    revisionStep: 3,
    ...kind,
    currentRevision: refuse,
    get: refuse,
    range: refuse,
    put: refuse,
    delete: refuse,
    compact: refuse,
    watch(_prefix, _after, sink): StoreWatch {
      sinks.push(sink);
      return {
        requestProgress: () => sink.onProgress(99),
        close: () => void sinks.splice(sinks.indexOf(sink), 1),
      };
    },
    holdWatches: (isHeld) => void held.push(isHeld),
    close: () => Promise.resolve(),
  };
  let due: (() => void)[] = [];
  const defer = (work: () => void): void => void due.push(work);
  const [toThread, toMain]: [ToThread[], Turn[]] = [[], []];
  const stalled: Turn[] = [];
  const sinkErrors: unknown[] = [];
  let isStalled = false;
  let isEnded = false;
  const serve = serveStore(fake, {
    defer,
    send(turn) {
      const copy = structuredClone(turn);
      toMain.push(copy);
      if (isStalled) stalled.push(copy);
      else defer(() => proxy.onTurn(copy));
    },
  });
  const proxy = createStoreProxy({
    isShared: fake.isShared,
    revisionStep: fake.revisionStep,
    ...kind,
    defer,
    post(message) {
      const copy = structuredClone(message);
      toThread.push(copy);
      defer(() => serve(copy));
    },
    end() {
      isEnded = true;
      return Promise.resolve();
    },
    onSinkError: (thrown) => void sinkErrors.push(thrown),
  });

  async function settle(): Promise<void> {
    do {
      const now = due;
      due = [];
      for (const work of now) work();
      await new Promise((resolve) => setImmediate(resolve));
    } while (due.length > 0);
  }

  return {
    fake,
    proxy,
    toThread,
    toMain,
    sinks,
    sinkErrors,
    held,
    ended: () => isEnded,
    settle,
    stall(stall) {
      isStalled = stall;
      for (const turn of stalled.splice(0)) defer(() => proxy.onTurn(turn));
    },
  };
}

async function settled<T>(
  { settle }: Setup,
  ...work: readonly Promise<T>[]
): Promise<PromiseSettledResult<T>[]> {
  const all = Promise.allSettled(work);
  await settle();
  return await all;
}

const value = (result: PromiseSettledResult<unknown> | undefined): unknown =>
  result?.status === 'fulfilled' ? result.value : undefined;
const reason = (result: PromiseSettledResult<unknown> | undefined): unknown =>
  result?.status === 'rejected' ? result.reason : undefined;

function watcher(): WatchSink & { readonly seen: unknown[] } {
  const seen: unknown[] = [];
  return {
    seen,
    onEvents: (events) => void seen.push(...events.map(({ key, revision }) => [key, revision])),
    onProgress: (revision) => void seen.push(revision),
    onEnd: ({ reason: why }) => void seen.push(why),
  };
}

const brief = ({ items, ...rest }: RangeResult): unknown => ({
  ...rest,
  items: items.map(({ key, value: { length }, revision }) => [key, length, revision]),
});

describe('writes to a store in another thread', () => {
  test('of one turn go in one message, and their outcomes come back in one', async () => {
    const setup = setUp();
    setup.fake.put = (key) => Promise.resolve({ ok: true, revision: Number(key.slice(1)) });
    setup.fake.delete = (_key, expected) => Promise.resolve({ ok: true, revision: expected + 1 });
    const { store } = setup.proxy;
    const results = await settled(
      setup,
      store.put('/7', Buffer.from('a'), 'absent'),
      store.put('/9', Buffer.from('b'), 4),
      store.delete('/x', 20),
    );
    expect(results.map(value)).toEqual([7, 9, 21].map((revision) => ({ ok: true, revision })));
    expect(setup.toThread).toHaveLength(1);
    expect(setup.toMain).toHaveLength(1);
  });

  test('are executed in the order of the requests', async () => {
    const setup = setUp();
    const calls: unknown[] = [];
    setup.fake.put = (key, bytes, expected) => {
      calls.push([key, bytes.toString(), expected]);
      return Promise.resolve({ ok: true, revision: 1 });
    };
    setup.fake.delete = (key, expected) => {
      calls.push([key, expected]);
      return Promise.resolve({ ok: true, revision: 1 });
    };
    const { store } = setup.proxy;
    await settled(setup, store.put('/a', Buffer.from('1'), 'absent'), store.put('/b', Buffer.alloc(0), 5));
    await settled(setup, store.delete('/ä', 6));
    expect(calls).toEqual([
      ['/a', '1', 'absent'],
      ['/b', '', 5],
      ['/ä', 6],
    ]);
  });

  test('gather while as many messages as allowed are in flight', async () => {
    const setup = setUp({ maxInFlight: 2 });
    const first = Promise.withResolvers<WriteResult>();
    setup.fake.put = (key) => (key === '/0' ? first.promise : new Promise(() => undefined));
    const { store, onEnd } = setup.proxy;
    const work: Promise<unknown>[] = [];
    for (let i = 0; i < 5; i += 1) {
      work.push(store.put(`/${i}`, Buffer.from('x'), 'absent'));
      await setup.settle();
    }
    expect(setup.toThread).toHaveLength(2);
    first.resolve({ ok: true, revision: 1 });
    await setup.settle();
    expect(setup.toThread).toHaveLength(3);
    onEnd(new StoreError('unavailable', 'the thread ended'));
    expect((await Promise.allSettled(work)).map(({ status }) => status)).toEqual([
      'fulfilled',
      ...Array.from({ length: 4 }, () => 'rejected'),
    ]);
  });

  test('all go when the store is closed, however many are in flight', async () => {
    const setup = setUp({ maxInFlight: 1 });
    let revision = 0;
    setup.fake.put = () => Promise.resolve({ ok: true, revision: (revision += 1) });
    const { store } = setup.proxy;
    const first = store.put('/a', Buffer.from('x'), 'absent');
    const second = store.put('/b', Buffer.from('x'), 'absent');
    const work = Promise.all([first, second, store.close()]);
    await setup.settle();
    expect((await work).slice(0, 2)).toEqual([1, 2].map((number) => ({ ok: true, revision: number })));
  });

  test('have each their own outcome, in whatever order they come', async () => {
    const setup = setUp();
    const last = Promise.withResolvers<undefined>();
    setup.fake.put = async (key) => {
      if (key === '/slow') await last.promise;
      if (key === '/failed') throw new StoreError('noSpace', 'full', { cause: new Error('quota') });
      if (key === '/there') return { ok: false, current: item('/there', 'old', 4) };
      if (key === '/gone') return { ok: false, current: undefined };
      last.resolve(undefined);
      return { ok: true, revision: 8 };
    };
    const keys = ['/slow', '/failed', '/there', '/gone', '/done'];
    const work = keys.map((key) => setup.proxy.store.put(key, Buffer.from('x'), 'absent'));
    const [slow, failed, there, gone, done] = await settled(setup, ...work);
    expect([value(slow), value(done)]).toEqual([
      { ok: true, revision: 8 },
      { ok: true, revision: 8 },
    ]);
    expect(reason(failed)).toMatchObject({
      reason: 'noSpace',
      message: 'full',
      cause: new Error('Error: quota'),
    });
    expect(value(there)).toEqual({ ok: false, current: item('/there', 'old', 4) });
    expect(value(gone)).toEqual({ ok: false, current: undefined });
  });
});

describe('requests to a store in another thread', () => {
  test('get their replies', async () => {
    const setup = setUp();
    setup.fake.get = (key) => Promise.resolve(key === '/a' ? item('/a', 'x', 3) : undefined);
    setup.fake.compact = () => Promise.reject(new StoreError('compacted', 'gone', { revision: 12 }));
    const { store } = setup.proxy;
    expect([store.isShared, store.revisionStep]).toEqual([true, 3]);
    const [there, absent, compacted] = await settled<unknown>(
      setup,
      store.get('/a'),
      store.get('/b'),
      store.compact(5),
    );
    expect([value(there), value(absent)]).toEqual([item('/a', 'x', 3), undefined]);
    expect(reason(compacted)).toMatchObject({ reason: 'compacted', revision: 12 });
  });

  test('for a range are passed on, and a long reply comes in pieces', async () => {
    const setup = setUp();
    const items = Array.from({ length: 90 }, (_, i) => item(`/${i}`, 'x'.repeat(30_000), i));
    const calls: unknown[] = [];
    setup.fake.range = (prefix, options) => {
      calls.push([prefix, options]);
      return Promise.resolve({ revision: 60, items: prefix === '/none/' ? [] : items, more: true });
    };
    const { store } = setup.proxy;
    const [long, none] = await settled(
      setup,
      store.range('/', { revision: 6, after: '/a', limit: 50 }),
      store.range('/none/'),
    );
    expect(long?.status === 'fulfilled' && brief(long.value)).toEqual(
      brief({ revision: 60, items, more: true }),
    );
    expect(value(none)).toEqual({ revision: 60, items: [], more: true });
    expect(calls).toEqual([
      ['/', { revision: 6, after: '/a', limit: 50 }],
      ['/none/', {}],
    ]);
    expect(Math.max(...setup.toMain.map(({ records }) => records.length))).toBeLessThan(2_000_000);
  });

  test('for the newest revision are sent at once, with everything that waits', async () => {
    const setup = setUp();
    setup.fake.put = () => Promise.resolve({ ok: true, revision: 1 });
    setup.fake.currentRevision = () => Promise.resolve(77);
    const { store } = setup.proxy;
    const written = store.put('/a', Buffer.from('x'), 'absent');
    const current = store.currentRevision();
    expect(setup.toThread).toHaveLength(1);
    const [, revision] = await settled<unknown>(setup, written, current);
    expect(value(revision)).toBe(77);
    expect(setup.toThread).toHaveLength(1);
  });
});

describe('watches of a store in another thread', () => {
  test('deliver events and progress in order', async () => {
    const setup = setUp();
    const sink = watcher();
    const watch = setup.proxy.store.watch('/', 5, sink);
    await setup.settle();
    setup.sinks[0]?.onEvents([put('/a', 6), { type: 'delete', key: '/b', revision: 7 }]);
    setup.sinks[0]?.onProgress(8);
    watch.requestProgress();
    await setup.settle();
    setup.sinks[0]?.onEnd(new StoreError('compacted', 'gone'));
    await setup.settle();
    expect(sink.seen).toEqual([['/a', 6], ['/b', 7], 8, 99, 'compacted']);
  });

  test('deliver nothing more once they are closed, and others continue', async () => {
    const setup = setUp();
    const [one, two] = [watcher(), watcher()];
    const watch = setup.proxy.store.watch('/', 0, one);
    setup.proxy.store.watch('/', 0, two);
    await setup.settle();
    for (const sink of setup.sinks) sink.onEvents([put('/a', 1)]);
    watch.close();
    await setup.settle();
    expect([one.seen, two.seen]).toEqual([[], [['/a', 1]]]);
    expect(setup.sinks).toHaveLength(1);
  });

  test('end if their sink throws, without an effect on others', async () => {
    const setup = setUp();
    const good = watcher();
    const bad = {
      ...watcher(),
      onEvents: (): never => {
        throw new Error('no');
      },
    };
    setup.proxy.store.watch('/', 0, bad);
    setup.proxy.store.watch('/', 0, good);
    await setup.settle();
    for (const sink of setup.sinks) sink.onEvents([put('/a', 1)]);
    await setup.settle();
    expect(setup.sinkErrors).toEqual([new Error('no')]);
    expect(good.seen).toEqual([['/a', 1]]);
    expect(setup.sinks).toHaveLength(1);
  });

  test('are held while many delivered events are unprocessed', async () => {
    const setup = setUp();
    const sink = watcher();
    setup.proxy.store.watch('/', 0, sink);
    await setup.settle();
    setup.stall(true);
    const large = Buffer.alloc(1024 * 1024);
    for (let i = 1; i <= 20; i += 1) setup.sinks[0]?.onEvents([put(`/${i}`, i, large)]);
    await setup.settle();
    expect(setup.held).toEqual([true]);
    expect(sink.seen).toEqual([]);
    setup.stall(false);
    await setup.settle();
    expect(sink.seen).toHaveLength(20);
    expect(setup.held).toEqual([true, false]);
  });
});

describe('live watches of a store in another thread', () => {
  const open = (): Setup => {
    const setup = setUp({ isShared: false, revisionStep: 1 });
    let revision = 1;
    setup.fake.put = (key) => {
      if (key === '/conflict') return Promise.resolve({ ok: false, current: item(key, 'x', 1) });
      revision += 1;
      return Promise.resolve({ ok: true, revision });
    };
    return setup;
  };
  const write = async (setup: Setup, ...keys: readonly string[]): Promise<void> => {
    const { store } = setup.proxy;
    const work = Promise.all(keys.map((key) => store.put(key, Buffer.from('x'), 'absent')));
    await setup.settle();
    await work;
  };

  test('see the events of a commit together, by prefix, before the writer has its result', async () => {
    const setup = open();
    const [all, some] = [watcher(), watcher()];
    const batches: number[] = [];
    const { store } = setup.proxy;
    store.watch('/', 1, { ...all, onEvents: (events) => void batches.push(events.length) });
    store.watch('/a', 1, some);
    await setup.settle();
    for (const sink of setup.sinks) sink.onLive(1);
    await setup.settle();
    const seenAtResult = store.put('/a', Buffer.from('x'), 'absent').then(() => [...some.seen]);
    await write(setup, '/conflict', '/b', '/ab');
    expect(await seenAtResult).toEqual([
      ['/a', 2],
      ['/ab', 4],
    ]);
    expect(batches).toEqual([3]);
  });

  test('see neither the events before they are live, nor those that the thread has delivered', async () => {
    const setup = open();
    const sink = watcher();
    setup.proxy.store.watch('/', 1, sink);
    await setup.settle();
    await write(setup, '/a');
    expect(sink.seen).toEqual([]);
    setup.sinks[0]?.onEvents([put('/a', 2), put('/b', 3)]);
    setup.sinks[0]?.onLive(3);
    await write(setup, '/b', '/c');
    expect(sink.seen).toEqual([
      ['/a', 2],
      ['/b', 3],
      ['/c', 4],
    ]);
  });

  test('are none of a shared store', async () => {
    const setup = setUp();
    const sink = watcher();
    setup.fake.put = () => Promise.resolve({ ok: true, revision: 5 });
    setup.proxy.store.watch('/', 1, sink);
    await write(setup, '/a');
    expect(sink.seen).toEqual([]);
  });
});

describe('a store in another thread', () => {
  test('fails pending and later requests when its thread has ended', async () => {
    const setup = setUp();
    setup.fake.put = () => new Promise(() => undefined);
    setup.fake.get = () => new Promise(() => undefined);
    const { store, onEnd } = setup.proxy;
    const sink = watcher();
    store.watch('/', 0, sink);
    const work = Promise.allSettled<unknown>([store.put('/a', Buffer.from('x'), 'absent'), store.get('/a')]);
    await setup.settle();
    const error = new StoreError('unavailable', 'the thread ended');
    onEnd(error);
    expect((await work).map(reason)).toEqual([error, error]);
    await expect(store.currentRevision()).rejects.toBe(error);
    const late = watcher();
    store.watch('/', 0, late);
    await setup.settle();
    expect([sink.seen, late.seen]).toEqual([['unavailable'], ['unavailable']]);
  });

  test('is closed in the thread before that is ended', async () => {
    const setup = setUp();
    const closed: boolean[] = [];
    setup.fake.close = () => {
      closed.push(setup.ended());
      return Promise.resolve();
    };
    setup.fake.get = () => new Promise(() => undefined);
    const { store } = setup.proxy;
    const sink = watcher();
    store.watch('/', 0, sink);
    const waiting = Promise.allSettled([store.get('/a')]);
    const work = Promise.all([store.close(), store.close()]);
    await setup.settle();
    await work;
    expect((await waiting).map(reason)).toMatchObject([{ reason: 'closed' }]);
    expect([closed, setup.ended(), sink.seen]).toEqual([[false], true, ['closed']]);
    await expect(store.get('/a')).rejects.toMatchObject({ reason: 'closed' });
  });

  test('is closed, too, if the thread ends meanwhile', async () => {
    const setup = setUp();
    setup.fake.close = () => new Promise(() => undefined);
    const work = setup.proxy.store.close();
    await setup.settle();
    setup.proxy.onEnd(new StoreError('unavailable', 'the thread ended'));
    await work;
    expect(setup.ended()).toBe(true);
  });
});
