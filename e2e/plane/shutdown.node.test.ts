/** Graceful shutdown of a server, and slow clients. Document 1 §4.5 and 4.10. */
import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { configMap, type Plane, usePlane } from './support.ts';

/** A watch whose client reads nothing. */
async function stuckWatch(plane: Plane, path: string): Promise<TLSSocket> {
  const { hostname, port } = new URL(plane.server.url);
  const socket = connect({ host: hostname, port: Number(port), ...plane.server.credentials() });
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  return socket;
}

const BIG = 'x'.repeat(900_000);

describe('a slow watch', () => {
  const plane = usePlane();

  test('costs others nothing, and is cut off', async () => {
    const path = `${await plane.namespace()}/configmaps`;
    await using watch = await plane.watch(`${path}?watch=1`);
    const stuck = await stuckWatch(plane, `${path}?watch=1`);
    const cut = once(stuck, 'close');
    const writes = 24;
    for (let index = 0; index < writes; index += 1) {
      const { status } = await plane.post(path, configMap(`c-${index}`, BIG));
      expect(status).toBe(201);
      expect((await watch.next())?.object.metadata.name).toBe(`c-${index}`);
    }
    // Everything that was on its way to the client is less than what was written.
    let size = 0;
    stuck.on('data', (chunk: Buffer) => {
      size += chunk.length;
    });
    stuck.resume();
    await cut;
    expect(size).toBeLessThan(writes * BIG.length);
  });

  test('of a large state gets all of it at its own pace', async () => {
    const path = `${await plane.namespace()}/configmaps`;
    for (let index = 0; index < 14; index += 1) await plane.post(path, configMap(`c-${index}`, BIG));
    await using watch = await plane.watch(`${path}?watch=1&resourceVersion=0`);
    const names = new Set<string | undefined>();
    for (let index = 0; index < 14; index += 1) names.add((await watch.next())?.object.metadata.name);
    expect(names.size).toBe(14);
  });
});

describe('the end of a server', () => {
  const plane = usePlane();

  test('ends watches with a last bookmark, and does not wait for stuck clients', async () => {
    const path = `${await plane.namespace()}/configmaps`;
    await using plain = await plane.watch(`${path}?watch=1`);
    await using marked = await plane.watch(`${path}?watch=1&allowWatchBookmarks=true`);
    const stuck = await stuckWatch(plane, `${path}?watch=1`);
    for (let index = 0; index < 6; index += 1) {
      await plane.post(path, configMap(`c-${index}`, BIG));
      await plain.next();
      await marked.next();
    }
    const revision = await plane.revision();
    const begun = performance.now();
    const stopped = plane.server.stop();
    const last = await marked.next();
    expect(last?.type).toBe('BOOKMARK');
    expect(Number(last?.object.metadata.resourceVersion)).toBeGreaterThanOrEqual(Number(revision));
    expect([await marked.next(), await plain.next()]).toEqual([undefined, undefined]);
    await stopped;
    // Requests under way would have a minute.
    expect(performance.now() - begun).toBeLessThan(20_000);
    stuck.destroy();
  });
});
