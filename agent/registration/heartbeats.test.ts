/** Lease and status over time, with an in-memory server. */
import { describe, expect, test } from 'vitest';
import type { Node, NodeStatus } from '#api/gen/core-v1.ts';
import { createFakeClock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { ApiClient, Json } from '../api-client/client.ts';
import { ApiRequestError, ServerUnreachableError } from '../api-client/errors.ts';
import { createServerContact } from '../api-client/server-contact.ts';
import { runLeaseRenewal } from './lease-renewal.ts';
import { createStatusReporter } from './status-reporter.ts';

const vocabulary = VOCABULARIES.plat;
const NODE: Node = { metadata: { name: 'n1', uid: 'u1' }, status: { conditions: [] } };
const rules = {
  apiVersion: `coordination.${vocabulary.apiGroupDomain}/v1`,
  namespace: 'leases',
  nodeName: 'n1',
  durationSeconds: 40,
};
const notFound = () => new ApiRequestError({ status: 404, reason: 'NotFound', message: 'no' });
const conflict = () => new ApiRequestError({ status: 409, reason: 'Conflict', message: 'changed' });

/** Stores one lease, as a server does. */
function createLeaseServer() {
  const calls: string[] = [];
  let lease: { metadata: { resourceVersion: string }; spec: unknown } | undefined;
  let version = 0;
  let fieldError: (() => Error) | undefined;
  const respond = (call: string, work: () => Json): Promise<Json> => {
    calls.push(call);
    if (fieldError !== undefined) return Promise.reject(fieldError());
    try {
      return Promise.resolve(work());
    } catch (thrown) {
      return Promise.reject(asError(thrown));
    }
  };
  const store = (object: Json): Json => {
    version += 1;
    lease = {
      metadata: { ...(object['metadata'] as object), resourceVersion: String(version) },
      spec: object['spec'],
    };
    return lease;
  };
  const client: Pick<ApiClient, 'get' | 'create' | 'update'> = {
    get: () =>
      respond('get', () => {
        if (lease === undefined) throw notFound();
        return lease;
      }),
    create: (_, object) =>
      respond('create', () => {
        if (lease !== undefined) throw conflict();
        return store(object);
      }),
    update: (_, object) =>
      respond('update', () => {
        const { resourceVersion } = object['metadata'] as { resourceVersion: string };
        if (lease === undefined) throw notFound();
        if (lease.metadata.resourceVersion !== resourceVersion) throw conflict();
        return store(object);
      }),
  };
  return {
    client,
    calls,
    fail: (create: (() => Error) | undefined) => void (fieldError = create),
    remove: () => void (lease = undefined),
    touch: () => void (lease = { metadata: { resourceVersion: 'other' }, spec: {} }),
  };
}

function startRenewal(whenNode: () => Promise<Node> = () => Promise.resolve(NODE)) {
  const clock = createFakeClock();
  const server = createLeaseServer();
  const contact = createServerContact({ clock, log: silentLogger });
  const stop = new AbortController();
  const running = runLeaseRenewal(
    { client: server.client, clock, contact, whenNode, random: () => 0 },
    { lease: rules, vocabulary },
    stop.signal,
  );
  return {
    clock,
    server,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

describe('runLeaseKeeper', () => {
  test('creates the lease and renews it each quarter of its duration, without reading it', async () => {
    await using world = startRenewal();
    await world.clock.advance(0);
    expect(world.server.calls).toEqual(['get', 'create']);
    await world.clock.advance(9999);
    expect(world.server.calls).toHaveLength(2);
    await world.clock.advance(1);
    await world.clock.advance(10_000);
    expect(world.server.calls).toEqual(['get', 'create', 'update', 'update']);
  });

  test('creates no lease before the node exists', async () => {
    const { promise, resolve } = Promise.withResolvers<Node>();
    await using world = startRenewal(() => promise);
    await world.clock.advance(60_000);
    expect(world.server.calls).toEqual([]);
    resolve(NODE);
    await world.clock.advance(0);
    expect(world.server.calls).toEqual(['get', 'create']);
  });

  test.each([
    ['another client changed', 'touch', ['update', 'get', 'update']],
    ['another client deleted', 'remove', ['update', 'get', 'create']],
  ] as const)('handles a lease that %s', async (_, change, calls) => {
    await using world = startRenewal();
    await world.clock.advance(0);
    world.server[change]();
    await world.clock.advance(10_000);
    expect(world.server.calls.slice(2)).toEqual(calls);
  });

  test('retries soon while the server is unavailable, and resumes its schedule afterwards', async () => {
    await using world = startRenewal();
    await world.clock.advance(0);
    world.server.fail(() => new ServerUnreachableError('away'));
    await world.clock.advance(12_000);
    const tries = world.server.calls.length - 2;
    expect(tries).toBeGreaterThan(3);
    world.server.fail(undefined);
    await world.clock.advance(8000);
    expect(world.server.calls.slice(2 + tries).filter((call) => call === 'update')).toHaveLength(1);
  });
});

const ready = (status: string, heartbeat: number) => ({
  type: 'Ready',
  status,
  lastHeartbeatTime: new Date(heartbeat).toISOString(),
});

function startReporter() {
  const clock = createFakeClock();
  const patches: unknown[] = [];
  const statuses: string[] = [];
  let node: Node | undefined = NODE;
  let word = 'True';
  let fieldError: Error | undefined;
  const contact = createServerContact({ clock, log: silentLogger });
  const reporter = createStatusReporter(
    {
      client: {
        patch: (_, { content }) => {
          patches.push(content);
          const { status } = content as { status: NodeStatus };
          return fieldError === undefined ? Promise.resolve({ ...NODE, status }) : Promise.reject(fieldError);
        },
      },
      clock,
      log: silentLogger,
      contact,
      node: () => node,
      note: (next) => (node = next),
      decide: (before) => {
        const turned = before.status?.conditions?.[0]?.status !== word;
        return Promise.resolve({
          status: { conditions: [ready(word, clock.now())] },
          events: turned ? [{ type: 'Normal' as const, reason: word, message: '' }] : [],
        });
      },
      emit: (events) => statuses.push(...events.map(({ reason }) => reason)),
      reported: () => undefined,
    },
    { nodeName: 'n1', vocabulary, updateMs: 10_000, reportMs: 300_000 },
  );
  const stop = new AbortController();
  const running = reporter.run(stop.signal);
  return {
    clock,
    patches,
    statuses,
    reporter,
    turn: (next: string) => void (word = next),
    fail: (error: Error | undefined) => void (fieldError = error),
    setNode: (next: Node | undefined) => void (node = next),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

describe('createStatusReporter', () => {
  test('reports immediately, then changes only, and an unchanged status every five minutes', async () => {
    await using world = startReporter();
    await world.clock.advance(0);
    expect(world.patches).toHaveLength(1);
    await world.clock.advance(299_000);
    expect(world.patches).toHaveLength(1);
    await world.clock.advance(1000);
    expect(world.patches).toHaveLength(2);
    world.turn('False');
    await world.clock.advance(10_000);
    expect(world.patches).toHaveLength(3);
    expect(world.statuses).toEqual(['True', 'False']);
  });

  test('reports a change immediately when woken', async () => {
    await using world = startReporter();
    await world.clock.advance(0);
    world.turn('False');
    world.reporter.wake();
    await world.clock.advance(0);
    expect(world.patches).toHaveLength(2);
  });

  test('retries soon while the server is unavailable, and emits events once', async () => {
    await using world = startReporter();
    world.fail(new ServerUnreachableError('away'));
    await world.clock.advance(0);
    await world.clock.advance(5000);
    expect(world.patches.length).toBeGreaterThan(3);
    expect(world.statuses).toEqual([]);
    world.fail(undefined);
    await world.clock.advance(10_000);
    expect(world.statuses).toEqual(['True']);
  });

  test('reports nothing while the node does not exist', async () => {
    await using world = startReporter();
    await world.clock.advance(0);
    world.setNode(undefined);
    await world.clock.advance(400_000);
    expect(world.patches).toHaveLength(1);
    world.setNode(NODE);
    world.reporter.wake();
    await world.clock.advance(0);
    expect(world.patches).toHaveLength(2);
  });
});
