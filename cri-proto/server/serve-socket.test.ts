import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { connect } from 'node:http2';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createMessageTypes } from '#api/codec/protobuf/message.ts';
import { silentLogger as log } from '#api/kit/logger.ts';
import { createTempDir } from '../../testing/temp.ts';
import { createPodResourcesClient, podResourcesRpcs } from '../client/pod-resources.ts';
import nodeProtos from '../data/node-protos.json' with { type: 'json' };
import { CallRejection } from './rejection.ts';
import { serveSocket } from './serve-socket.ts';
import type { ServedService } from './served-service.ts';

const types = createMessageTypes(nodeProtos['podresources/v1']);
const service = (methods: ServedService['methods'], version: 'v1' | 'v1alpha1' = 'v1'): ServedService => ({
  types,
  rpcs: podResourcesRpcs(version),
  methods,
});

const POD = { name: 'a', namespace: 'b', containers: [{ name: 'c', cpuIds: [1n, 2n] }] };

describe('serveSocket', () => {
  test('responds to calls of both versions, and is accessible to one user only', async () => {
    await using dir = await createTempDir('na-serve-');
    const path = join(dir.path, 'deep', 's.sock');
    let loads = 0;
    const load = async () => {
      loads += 1;
      const methods = { list: async () => ({ podResources: [POD] }) };
      return [service(methods), service(methods, 'v1alpha1')];
    };
    const server = await serveSocket({ log, load }, path);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(loads).toBe(0);
    for (const version of ['v1', 'v1alpha1'] as const) {
      const response = await createPodResourcesClient(path, version).list({});
      expect(response.podResources[0]).toMatchObject({ name: 'a', containers: [{ cpuIds: [1n, 2n] }] });
    }
    expect(loads).toBe(1);
    await server.close();
    await expect(stat(path)).rejects.toThrow('ENOENT');
  });

  test('reports rejections, and unimplemented methods', async () => {
    await using dir = await createTempDir('na-serve-');
    const path = join(dir.path, 's.sock');
    const refuse = (): never => {
      throw new CallRejection('ResourceExhausted', 'too often');
    };
    const fail = (): never => {
      throw new Error('broken');
    };
    const server = await serveSocket(
      { log, load: async () => [service({ list: refuse, getAllocatableResources: fail })] },
      path,
    );
    const client = createPodResourcesClient(path);
    await expect(client.list({})).rejects.toMatchObject({ reason: 'ResourceExhausted' });
    await expect(client.list({})).rejects.toThrow('too often');
    await expect(client.getAllocatableResources({})).rejects.toThrow('broken');
    await expect(client.get({})).rejects.toMatchObject({ reason: 'Unimplemented' });
    await server.close();
  });

  test('serves a client that sends the path of the socket as authority, as programs in Go do', async () => {
    await using dir = await createTempDir('na-serve-');
    const path = join(dir.path, 's.sock');
    const methods = { list: async () => ({ podResources: [POD] }) };
    const server = await serveSocket({ log, load: async () => [service(methods)] }, path);
    const session = connect('http://localhost', { createConnection: () => createConnection(path) });
    const [list] = podResourcesRpcs('v1').filter(({ rpc }) => rpc === 'List');
    // Twice: the second request refers to the header table of the first.
    for (const turn of [1, 2]) {
      const stream = session.request({
        ':method': 'POST',
        ':path': list?.path ?? '',
        ':authority': path,
        'content-type': 'application/grpc',
        te: 'trailers',
      });
      stream.end(Buffer.alloc(5));
      stream.resume();
      const trailers = await new Promise<unknown>((resolve) => stream.once('trailers', resolve));
      expect({ turn, trailers }).toMatchObject({ turn, trailers: { 'grpc-status': '0' } });
    }
    session.destroy();
    await server.close();
  });

  test('serves more than a hundred connections at the same time', async () => {
    await using dir = await createTempDir('na-serve-');
    const path = join(dir.path, 's.sock');
    const methods = { list: async () => ({ podResources: [POD] }) };
    const server = await serveSocket({ log, load: async () => [service(methods)] }, path);
    const idle = Array.from({ length: 150 }, () => createConnection(path).on('error', () => undefined));
    await Promise.all(idle.map((socket) => once(socket, 'connect')));
    expect((await createPodResourcesClient(path).list({})).podResources).toHaveLength(1);
    for (const socket of idle) socket.destroy();
    await server.close();
  });

  test('closes with open connections, including silent ones', async () => {
    await using dir = await createTempDir('na-serve-');
    const path = join(dir.path, 's.sock');
    const server = await serveSocket({ log, load: async () => [] }, path);
    const idle = createConnection(path);
    await new Promise((resolve) => idle.once('connect', resolve));
    const ended = new Promise((resolve) => idle.once('close', resolve));
    idle.resume();
    await server.close();
    await ended;
    expect(idle.destroyed).toBe(true);
  });

  test('replaces a stale socket, and none that is served', async () => {
    await using dir = await createTempDir('na-serve-');
    const path = join(dir.path, 's.sock');
    const script = `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
    spawnSync(process.execPath, ['-e', script]);
    expect((await stat(path)).isSocket()).toBe(true);
    const server = await serveSocket(
      { log, load: async () => [service({ list: () => ({ podResources: [POD] }) })] },
      path,
    );
    await expect(serveSocket({ log, load: async () => [] }, path)).rejects.toThrow('is served by another');
    expect((await createPodResourcesClient(path).list({})).podResources).toHaveLength(1);
    await server.close();
  });
});
