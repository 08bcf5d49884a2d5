import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createApiProtobuf } from '#api/protobuf/api-protobuf.ts';
import { watchFrame, wrapMessage } from '#api/protobuf/envelope.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createApiClient } from './client.ts';
import { JSON_TYPE } from './wire-form.ts';

const { signal } = new AbortController();
const codec = createApiProtobuf(VOCABULARIES.plat);
const contentType = VOCABULARIES.plat.protobufContentType;
const pods = { apiVersion: 'v1', resource: 'pods' };
const POD = { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'p' }, spec: { containers: [{ name: 'c' }] } };
const STATUS = {
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  message: 'old',
  reason: 'Expired',
  code: 410,
};

interface Seen {
  readonly method: string | undefined;
  readonly accept: string | undefined;
  readonly contentType: string | undefined;
  readonly body: Buffer;
}

/** A server with a configurable response for each request, and a client that prefers protobuf. */
async function setUp(respond: (seen: Seen, response: ServerResponse) => void) {
  const seen: Seen[] = [];
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const parts: Uint8Array[] = [];
    for await (const part of request) if (part instanceof Uint8Array) parts.push(part);
    const { method, headers } = request;
    const one = {
      method,
      accept: headers.accept,
      contentType: headers['content-type'],
      body: Buffer.concat(parts),
    };
    seen.push(one);
    respond(one, response);
  };
  const server = createServer((request, response) => void take(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const clock = createFakeClock();
  const client = createApiClient(
    { clock, log: silentLogger, env: {}, hasTerminal: false, passOn: () => undefined },
    {
      file: '/none',
      userName: '',
      server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      namespace: 'default',
      tls: { insecure: false },
      credentials: {},
    },
    { userAgent: 'test/1', protobuf: { contentType, codec } },
  );
  return {
    client,
    clock,
    seen,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function give(response: ServerResponse, type: string, body: Buffer | string, status = 200): void {
  response.writeHead(status, { 'content-type': type }).end(body);
}

async function watched(client: { watch: ReturnType<typeof createApiClient>['watch'] }) {
  const events = [];
  for await (const event of client.watch(pods, signal)) events.push(event);
  return events;
}

describe('a client that prefers protobuf', () => {
  test('sends it and reads it', async () => {
    await using world = await setUp(({ body }, response) => give(response, contentType, body));
    expect(await world.client.create(pods, POD, signal)).toEqual(POD);
    expect(world.seen).toMatchObject([{ accept: `${contentType}, ${JSON_TYPE}`, contentType }]);
    expect(codec.decode(world.seen[0]?.body ?? Buffer.alloc(0))).toEqual(POD);
  });

  test('patches in JSON, and deletes in protobuf', async () => {
    await using world = await setUp((_seen, response) => give(response, contentType, codec.encode(POD)));
    const address = { ...pods, namespace: 'a', name: 'p' };
    await world.client.patch(address, { type: 'strategic', content: { a: 1 } }, signal);
    await world.client.delete(address, signal, { gracePeriodSeconds: 0, preconditions: { uid: 'u' } });
    expect(world.seen).toMatchObject([
      { contentType: 'application/strategic-merge-patch+json', accept: `${contentType}, ${JSON_TYPE}` },
      { contentType },
    ]);
    expect(codec.decode(world.seen[1]?.body ?? Buffer.alloc(0))).toMatchObject({
      kind: 'DeleteOptions',
      gracePeriodSeconds: 0,
      preconditions: { uid: 'u' },
    });
  });

  test.each([
    ['has no such type', { kind: 'Widget', apiVersion: 'example.com/v1', spec: { size: 1 } }],
    ['does not say what it is', { metadata: { name: 'p' } }],
    ['has a spelling of its own', { ...POD, spec: { containers: [{ resources: { limits: { cpu: 1 } } }] } }],
  ])('sends JSON of what %s', async (_what, object) => {
    await using world = await setUp(({ body }, response) => give(response, JSON_TYPE, body));
    expect(await world.client.create(pods, object, signal)).toEqual(object);
    expect(world.seen).toMatchObject([{ contentType: JSON_TYPE }]);
  });

  test.each([406, 415])(
    'sends JSON to a server that responds with %i, and requests nothing else',
    async (code) => {
      await using world = await setUp((seen, response) => {
        const isProtobuf = `${seen.accept} ${seen.contentType}`.includes(contentType);
        give(
          response,
          JSON_TYPE,
          isProtobuf ? JSON.stringify({ ...STATUS, code }) : seen.body,
          isProtobuf ? code : 200,
        );
      });
      expect(await world.client.create(pods, POD, signal)).toEqual(POD);
      expect(await world.client.create(pods, POD, signal)).toEqual(POD);
      expect(world.seen.map((one) => one.contentType)).toEqual([contentType, JSON_TYPE, JSON_TYPE]);
      await world.clock.advance(10 * 60_000);
      await world.client.create(pods, POD, signal);
      expect(world.seen.map((one) => one.contentType).slice(3)).toEqual([contentType, JSON_TYPE]);
    },
  );

  test('reports a rejected patch', async () => {
    await using world = await setUp((_seen, response) => give(response, 'text/plain', 'no', 415));
    const patch = { type: 'merge', content: {} } as const;
    await expect(world.client.patch({ ...pods, name: 'p' }, patch, signal)).rejects.toMatchObject({
      status: 415,
    });
    expect(world.seen).toHaveLength(1);
  });

  test('reads an error of the server in protobuf', async () => {
    const status = { ...STATUS, message: 'too old', details: { name: 'p', retryAfterSeconds: 2 } };
    await using world = await setUp((_seen, response) =>
      give(response, contentType, codec.encode(status), 410),
    );
    await expect(world.client.list(pods, signal)).rejects.toMatchObject({
      status: 410,
      reason: 'Expired',
      message: 'too old',
      details: { name: 'p', retryAfterSeconds: 2 },
    });
  });

  test.each([
    ['of another form', Buffer.from('{}')],
    ['cut off', codec.encode(POD).subarray(0, 30)],
    ['of an unknown type', wrapMessage({ apiVersion: 'v9', kind: 'New' }, Buffer.alloc(0))],
    ['nested too deeply', nested(200)],
  ])('repeats the request in JSON if the response is %s', async (_what, bytes) => {
    await using world = await setUp(({ accept = '' }, response) =>
      accept === JSON_TYPE
        ? give(response, JSON_TYPE, JSON.stringify(POD))
        : give(response, contentType, bytes),
    );
    expect(await world.client.get({ ...pods, name: 'p' }, signal)).toEqual(POD);
    await expect(world.client.create(pods, POD, signal)).resolves.toEqual(POD);
    expect(world.seen.map(({ method, accept }) => [method, accept === JSON_TYPE])).toEqual([
      ['GET', false],
      ['GET', true],
      ['POST', true],
    ]);
  });

  test('writes nothing twice', async () => {
    await using world = await setUp((_seen, response) => give(response, contentType, 'no protobuf'));
    await expect(world.client.create(pods, POD, signal)).rejects.toMatchObject({
      name: 'ResponseFormatError',
    });
    expect(world.seen).toHaveLength(1);
  });

  test('watches in protobuf frames, and reports why the server ends it', async () => {
    const frames = [
      watchFrame('ADDED', codec.encode(POD)),
      watchFrame('BOOKMARK', codec.encode({ ...POD, metadata: { resourceVersion: '7' }, spec: {} })),
    ];
    await using world = await setUp((_seen, response) =>
      give(response, `${contentType};stream=watch`, Buffer.concat(frames)),
    );
    expect(await watched(world.client)).toMatchObject([
      { type: 'ADDED', object: POD },
      { type: 'BOOKMARK', object: { metadata: { resourceVersion: '7' } } },
    ]);
    frames.push(watchFrame('ERROR', codec.encode(STATUS)));
    await expect(watched(world.client)).rejects.toMatchObject({ name: 'ApiRequestError', status: 410 });
  });

  test('watches in JSON after frames that it cannot read', async () => {
    const line = JSON.stringify({ type: 'ADDED', object: POD });
    await using world = await setUp(({ accept }, response) =>
      accept === JSON_TYPE
        ? give(response, JSON_TYPE, `${line}\n`)
        : give(response, contentType, '\0\0\0\u0001x'),
    );
    await expect(watched(world.client)).rejects.toMatchObject({ name: 'WatchFormatError' });
    expect(await watched(world.client)).toEqual([{ type: 'ADDED', object: POD }]);
  });
});

/** Returns a pod with an unknown group that is nested to this depth. */
function nested(depth: number): Buffer {
  const groups = Buffer.concat([Buffer.alloc(depth, 0x7b), Buffer.alloc(depth, 0x7c)]);
  return wrapMessage({ apiVersion: 'v1', kind: 'Pod' }, groups);
}
