import { describe, expect, test } from 'vitest';
import { parseFieldSelector } from '#api/meta/field-selectors.ts';
import { parseLabelSelector } from '#api/meta/selectors.ts';
import { StoreError } from '../store/contract.ts';
import {
  createCacheFixture,
  createCollectingSink,
  EVERYTHING,
  fromRevision,
  fromState,
  lineEncoder,
  NODES,
  podOf,
  settle,
} from './cache.fixture.ts';
import { type CacheChange, CacheError, type ListPage } from './contract.ts';
import { toStored } from './state/stored-form.ts';

const keysOf = (page: ListPage): readonly string[] => page.items.map(({ key }) => key);

describe('list', () => {
  test('shows initial and later objects, in order of keys', async () => {
    await using fixture = createCacheFixture();
    await fixture.put('default/b');
    await fixture.put('default-2/z');
    await fixture.start();
    await fixture.put('default/a');
    const page = await fixture.pods.list(EVERYTHING);
    expect(keysOf(page)).toEqual(['default-2/z', 'default/a', 'default/b']);
    expect(page.revision).toBe(4);
    expect(page.next).toBeUndefined();
  });

  test('selects by namespace, labels and fields', async () => {
    await using fixture = createCacheFixture();
    await fixture.put('a/1', { labels: { app: 'x' }, node: 'n1' });
    await fixture.put('a/2', { labels: { app: 'y' }, node: 'n1' });
    await fixture.put('b/1', { labels: { app: 'x' }, node: 'n2' });
    await fixture.start();
    const { pods } = fixture;
    const labels = parseLabelSelector('app=x');
    expect(keysOf(await pods.list({ ...EVERYTHING, namespace: 'a' }))).toEqual(['a/1', 'a/2']);
    expect(keysOf(await pods.list({ labels, fields: [] }))).toEqual(['a/1', 'b/1']);
    const fields = parseFieldSelector('spec.nodeName=n1,metadata.name!=2');
    expect(keysOf(await pods.list({ labels, fields }))).toEqual(['a/1']);
  });

  test('pages show one state, whatever happens between them', async () => {
    await using fixture = createCacheFixture();
    for (const name of ['a', 'b', 'c', 'd', 'e']) await fixture.put(`n/${name}`);
    await fixture.start();
    const { pods } = fixture;
    const first = await pods.list({ ...EVERYTHING, limit: 2 });
    expect(first).toMatchObject({ next: 'n/b', remaining: 3, revision: 6 });
    await fixture.remove('n/c');
    await fixture.put('n/d', { node: 'changed' });
    await fixture.put('n/bb');
    const second = await pods.list({ ...EVERYTHING, limit: 2, after: 'n/b', revision: 6 });
    expect(keysOf(second)).toEqual(['n/c', 'n/d']);
    expect(second.items[1]?.object()['spec']).toEqual({ nodeName: '' });
    expect(second).toMatchObject({ next: 'n/d', remaining: 1, revision: 6 });
    const third = await pods.list({ ...EVERYTHING, limit: 2, after: 'n/d', revision: 6 });
    expect(keysOf(third)).toEqual(['n/e']);
    expect(third.next).toBeUndefined();
    expect(third.remaining).toBeUndefined();
  });

  test('omits the remaining count of a selection, and the token of an empty page', async () => {
    await using fixture = createCacheFixture();
    await fixture.put('n/a', { labels: { app: 'x' } });
    await fixture.put('n/b');
    await fixture.put('n/c', { labels: { app: 'x' } });
    await fixture.put('n/d');
    await fixture.start();
    const labels = parseLabelSelector('app=x');
    const first = await fixture.pods.list({ labels, fields: [], limit: 1 });
    expect(first.next).toBe('n/a');
    expect(first.remaining).toBeUndefined();
    const second = await fixture.pods.list({ labels, fields: [], limit: 1, after: 'n/a' });
    expect(keysOf(second)).toEqual(['n/c']);
    expect(second.next).toBeUndefined();
  });

  test('reads an expired state from the store, until it expires there, too', async () => {
    await using fixture = createCacheFixture({ historyChanges: 1, replayWrites: 0 });
    await fixture.put('n/a');
    await fixture.put('n/b');
    await fixture.start();
    await fixture.put('n/c');
    await fixture.remove('n/a');
    const { pods, store } = fixture;
    expect(keysOf(await pods.list({ ...EVERYTHING, revision: 2 }))).toEqual(['n/a']);
    const page = await pods.list({ ...EVERYTHING, revision: 3, namespace: 'n', limit: 1 });
    expect(page).toMatchObject({ next: 'n/a', revision: 3 });
    const last = await pods.list({ ...EVERYTHING, revision: 3, namespace: 'n', limit: 1, after: 'n/a' });
    expect(keysOf(last)).toEqual(['n/b']);
    expect(last.items[0]?.object().metadata.resourceVersion).toBe('3');
    await store.compact(4);
    await expect(async () => pods.list({ ...EVERYTHING, revision: 3 })).rejects.toMatchObject({
      reason: 'expired',
    });
  });

  test('rejects a future revision, and everything before the first state', async () => {
    await using fixture = createCacheFixture();
    expect(() => fixture.pods.list(EVERYTHING)).toThrow(expect.objectContaining({ reason: 'unavailable' }));
    await fixture.start();
    expect(() => fixture.pods.list({ ...EVERYTHING, revision: 10 })).toThrow(CacheError);
  });
});

