import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { silentLogger } from '#api/kit/logger.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createTempDir } from '../../../testing/temp.ts';
import { eventually } from '../../../testing/wait.ts';
import type { Json } from '../../api-client/client.ts';
import { createPodStore } from '../../pods-api/pod-store.ts';
import type { SourceSnapshot } from '../types.ts';
import { createApiSource } from './api.ts';
import { isMirror, readApiPod } from './api-pod.ts';
import { createSavedPods } from './api-saved.ts';

const vocabulary = VOCABULARIES.plat;
const object = (uid: string, version: number, more: object = {}, spec: object = {}): Json => ({
  metadata: { name: `p${uid}`, namespace: 'default', uid, resourceVersion: String(version), ...more },
  spec: { containers: [{ name: 'c', image: 'i' }], nodeName: 'n1', ...spec },
  status: { phase: 'Running' },
});

async function setUp(dir: string) {
  const store = createPodStore();
  const saved = createSavedPods({ dir, vocabulary, log: silentLogger });
  const desired: [number, boolean][] = [];
  const unusable: Json[] = [];
  const source = createApiSource({
    pods: store,
    saved,
    wanted: (pods, isWhole) => desired.push([pods.length, isWhole]),
    unusable: (pod) => unusable.push(pod),
    vocabulary,
    log: silentLogger,
  });
  const snapshots: SourceSnapshot[] = [];
  const stop = new AbortController();
  const running = source.run(stop.signal, (snapshot) => snapshots.push(snapshot));
  return {
    store,
    desired,
    unusable,
    snapshots,
    next: (count: number) => eventually(() => snapshots.length >= count && snapshots[count - 1]),
    async [Symbol.asyncDispose]() {
      stop.abort(new Error('over'));
      await running;
    },
  };
}

/** Runs after the work of the current turn. */
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const names = (snapshot: SourceSnapshot): readonly (string | undefined)[] =>
  snapshot.pods.map(({ pod }) => pod.metadata?.name);

describe('createApiSource', () => {
  test('delivers pods of the server, without mirrors, and reuses unchanged ones', async () => {
    await using dir = await createTempDir();
    await using world = await setUp(dir.path);
    expect(await world.next(1)).toMatchObject({ pods: [], partial: true });
    const mirror = object('m', 2, { annotations: { [vocabulary.configMirror]: 'x' } });
    world.store.replace([object('1', 1), mirror]);
    const first = await world.next(2);
    expect(names(first)).toEqual(['p1']);
    expect(first.partial).toBeUndefined();
    // Only the resourceVersion differs: nothing is published.
    world.store.change({ type: 'MODIFIED', object: object('1', 9) });
    await nextTurn();
    expect(world.snapshots).toHaveLength(2);
    world.store.replace([object('1', 10), object('2', 10)]);
    expect((await world.next(3)).pods[0]).toBe(first.pods[0]);
    world.store.change({ type: 'MODIFIED', object: object('1', 11, {}, { activeDeadlineSeconds: 5 }) });
    expect((await world.next(4)).pods[0]?.pod.spec?.activeDeadlineSeconds).toBe(5);
    expect(world.desired.at(0)).toEqual([0, false]);
    expect(world.desired.at(-1)).toEqual([2, true]);
  });

  test('reports unusable pods, and releases them when they are deleted', async () => {
    await using dir = await createTempDir();
    await using world = await setUp(dir.path);
    await world.next(1);
    const bad = { containers: [{ name: '../c' }] };
    world.store.replace([object('1', 1, {}, bad), object('2', 2)]);
    const snapshot = await world.next(2);
    expect(names(snapshot)).toEqual(['p2']);
    expect(snapshot.rejected.map(({ identity }) => identity)).toEqual(['Pod default/p1']);
    expect(world.unusable).toEqual([]);
    world.store.change({ type: 'MODIFIED', object: object('1', 3, { deletionTimestamp: 'now' }, bad) });
    await world.next(3);
    expect(world.unusable).toHaveLength(1);
  });

  test('begins with persisted pods, and retains those that are still on the server', async () => {
    await using dir = await createTempDir();
    {
      await using world = await setUp(dir.path);
      await world.next(1);
      world.store.replace([object('1', 1), object('2', 2)]);
      await world.next(2);
      await eventually(async () => (await readdir(dir.path)).length === 2);
      world.store.change({ type: 'DELETED', object: object('2', 3) });
      await eventually(async () => (await readdir(dir.path)).length === 1);
    }
    await using world = await setUp(dir.path);
    const early = await world.next(1);
    expect(names(early)).toEqual(['p1']);
    expect(early.partial).toBe(true);
    world.store.replace([object('1', 50)]);
    expect((await world.next(2)).pods[0]).toBe(early.pods[0]);
  });
});

describe('createSavedPods', () => {
  test('writes for root only, and survives unreadable files', async () => {
    await using dir = await createTempDir();
    const at = join(dir.path, 'api', 'pods');
    await mkdir(at, { recursive: true });
    await writeFile(join(at, 'broken.json'), '{');
    await writeFile(join(at, 'other.json'), JSON.stringify(object('1', 1)));
    const saved = createSavedPods({ dir: at, vocabulary, log: silentLogger });
    expect(await saved.load()).toEqual([]);
    const read = readApiPod(object('1', 1), vocabulary);
    if (read.kind === 'rejected') throw new Error('rejected');
    saved.save([read]);
    await eventually(async () => (await readdir(at)).join() === '1.json');
    expect((await stat(join(at, '1.json'))).mode & 0o777).toBe(0o600);
    expect(JSON.parse(await readFile(join(at, '1.json'), 'utf8'))).toMatchObject({ metadata: { uid: '1' } });
    expect(await createSavedPods({ dir: at, vocabulary, log: silentLogger }).load()).toHaveLength(1);
  });
});

describe('readApiPod', () => {
  test('ignores fields of newer servers, and fields reserved for the agent', () => {
    const annotations = { [vocabulary.configHash]: 'x', mine: 'y' };
    const read = readApiPod(object('1', 1, { annotations }, { fieldOfTomorrow: 1 }), vocabulary);
    expect(read).toMatchObject({ kind: 'pod', pod: { metadata: { annotations: { mine: 'y' } } } });
    expect(JSON.stringify(read)).not.toContain('fieldOfTomorrow');
    expect(JSON.stringify(read)).not.toContain(vocabulary.configHash);
  });

  test('retains a terminal phase, and no other status', () => {
    const ended = { ...object('1', 1), status: { phase: 'Failed', reason: 'Evicted', podIP: '10.0.0.1' } };
    expect(readApiPod(ended, vocabulary)).toMatchObject({
      pod: { status: { phase: 'Failed', reason: 'Evicted' } },
    });
    expect(JSON.stringify(readApiPod(object('1', 1), vocabulary))).not.toContain('Running');
  });

  test.each([
    ['a UID that leaves its folder', object('../x', 1)],
    ['a container that does', object('1', 1, {}, { containers: [{ name: '../c' }] })],
    ['a volume that does', object('1', 1, {}, { volumes: [{ name: '..', emptyDir: {} }] })],
    ['a namespace that does', object('1', 1, { namespace: '..' })],
  ])('rejects %s', (_, hostile) => {
    expect(readApiPod(hostile, vocabulary).kind).toBe('rejected');
  });

  test('knows mirrors', () => {
    expect(isMirror(object('1', 1, { annotations: { [vocabulary.configMirror]: '' } }), vocabulary)).toBe(
      true,
    );
    expect(isMirror(object('1', 1), vocabulary)).toBe(false);
  });
});
