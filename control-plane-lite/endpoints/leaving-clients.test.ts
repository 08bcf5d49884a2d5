/** Clients that leave while the server works on their large body: the work ends, and nothing of it is stored. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { eventually } from '../../testing/wait.ts';
import { createContent } from '../content/content.ts';
import { createTestAuthority } from '../http/certificates.fixture.ts';
import type { ApiRequest, ApiResponse } from '../http/contract.ts';
import { type InterruptedServer, startInterruptedServer } from '../http/interrupted-server.fixture.ts';
import type { Protocol, Sent } from '../http/leaving-client.fixture.ts';
import { createMemoryStore } from '../store/memory-store.fixture.ts';
import { storeKey } from '../verbs/deps.ts';
import { caller, configMap, createFixture, type Fixture } from '../verbs/verbs.fixture.ts';
import type { EndpointDeps } from './deps.ts';
import { createEndpoint, patchEndpoint, updateEndpoint } from './write.ts';

const ca = createTestAuthority();
const certificate = ca.issue('localhost');
const MAPS = '/api/v1/namespaces/n/configmaps';
/** Parts of the work after which the client leaves. */
const PARTS = [0, 0.3, 0.7];
/** Turns of the event loop that the work may take after the server has noticed. */
const MOST_TURNS = 2;

const KEYS = 26_000;
const large = (name: string): Buffer => {
  const data = Object.fromEntries(Array.from({ length: KEYS }, (_, index) => [`k${index}`, 'v']));
  return Buffer.from(JSON.stringify({ ...configMap(data), metadata: { name, namespace: 'n' } }));
};
const typed = (method: string, path: string, name: string, type: string): Sent => {
  return { method, path, headers: { 'content-type': type }, body: large(name) };
};

const KINDS: Readonly<Record<string, Sent>> = {
  create: typed('POST', MAPS, 'new', 'application/json'),
  update: typed('PUT', `${MAPS}/c`, 'c', 'application/json'),
  'merge patch': typed('PATCH', `${MAPS}/c`, 'c', 'application/merge-patch+json'),
  'strategic merge patch': typed('PATCH', `${MAPS}/c`, 'c', 'application/strategic-merge-patch+json'),
  apply: typed('PATCH', `${MAPS}/c?fieldManager=me`, 'c', 'application/apply-patch+yaml'),
};
const PROTOCOLS: readonly Protocol[] = ['HTTP/1.1', 'HTTP/2'];
const TABLE = Object.entries(KINDS).flatMap(([name, sent]) =>
  PROTOCOLS.map((protocol) => ({ name, sent, protocol })),
);

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Counts turns until it is so, at most so many. */
async function turnsUntil(isSo: () => boolean, most: number): Promise<number> {
  let count = 0;
  for (; count < most && !isSo(); count += 1) await turn();
  return count;
}

describe('a client that leaves while its large body is worked on', () => {
  const store = createMemoryStore();
  let verbs: Fixture;
  let server: InterruptedServer;
  /** Requests whose body has been read and whose work has not ended. */
  let working = 0;
  let begun = Promise.withResolvers<void>();

  async function work(deps: EndpointDeps, request: ApiRequest): Promise<ApiResponse> {
    await request.readBody();
    working += 1;
    begun.resolve();
    const { resource } = verbs.ref;
    try {
      if (request.method === 'POST') return await createEndpoint(deps, request, resource);
      if (request.method === 'PUT') return await updateEndpoint(deps, request, resource);
      return await patchEndpoint(deps, request, resource);
    } finally {
      working -= 1;
    }
  }

  beforeAll(async () => {
    verbs = await createFixture('', 'configmaps', store);
    const clock = createFakeClock();
    const content = createContent({ vocabulary: VOCABULARIES.plat, now: () => clock.now() });
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- writes need no more than these
    const deps: EndpointDeps = { verbs: verbs.verbs, content, clock } as never;
    server = await startInterruptedServer(certificate, ca.cert, (request) => work(deps, request));
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await verbs[Symbol.asyncDispose]();
  });

  const stored = async (name: string): Promise<number> =>
    (await store.get(storeKey({ ...verbs.ref, name })))?.value.length ?? 0;

  async function send(protocol: Protocol, sent: Sent) {
    begun = Promise.withResolvers();
    const client = server.clients.send(protocol, sent);
    await begun.promise;
    return client;
  }
  /** All but sockets: those of HTTP/2 stay open. */
  const held = (): Readonly<Record<string, number>> => ({ ...server.held(), sockets: 0 });

  /** The state from which each request starts. @returns turns that the whole work takes */
  async function prepare(protocol: Protocol, sent: Sent): Promise<number> {
    const client = await send(protocol, sent);
    const turns = await turnsUntil(() => working === 0, 10_000);
    if (protocol === 'HTTP/2') await client.over;
    client.leave();
    await eventually(() => held()['requests'] === 0, { intervalMs: 1 });
    for (const name of ['new', 'c']) {
      const { revision } = (await store.get(storeKey({ ...verbs.ref, name }))) ?? {};
      if (revision !== undefined) await store.delete(storeKey({ ...verbs.ref, name }), revision);
    }
    const { resource, namespace } = verbs.ref;
    await verbs.verbs.create({
      ref: { resource, namespace, name: '' },
      object: configMap({ a: 'b' }),
      dryRun: false,
      fieldManager: '',
      caller,
    });
    return turns;
  }

  test.each(TABLE)('ends the work of a $name over $protocol', async ({ sent, protocol }) => {
    const whole = await prepare(protocol, sent);
    const idle = held();
    const small = await stored('c');
    expect(small).toBeGreaterThan(0);
    for (const part of PARTS) {
      const client = await send(protocol, sent);
      for (let count = 0; count < Math.floor(whole * part); count += 1) await turn();
      client.leave();
      await server.left();
      expect({ part, whole, working }).toEqual({ part, whole, working: 1 });
      expect(await turnsUntil(() => working === 0, 10_000)).toBeLessThanOrEqual(MOST_TURNS);
      await eventually(() => held()['requests'] === 0, { intervalMs: 1 });
      expect({ part, whole, held: held() }).toEqual({ part, whole, held: idle });
    }
    expect([await stored('c'), await stored('new')]).toEqual([small, 0]);
    // The only slot is free, and so is the room for large bodies.
    expect(await prepare(protocol, sent)).toBeGreaterThan(0);
  });
});
