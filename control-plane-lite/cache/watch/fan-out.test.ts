import { describe, expect, test } from 'vitest';
import { parseFieldSelector } from '#api/meta/field-selectors.ts';
import { parseLabelSelector } from '#api/meta/selectors.ts';
import {
  createCacheFixture,
  createCollectingSink,
  fromRevision,
  fromState,
  lineEncoder,
  NODES,
  podOf,
  settle,
} from '../cache.fixture.ts';
import { CacheError } from '../contract.ts';
import { toStored } from '../state/stored-form.ts';

describe('watch', () => {
  test('starts with the state, then delivers changes, each turn in one write', async () => {
    await using fixture = createCacheFixture();
    await fixture.put('n/a');
    await fixture.start();
    const sink = createCollectingSink();
    fixture.pods.watch(fromState({ markInitialEnd: true }), lineEncoder, sink);
    expect(sink.lines).toEqual([]);
    await settle();
    expect(sink.lines).toEqual(['ADDED n/a 2', 'BOOKMARK 2 end']);
    await fixture.put('n/b');
    await fixture.put('n/a');
    await fixture.remove('n/b');
    await settle();
    expect(sink.lines.slice(2)).toEqual(['ADDED n/b 3', 'MODIFIED n/a 4', 'DELETED n/b 5']);
    expect(sink.writes).toBe(2);
  });

  test('begins with the state of its beginning, whatever happens before the first write', async () => {
    await using fixture = createCacheFixture();
    await fixture.put('n/a');
    await fixture.start();
    const sink = createCollectingSink();
    fixture.pods.watch(fromState(), lineEncoder, sink);
    // In the same turn of the event loop: the watch has written nothing yet.
    const written = Promise.all([fixture.put('n/b'), fixture.put('n/a')]);
    expect(sink.lines).toEqual([]);
    await written;
    await fixture.put('n/b');
    await settle();
    expect(sink.lines[0]).toBe('ADDED n/a 2');
    expect(sink.lines.slice(1).toSorted((left, right) => left.localeCompare(right))).toEqual([
      'ADDED n/b 3',
      'MODIFIED n/a 4',
      'MODIFIED n/b 5',
    ]);
  });

  test('shares a write among the turns of a short time, but delivers a single change immediately', async () => {
    await using fixture = createCacheFixture({ flushMs: 10 });
    await fixture.start();
    await fixture.clock.advance(100);
    const sink = createCollectingSink();
    fixture.pods.watch(fromRevision(1), lineEncoder, sink);
    await settle();
    await fixture.clock.advance(100);
    await fixture.put('n/a');
    await settle();
    expect(sink.lines).toEqual(['ADDED n/a 2']);
    await fixture.put('n/b');
    await settle();
    await fixture.put('n/c');
    await settle();
    expect(sink.lines).toHaveLength(1);
    await fixture.clock.advance(10);
    expect(sink.lines).toEqual(['ADDED n/a 2', 'ADDED n/b 3', 'ADDED n/c 4']);
    expect(sink.writes).toBe(2);
  });

  test('resumes from a revision without gap or duplicate', async () => {
    await using fixture = createCacheFixture();
    await fixture.start();
    for (const name of ['a', 'b', 'c']) await fixture.put(`n/${name}`);
    const sink = createCollectingSink();
    fixture.pods.watch(fromRevision(2), lineEncoder, sink);
    await fixture.put('n/d');
    await settle();
    await fixture.put('n/e');
    await settle();
    expect(sink.lines).toEqual(['ADDED n/b 3', 'ADDED n/c 4', 'ADDED n/d 5', 'ADDED n/e 6']);
  });

  test('from a future revision delivers only later changes', async () => {
    await using fixture = createCacheFixture();
    await fixture.start();
    const [early, late] = [createCollectingSink(), createCollectingSink()];
    fixture.pods.watch(fromRevision(1), lineEncoder, early);
    fixture.pods.watch(fromRevision(3), lineEncoder, late);
    await settle();
    for (const name of ['a', 'b', 'c']) await fixture.put(`n/${name}`);
    await settle();
    expect(early.lines).toHaveLength(3);
    expect(late.lines).toEqual(['ADDED n/c 4']);
  });

  test('turns changes into ADDED and DELETED where they cross the selection', async () => {
    await using fixture = createCacheFixture();
    await fixture.start();
    const sink = createCollectingSink();
    const labels = parseLabelSelector('app=x');
    fixture.pods.watch(fromState({ labels }), lineEncoder, sink);
    await settle();
    await fixture.put('n/a', { labels: { app: 'y' } });
    await fixture.put('n/a', { labels: { app: 'x' } });
    await fixture.put('n/a', { labels: { app: 'x' }, node: 'n1' });
    await fixture.put('n/a', { labels: { app: 'y' } });
    await fixture.remove('n/a');
    await settle();
    expect(sink.lines).toEqual(['ADDED n/a 3', 'MODIFIED n/a 4', 'DELETED n/a 5']);
  });

  test('shows an object that leaves the selection as it was last seen', async () => {
    await using fixture = createCacheFixture();
    await fixture.start();
    const seen: string[] = [];
    const encoder = {
      ...lineEncoder,
      id: 'json',
      encode: (type: string, { json }: { json: Buffer }) => {
        seen.push(`${type} ${json.toString()}`);
        return Buffer.from('x');
      },
    };
    const fields = parseFieldSelector('spec.nodeName=n1');
    fixture.pods.watch(fromState({ fields }), encoder, createCollectingSink());
    await settle();
    await fixture.put('n/a', { node: 'n1' });
    await fixture.put('n/a', { node: 'n2' });
    await settle();
    expect(seen[1]).toContain('"resourceVersion":"3"');
    expect(seen[1]).toContain('"nodeName":"n1"');
    expect(seen[1]).toMatch(/^DELETED /);
  });

  test('watches one object by name', async () => {
    await using fixture = createCacheFixture();
    await fixture.put('n/a');
    await fixture.put('m/a');
    await fixture.start();
    const sink = createCollectingSink();
    fixture.pods.watch(fromState({ namespace: 'n', name: 'a' }), lineEncoder, sink);
    await settle();
    await fixture.put('n/b');
    await fixture.put('n/a');
    await settle();
    expect(sink.lines).toEqual(['ADDED n/a 2', 'MODIFIED n/a 5']);
  });

  test('encodes once for all who select the same', async () => {
    await using fixture = createCacheFixture();
    await fixture.start();
    let encoded = 0;
    const encoder = { ...lineEncoder, encode: (): Buffer => Buffer.from(`${(encoded += 1)}\n`) };
    const sinks = Array.from({ length: 10 }, () => createCollectingSink());
    for (const sink of sinks) fixture.pods.watch(fromState(), encoder, sink);
    await settle();
    await fixture.put('n/a');
    await settle();
    expect(encoded).toBe(1);
    for (const sink of sinks) expect(sink.lines).toEqual(['1']);
  });

  test('delivers a big state in batches, as fast as the client takes them, and nothing twice', async () => {
    await using fixture = createCacheFixture();
    for (let index = 0; index < 1200; index += 1) await fixture.put(`n/${index}`);
    await fixture.start();
    const ready: (() => void)[] = [];
    const sink = createCollectingSink(() => new Promise((resolve) => ready.push(resolve)));
    fixture.pods.watch(fromState(), lineEncoder, sink);
    await settle();
    expect(sink.lines).toHaveLength(512);
    await fixture.put('n/0');
    await fixture.put('n/new');
    ready.shift()?.();
    await settle();
    expect(sink.lines).toHaveLength(1024);
    ready.shift()?.();
    await settle();
    expect(sink.lines).toHaveLength(1202);
    expect(sink.lines.slice(-2)).toEqual(['MODIFIED n/0 1202', 'ADDED n/new 1203']);
  });

  test('ends a watcher that history has left behind', async () => {
    await using fixture = createCacheFixture({ historyChanges: 2, replayWrites: 0 });
    await fixture.start();
    for (const name of ['a', 'b', 'c', 'd']) await fixture.put(`n/${name}`);
    const { pods } = fixture;
    expect(() => pods.watch(fromRevision(2), lineEncoder, createCollectingSink())).toThrow(
      expect.objectContaining({ reason: 'expired', revision: 5 }),
    );
    const sink = createCollectingSink();
    pods.watch(fromRevision(3), lineEncoder, sink);
    await fixture.put('n/e');
    await settle();
    expect(sink.ended).toBe('expired');
  });

  test('forgets changes when they are old enough', async () => {
    await using fixture = createCacheFixture({ historyMs: 60_000, replayWrites: 0 });
    await fixture.start();
    await fixture.put('n/a');
    await fixture.clock.advance(30_000);
    await fixture.put('n/b');
    await fixture.clock.advance(31_000);
    const { pods } = fixture;
    expect(() => pods.watch(fromRevision(1), lineEncoder, createCollectingSink())).toThrow(CacheError);
    const sink = createCollectingSink();
    pods.watch(fromRevision(2), lineEncoder, sink);
    await settle();
    expect(sink.lines).toEqual(['ADDED n/b 3']);
  });

  test('forgets changes when they take too much memory', async () => {
    await using fixture = createCacheFixture({ historyBytes: 20_000 });
    await fixture.start();
    for (let turn = 0; turn < 300; turn += 1) await fixture.put('n/a', { node: String(turn) });
    const { pods } = fixture;
    expect(() => pods.watch(fromRevision(6), lineEncoder, createCollectingSink())).toThrow(CacheError);
    expect(() => pods.watch(fromRevision(296), lineEncoder, createCollectingSink())).not.toThrow();
  });

  test('a resource that is forgotten takes no memory from the past of others', async () => {
    await using fixture = createCacheFixture({ historyBytes: 20_000 });
    const { cache, pods, store } = fixture;
    cache.resource(NODES);
    await fixture.start();
    for (let turn = 0; turn < 90; turn += 1) {
      const key = `${NODES.prefix}a`;
      const expected = (await store.get(key))?.revision ?? 'absent';
      await store.put(key, toStored({ ...podOf('n/a'), kind: 'Node' }), expected);
    }
    await settle();
    cache.forget(NODES);
    const first = await fixture.put('n/a');
    for (let turn = 0; turn < 50; turn += 1) await fixture.put('n/a', { node: String(turn) });
    const sink = createCollectingSink();
    pods.watch(fromRevision(first), lineEncoder, sink);
    await settle();
    expect(sink.lines).toHaveLength(50);
  });

  test('sends bookmarks about once a minute and when it finishes', async () => {
    await using fixture = createCacheFixture();
    await fixture.start();
    const [with_, without] = [createCollectingSink(), createCollectingSink()];
    const watch = fixture.pods.watch(fromState({ bookmarks: true }), lineEncoder, with_);
    fixture.pods.watch(fromState(), lineEncoder, without);
    await settle();
    await fixture.store.put('/registry/other/x', Buffer.from('{}'), 'absent');
    await fixture.clock.advance(60_000);
    await settle();
    expect(with_.lines).toEqual(['BOOKMARK 2']);
    await fixture.put('n/a');
    watch.finish();
    await settle();
    expect(with_.lines).toEqual(['BOOKMARK 2', 'ADDED n/a 3', 'BOOKMARK 3']);
    await fixture.put('n/b');
    await settle();
    expect(with_.lines).toHaveLength(3);
    expect(without.lines).toEqual(['ADDED n/a 3', 'ADDED n/b 4']);
  });

  test('spreads many changes over several turns, with neither gap nor duplicate for who joins meanwhile', async () => {
    await using fixture = createCacheFixture();
    await fixture.start();
    const [early, late] = [createCollectingSink(), createCollectingSink()];
    fixture.pods.watch(fromState({ bookmarks: true }), lineEncoder, early);
    await settle();
    fixture.store.pauseWatches(true);
    for (let index = 0; index < 5000; index += 1) await fixture.put(`n/${index}`);
    await fixture.clock.advance(54_000);
    fixture.store.pauseWatches(false);
    fixture.pods.watch(fromRevision(4001), lineEncoder, late);
    await fixture.clock.advance(12_000);
    await settle(8);
    expect(early.lines).toHaveLength(5001);
    expect(new Set(early.lines).size).toBe(5001);
    expect(early.lines.at(-1)).toBe('BOOKMARK 5001');
    expect(early.writes).toBe(3);
    expect(late.lines).toHaveLength(1000);
    expect(new Set(late.lines).size).toBe(1000);
  });

  test('reports to each sink how many get the same buffer', async () => {
    await using fixture = createCacheFixture();
    await fixture.start();
    const received: (readonly [Buffer, number | undefined])[] = [];
    const sink = {
      write: (bytes: Buffer, readers?: number) => void received.push([bytes, readers]),
      end: () => undefined,
    };
    const alone = { labels: parseLabelSelector('a=b') };
    for (const options of [{}, {}, alone]) fixture.pods.watch(fromState(options), lineEncoder, sink);
    await settle();
    await fixture.put('n/a', { labels: { a: 'b' } });
    await settle();
    expect(received.map(([, readers]) => readers)).toEqual([2, 2, 1]);
    expect(received[0]?.[0]).toBe(received[1]?.[0]);
  });

  test('goes on for others when one sink throws', async () => {
    await using fixture = createCacheFixture();
    await fixture.start();
    const good = createCollectingSink();
    const bad = {
      ...createCollectingSink(),
      write: () => {
        throw new Error('broken');
      },
    };
    fixture.pods.watch(fromState(), lineEncoder, bad);
    fixture.pods.watch(fromState(), lineEncoder, good);
    await settle();
    await fixture.put('n/a');
    await settle();
    await fixture.put('n/b');
    await settle();
    expect(good.lines).toHaveLength(2);
  });

  test('is closed for good by its handle', async () => {
    await using fixture = createCacheFixture();
    await fixture.start();
    const sink = createCollectingSink();
    const watch = fixture.pods.watch(fromState(), lineEncoder, sink);
    await settle();
    await fixture.put('n/a');
    watch.close();
    await settle();
    expect(sink.lines).toEqual([]);
    expect(sink.ended).toBeUndefined();
  });
});