describe('follow', () => {
  test('delivers the state, then every change with the object before it', async () => {
    await using fixture = createCacheFixture();
    await fixture.put('n/a');
    await fixture.start();
    const changes: CacheChange[] = [];
    const handle = fixture.pods.follow((change) => changes.push(change));
    await fixture.put('n/a', { node: 'n1' });
    await fixture.remove('n/a');
    handle.close();
    await fixture.put('n/b');
    const reported = changes.map(({ type, current, previous }) => [
      type,
      current.object().metadata.resourceVersion,
      previous?.revision,
    ]);
    expect(reported).toEqual([
      ['ADDED', '2', undefined],
      ['MODIFIED', '3', 2],
      ['DELETED', '4', 3],
    ]);
  });
});

describe('cached objects', () => {
  test('hold parsed objects and forms only while they are recent', async () => {
    await using fixture = createCacheFixture({ formBytes: 100, parsedBytes: 1 });
    await fixture.put('n/a');
    await fixture.start();
    const object = fixture.pods.get('n/a');
    let made = 0;
    const make = (): Buffer => Buffer.alloc(60, (made += 1));
    expect(object?.form('x', make)).toBe(object?.form('x', make));
    object?.form('y', make);
    object?.form('x', make);
    expect(made).toBe(3);
    expect(object?.object()).toEqual(object?.object());
  });

  test('have fields that became known after them', async () => {
    await using fixture = createCacheFixture();
    const nodes = fixture.cache.resource(NODES);
    const value = toStored({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'n1', uid: 'u' },
      spec: { nodeName: 'me' },
    });
    await fixture.store.put('/registry/nodes/n1', value, 'absent');
    await fixture.start();
    expect(nodes.get('n1')?.fields).toEqual({ 'metadata.name': 'n1', 'metadata.namespace': '' });
    expect(fixture.cache.resource(NODES, { kind: ({ kind }) => kind })).toBe(nodes);
    expect(nodes.get('n1')?.fields['kind']).toBe('Node');
  });

  test('take their fields from the object offered, without parsing', async () => {
    await using fixture = createCacheFixture();
    await fixture.start();
    const stored = toStored(podOf('n/a', { node: 'n1' }));
    fixture.cache.offer('/registry/pods/n/a', stored, podOf('n/a', { node: 'offered' }));
    await fixture.store.put('/registry/pods/n/a', stored, 'absent');
    expect(fixture.pods.get('n/a')?.fields['spec.nodeName']).toBe('offered');
  });
});

