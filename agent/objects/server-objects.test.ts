import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import type { Json } from '../api-client/client.ts';
import { ApiRequestError, ServerUnreachableError } from '../api-client/errors.ts';
import type { WatchEvent } from '../api-client/watch-events.ts';
import { formatObjectKey, type ObjectKey } from './references.ts';
import { createSavedObjects, NO_SAVED_OBJECTS } from './saved-objects.ts';
import { createServerObjects, type DetectionStrategy, type SavedObjects } from './server-objects.ts';

const key = (name: string): ObjectKey => ({ kind: 'ConfigMap', namespace: 'default', name });
const configMap = (name: string, version: number, more: object = {}): Json => ({
  metadata: { name, namespace: 'default', resourceVersion: String(version) },
  ...more,
});

function setUp(strategy: DetectionStrategy, saved: SavedObjects = NO_SAVED_OBJECTS) {
  const clock = createFakeClock();
  const there = new Map<string, Json>();
  const asked: string[] = [];
  const watches = new Map<string, (event: WatchEvent) => void>();
  let fieldError: Error | undefined;
  const nameIn = (query: object): string => String(Reflect.get(query, 'fieldSelector')).split('=')[1] ?? '';
  const client = {
    async get({ name }: { name: string }): Promise<Json> {
      asked.push(`get ${name}`);
      if (fieldError !== undefined) throw fieldError;
      const object = there.get(name);
      if (object === undefined) throw new ApiRequestError({ status: 404, reason: 'NotFound', message: 'no' });
      return object;
    },
    async list(_: unknown, __: unknown, query: object = {}): Promise<Json> {
      const name = nameIn(query);
      asked.push(`list ${name}`);
      if (fieldError !== undefined) throw fieldError;
      const object = there.get(name);
      return { metadata: { resourceVersion: '1' }, items: object === undefined ? [] : [object] };
    },
    async *watch(_: unknown, signal: AbortSignal, query: object = {}): AsyncGenerator<WatchEvent, void> {
      const name = nameIn(query);
      asked.push(`watch ${name}`);
      const ended = (): void => void watches.delete(name);
      signal.addEventListener('abort', ended);
      while (!signal.aborted) {
        yield await new Promise<WatchEvent>((resolve, reject) => {
          watches.set(name, resolve);
          signal.addEventListener('abort', () => reject(new Error('aborted')));
        });
      }
    },
  };
  const objects = createServerObjects({ client, saved, clock, log: silentLogger }, { strategy });
  const changed: string[] = [];
  objects.onChange((keys) => changed.push(...keys.map(formatObjectKey)));
  return {
    objects,
    clock,
    there,
    asked,
    watches,
    changed,
    fail: (error: Error | undefined) => {
      fieldError = error;
    },
    [Symbol.dispose]: () => objects.stop(),
  };
}

const loadKey = () => Promise.resolve(Buffer.alloc(32));

describe('objects that are watched', () => {
  test('are watched as long as they are referenced', async () => {
    using world = setUp('Watch');
    world.there.set('a', configMap('a', 1));
    world.objects.name([key('a')]);
    expect(await world.objects.get(key('a'))).toBe(world.there.get('a'));
    await world.clock.advance(0);
    const next = configMap('a', 2);
    world.watches.get('a')?.({ type: 'MODIFIED', object: next });
    await world.clock.advance(0);
    expect(await world.objects.get(key('a'))).toBe(next);
    expect(world.changed).toEqual(['ConfigMap default/a', 'ConfigMap default/a']);
    expect(world.asked).toEqual(['list a', 'watch a']);
    world.objects.name([]);
    await world.clock.advance(0);
    expect(world.watches.size).toBe(0);
  });

  test('are not watched once they are immutable', async () => {
    using world = setUp('Watch');
    world.there.set('a', configMap('a', 1, { immutable: true }));
    world.objects.name([key('a')]);
    expect(await world.objects.get(key('a'))).toBe(world.there.get('a'));
    await world.clock.advance(0);
    expect(world.asked).toEqual(['list a']);
    expect(await world.objects.get(key('a'))).toBe(world.there.get('a'));
  });

  test('are undefined when the server has none', async () => {
    using world = setUp('Watch');
    world.objects.name([key('none')]);
    expect(await world.objects.get(key('none'))).toBeUndefined();
  });

  test('fail while the server is unavailable and none was persisted', async () => {
    using world = setUp('Watch');
    world.fail(new ServerUnreachableError('away'));
    world.objects.name([key('a')]);
    await expect(world.objects.get(key('a'))).rejects.toThrow('away');
  });
});

