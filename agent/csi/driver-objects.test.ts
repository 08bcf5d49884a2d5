import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { Json } from '../api-client/client.ts';
import { ServerUnreachableError } from '../api-client/errors.ts';
import { createDriverObjects, DRIVERS_KEY } from './driver-objects.ts';
import { createTestServer, refused } from './server.fixture.ts';

const API_VERSION = `storage.${VOCABULARIES.plat.apiGroupDomain}/v1`;
const AWAY = new ServerUnreachableError('away');

function setUp(disk: Map<string, Json | undefined> = new Map<string, Json | undefined>()) {
  const clock = createFakeClock();
  const server = createTestServer();
  const saved = {
    load: async ({ name }: typeof DRIVERS_KEY) => disk.get(name),
    save: ({ name }: typeof DRIVERS_KEY, object: Json | undefined) => void disk.set(name, object),
  };
  const put = (attachRequired: boolean): void =>
    server.put('d', { apiVersion: API_VERSION, kind: 'CSIDriver', spec: { attachRequired } });
  return {
    clock,
    server,
    disk,
    put,
    read: createDriverObjects({ client: server.client, saved, clock }, API_VERSION),
  };
}

describe('createDriverObjects', () => {
  test('coalesces requests, and caches the response', async () => {
    const { clock, server, put, read } = setUp();
    put(false);
    const all = await Promise.all([read('d'), read('d'), read('d')]);
    expect(all.map((object) => object?.spec.attachRequired)).toEqual([false, false, false]);
    put(true);
    expect((await read('d'))?.spec.attachRequired).toBe(false);
    expect(server.calls).toEqual(['get d']);
    await clock.advance(30_000);
    expect((await read('d'))?.spec.attachRequired).toBe(true);
  });

  test('absence is cached, too', async () => {
    const { server, read } = setUp();
    expect(await read('d')).toBeUndefined();
    expect(await read('d')).toBeUndefined();
    expect(server.calls).toEqual(['get d']);
  });

  test('the saved object is used while the server is unavailable', async () => {
    const { clock, server, put, read } = setUp();
    put(false);
    await read('d');
    await clock.advance(30_000);
    server.refuse('get', AWAY);
    expect((await read('d'))?.spec.attachRequired).toBe(false);
  });

  test('another process reads it from disk, including its absence', async () => {
    const first = setUp();
    first.put(false);
    await first.read('d');
    await first.read('none');
    const next = setUp(first.disk);
    next.server.refuse('get', AWAY, AWAY, AWAY);
    expect((await next.read('d'))?.spec.attachRequired).toBe(false);
    expect(await next.read('none')).toBeUndefined();
    await expect(next.read('unheard')).rejects.toThrow('away');
  });

  test('a rejection does not count as absence', async () => {
    const { server, read, put } = setUp();
    put(false);
    await read('d');
    const next = setUp();
    next.server.refuse('get', refused(403, 'forbidden'));
    await expect(next.read('d')).rejects.toThrow('forbidden');
    expect(server.calls).toEqual(['get d']);
  });
});