describe('resources', () => {
  test('that are requested later have the objects that the store had before', async () => {
    await using fixture = createCacheFixture();
    const value = (name: string): Buffer =>
      toStored({ apiVersion: 'v1', kind: 'Node', metadata: { name, uid: name } });
    await fixture.store.put('/registry/nodes/a', value('a'), 'absent');
    await fixture.start();
    await fixture.store.put('/registry/nodes/b', value('b'), 'absent');
    await fixture.store.delete('/registry/nodes/a', 2);
    const nodes = fixture.cache.resource(NODES);
    expect(keysOf(await nodes.list(EVERYTHING))).toEqual(['b']);
    await fixture.store.put('/registry/nodes/c', value('c'), 'absent');
    expect(nodes.get('c')?.revision).toBe(5);

    const sink = createCollectingSink();
    nodes.watch(fromState(), lineEncoder, sink);
    fixture.cache.forget(NODES);
    expect(sink.ended).toBe('unavailable');
    const again = fixture.cache.resource(NODES);
    expect(keysOf(await again.list(EVERYTHING))).toEqual(['b', 'c']);
    expect(again.get('b')?.object().metadata.resourceVersion).toBe('3');
  });

  test('leave out bytes that are no object', async () => {
    await using fixture = createCacheFixture();
    await fixture.store.put('/registry/pods/n/broken', Buffer.from('nonsense'), 'absent');
    await fixture.start();
    await fixture.put('n/a');
    await fixture.store.put('/registry/pods/n/worse', Buffer.from('{"uid":"'), 'absent');
    expect(keysOf(await fixture.pods.list(EVERYTHING))).toEqual(['n/a']);
    expect(fixture.cache.revision).toBe(4);
  });
});

describe('waiting', () => {
  test('waits for a revision, and no longer than the timeout', async () => {
    await using fixture = createCacheFixture();
    await fixture.start();
    fixture.store.pauseWatches(true);
    await fixture.put('n/a');
    let seen = false;
    const wait = fixture.cache.waitFor(2, 3000).then(() => (seen = true));
    const tooFar = fixture.cache.waitFor(6, 3000).catch((error: unknown) => error);
    await settle();
    expect(seen).toBe(false);
    fixture.store.pauseWatches(false);
    await wait;
    await fixture.clock.advance(3000);
    expect(await tooFar).toMatchObject({ reason: 'future', revision: 2 });
  });

  test('waits for the current state of the store, even without watches', async () => {
    await using fixture = createCacheFixture({ prefix: '/registry/' });
    await fixture.start();
    await fixture.store.put('/elsewhere', Buffer.from('x'), 'absent');
    await fixture.cache.waitForNewest();
    expect(fixture.cache.revision).toBe(2);
    fixture.store.failWith(new StoreError('unavailable', 'gone'));
    await expect(fixture.cache.waitForNewest()).rejects.toMatchObject({
      name: 'CacheError',
      reason: 'unavailable',
    });
  });
});

describe('pages of a resource in which nothing happens', () => {
  test('expire with the history that the store retains; watches continue', async () => {
    await using fixture = createCacheFixture({ historyMs: 60_000, replayWrites: 0 });
    const { cache, clock, pods, store } = fixture;
    cache.resource(NODES);
    for (const name of ['a', 'b', 'c']) await fixture.put(`n/${name}`);
    await fixture.start();
    const first = await pods.list({ ...EVERYTHING, limit: 1 });
    const rest = { ...EVERYTHING, revision: first.revision, after: 'n/a' };
    const node = toStored({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'one', uid: 'u' } });
    await store.put('/registry/nodes/one', node, 'absent');
    await clock.advance(30_000);
    expect(keysOf(await pods.list(rest))).toEqual(['n/b', 'n/c']);
    await store.compact(first.revision + 1);
    expect(keysOf(await pods.list(rest))).toEqual(['n/b', 'n/c']);
    await clock.advance(31_000);
    await expect(pods.list(rest)).rejects.toMatchObject({ reason: 'expired' });
    expect(keysOf(await pods.list(EVERYTHING))).toEqual(['n/a', 'n/b', 'n/c']);
    expect(() => pods.watch(fromRevision(first.revision), lineEncoder, createCollectingSink())).not.toThrow();
  });
});