describe('objects that are read', () => {
  test('are read each time with Get', async () => {
    using world = setUp('Get');
    world.there.set('a', configMap('a', 1));
    world.objects.name([key('a')]);
    await world.objects.get(key('a'));
    await world.objects.get(key('a'));
    expect(world.asked).toEqual(['get a', 'get a']);
  });

  test('are read once a minute with Cache, and at once for a new reference', async () => {
    using world = setUp('Cache');
    world.there.set('a', configMap('a', 1));
    world.objects.name([key('a')]);
    await world.objects.get(key('a'));
    await world.clock.advance(59_000);
    await world.objects.get(key('a'));
    expect(world.asked).toHaveLength(1);
    await world.clock.advance(1_000);
    await world.objects.get(key('a'));
    expect(world.asked).toHaveLength(2);
    world.objects.name([]);
    world.objects.name([key('a')]);
    await world.objects.get(key('a'));
    expect(world.asked).toHaveLength(3);
  });

  test('come from disk while the server is unavailable, not when it rejects', async () => {
    await using dir = await createTempDir();
    const at = join(dir.path, 'objects');
    using before = setUp('Get', createSavedObjects({ dir: at, loadKey, log: silentLogger }));
    before.there.set('a', configMap('a', 1, { data: { word: 'kept' } }));
    before.objects.name([key('a')]);
    await before.objects.get(key('a'));
    const files = await eventually(async () => {
      const names = await readdir(at);
      return names.length === 1 && !names[0]?.endsWith('.tmp') ? names : undefined;
    });
    expect((await stat(join(at, files[0] ?? ''))).mode & 0o777).toBe(0o600);

    using after = setUp('Get', createSavedObjects({ dir: at, loadKey, log: silentLogger }));
    after.fail(new ServerUnreachableError('away'));
    after.objects.name([key('a')]);
    expect(await after.objects.get(key('a'))).toMatchObject({ data: { word: 'kept' } });
    after.fail(new ApiRequestError({ status: 403, reason: 'Forbidden', message: 'not yours' }));
    await expect(after.objects.get(key('a'))).rejects.toThrow('not yours');
    after.objects.name([]);
    expect(await eventually(async () => (await readdir(at)).length === 0)).toBe(true);
  });

  test('are retained with the references of a volume, as long as its claim is referenced', async () => {
    const claim: ObjectKey = { kind: 'PersistentVolumeClaim', namespace: 'default', name: 'claim' };
    const volume: ObjectKey = { kind: 'PersistentVolume', namespace: '', name: 'pv' };
    const secret: ObjectKey = { kind: 'Secret', namespace: 'vault', name: 'key' };
    const kept = new Map<string, Json | undefined>();
    const saved: SavedObjects = {
      ...NO_SAVED_OBJECTS,
      save: (saveAs, object) => void kept.set(formatObjectKey(saveAs), object),
    };
    using world = setUp('Watch', saved);
    world.there.set('claim', { metadata: { name: 'claim' }, spec: { volumeName: 'pv' } });
    const secretRef = { namespace: 'vault', name: 'key' };
    const claimRef = { namespace: 'default', name: 'claim' };
    world.there.set('pv', { spec: { claimRef, cephfs: { monitors: [], secretRef } } });
    world.there.set('key', { data: { word: 'x' } });
    world.objects.name([claim]);
    await world.objects.get(secret);
    expect([...kept.keys()]).toEqual([]);
    for (const one of [claim, volume, secret]) await world.objects.get(one);
    expect([...kept.keys()]).toEqual([claim, volume, secret].map(formatObjectKey));
    world.objects.name([]);
    kept.clear();
    await world.objects.get(secret);
    expect(kept.has(formatObjectKey(secret))).toBe(false);
  });
});