describe('start', () => {
  test('lets watches from shortly before go on', async () => {
    await using fixture = createCacheFixture({ replayWrites: 2 });
    for (const name of ['a', 'b', 'c', 'd']) await fixture.put(`n/${name}`);
    await fixture.remove('n/a');
    await fixture.start();
    const sink = createCollectingSink();
    fixture.pods.watch(fromRevision(4), lineEncoder, sink);
    await settle();
    expect(sink.lines).toEqual(['ADDED n/d 5', 'DELETED n/a 6']);
    expect(fixture.cache.synced).toBe(true);
  });

  test('uses the newest state if the store has compacted that one', async () => {
    await using fixture = createCacheFixture({ replayWrites: 2 });
    for (const name of ['a', 'b', 'c', 'd']) await fixture.put(`n/${name}`);
    await fixture.store.compact(5);
    await fixture.start();
    expect(fixture.pods.size).toBe(4);
    expect(() => fixture.pods.watch(fromRevision(4), lineEncoder, createCollectingSink())).toThrow(
      CacheError,
    );
  });

  test('retries until the store responds', async () => {
    await using fixture = createCacheFixture();
    await fixture.put('n/a');
    fixture.store.failWith(new StoreError('unavailable', 'not yet'));
    const started = fixture.start();
    await fixture.clock.advance(1000);
    expect(fixture.cache.synced).toBe(false);
    fixture.store.failWith(undefined);
    await fixture.clock.advance(5000);
    await started;
    expect(fixture.pods.size).toBe(1);
  });

  test('is given up with the signal', async () => {
    const fixture = createCacheFixture();
    fixture.store.failWith(new StoreError('unavailable', 'never'));
    const started = fixture.start().catch((error: unknown) => error);
    await settle();
    await fixture[Symbol.asyncDispose]();
    expect(await started).toMatchObject({ name: 'AbortError' });
  });
});

describe('when the store is lost', () => {
  test('goes on where it was, without a gap', async () => {
    await using fixture = createCacheFixture();
    await fixture.start();
    await fixture.put('n/a');
    const sink = createCollectingSink();
    fixture.pods.watch(fromState(), lineEncoder, sink);
    await settle();
    fixture.store.endWatches(new StoreError('unavailable', 'gone'));
    expect(fixture.cache.synced).toBe(false);
    await fixture.put('n/b');
    await fixture.remove('n/a');
    await fixture.clock.advance(1000);
    await settle();
    expect(sink.lines).toEqual(['ADDED n/a 2', 'ADDED n/b 3', 'DELETED n/a 4']);
    expect(fixture.cache.synced).toBe(true);
    expect(fixture.store.watchCount).toBe(1);
  });

  test('reads everything again when events could not be applied', async () => {
    await using fixture = createCacheFixture();
    await fixture.start();
    await fixture.put('n/a');
    const sink = createCollectingSink();
    fixture.pods.watch(fromRevision(2), lineEncoder, sink);
    await settle();
    // An empty list of events, which a defective store might send.
    fixture.store.give([undefined] as never);
    expect(fixture.cache.synced).toBe(false);
    await fixture.put('n/b');
    await fixture.clock.advance(1000);
    await settle();
    expect(sink.lines).toEqual(['ADDED n/b 3']);
    expect(fixture.cache.synced).toBe(true);
    expect(fixture.store.watchCount).toBe(1);
  });

  test('skips events that were given before', async () => {
    await using fixture = createCacheFixture();
    await fixture.start();
    await fixture.put('n/a');
    const changes: CacheChange[] = [];
    fixture.pods.follow((change) => changes.push(change));
    const value = toStored(podOf('n/a'));
    fixture.store.give([{ type: 'put', key: '/registry/pods/n/a', value, revision: 2 }]);
    expect(changes).toHaveLength(1);
  });

  test('delivers the difference even if history is gone', async () => {
    await using fixture = createCacheFixture();
    await fixture.start();
    await fixture.put('n/a');
    await fixture.put('n/b');
    await fixture.put('n/c', { uid: 'first' });
    const sink = createCollectingSink();
    fixture.pods.watch(fromRevision(4), lineEncoder, sink);
    await settle();
    fixture.store.endWatches(new StoreError('unavailable', 'gone'));
    await fixture.remove('n/a');
    await fixture.put('n/b');
    await fixture.remove('n/c');
    await fixture.put('n/c', { uid: 'second' });
    await fixture.put('n/d');
    await fixture.store.compact(9);
    await fixture.clock.advance(10_000);
    await settle();
    expect(sink.lines).toEqual([
      'DELETED n/c 5',
      'MODIFIED n/b 6',
      'DELETED n/a 7',
      'ADDED n/c 8',
      'ADDED n/d 9',
    ]);
    const { pods } = fixture;
    expect(() => pods.watch(fromRevision(6), lineEncoder, createCollectingSink())).toThrow(CacheError);
    await fixture.put('n/e');
    await settle();
    expect(sink.lines.at(-1)).toBe('ADDED n/e 10');
  });
});
