import { describe, expect, test } from 'vitest';
import type { Node, Pod } from '#api/gen/core-v1.ts';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { Json } from '../api-client/client.ts';
import { ServerUnreachableError } from '../api-client/errors.ts';
import { createMirrorReconciler } from './mirror-reconciler.ts';
import { createPodStore } from './pod-store.ts';

const vocabulary = VOCABULARIES.plat;
const staticPod = (hash: string): Pod => ({
  metadata: { name: 'web-n1', namespace: 'default', annotations: { [vocabulary.configHash]: hash } },
  spec: { containers: [] },
});
const desired = (...pods: readonly Pod[]) => ({
  pods: pods.map((pod) => ({ pod, origin: { source: 'file', location: '/m', document: '1' } as const })),
  unread: ['api'] as const,
});

async function setUp() {
  const clock = createFakeClock();
  const store = createPodStore();
  const node = Promise.withResolvers<Node>();
  const calls: string[] = [];
  const errors: Error[] = [];
  let version = 0;
  const withUid = (object: Json, uid: string): Json => {
    version += 1;
    return {
      ...object,
      metadata: { ...(object['metadata'] as Json), uid, resourceVersion: String(version) },
    };
  };
  const reconciler = createMirrorReconciler({
    client: {
      async create(_, object) {
        calls.push('create');
        const error = errors.shift();
        if (error !== undefined) throw error;
        store.change({ type: 'ADDED', object: withUid(object, `m${calls.length}`) });
        return object;
      },
      async delete(_, __, options) {
        calls.push(`delete ${JSON.stringify(options)}`);
        for (const object of store.list()) store.change({ type: 'DELETED', object });
        return {};
      },
    },
    store,
    whenNode: () => node.promise,
    vocabulary,
    clock,
    log: silentLogger,
  });
  const stop = new AbortController();
  // As in the agent, before anything runs.
  const known: (string | undefined)[] = [];
  store.onChange(() => known.push(reconciler.uidOf(staticPod('a'))));
  const running = reconciler.run(stop.signal);
  store.replace([]);
  return {
    clock,
    reconciler,
    store,
    known,
    calls,
    errors,
    registered: () => node.resolve({ metadata: { name: 'n1', uid: 'node' } }),
    async [Symbol.asyncDispose]() {
      stop.abort(new Error('over'));
      await running;
    },
  };
}

describe('createMirrorReconciler', () => {
  test('creates a mirror once the node exists', async () => {
    await using world = await setUp();
    world.reconciler.apply(desired(staticPod('a')));
    await world.clock.advance(0);
    expect(world.calls).toEqual([]);
    world.registered();
    await world.clock.advance(0);
    world.reconciler.apply(desired(staticPod('a')));
    await world.clock.advance(0);
    expect(world.calls).toEqual(['create']);
    expect(world.reconciler.uidOf(staticPod('a'))).toBe('m1');
  });

  test('knows of a mirror before other subscribers of the store', async () => {
    await using world = await setUp();
    world.registered();
    world.reconciler.apply(desired(staticPod('a')));
    await world.clock.advance(0);
    // The mirror is deleted and created again.
    for (const object of world.store.list()) world.store.change({ type: 'DELETED', object });
    await world.clock.advance(0);
    expect(world.known).toEqual([undefined, 'm1', undefined, 'm2']);
  });

  test('replaces it for another manifest, and deletes it with the last', async () => {
    await using world = await setUp();
    world.registered();
    world.reconciler.apply(desired(staticPod('a')));
    await world.clock.advance(0);
    // The status of the new pod is not written to the mirror of the old one.
    expect([world.reconciler.uidOf(staticPod('a')), world.reconciler.uidOf(staticPod('b'))]).toEqual([
      'm1',
      undefined,
    ]);
    world.reconciler.apply(desired(staticPod('b')));
    await world.clock.advance(0);
    expect(world.calls.map((call) => call.split(' ')[0])).toEqual(['create', 'delete', 'create']);
    expect(world.calls[1]).toBe('delete {"gracePeriodSeconds":0,"preconditions":{"uid":"m1"}}');
    world.reconciler.apply(desired());
    await world.clock.advance(0);
    expect(world.calls.at(-1)).toContain('"uid":"m3"');
    expect(world.reconciler.uidOf(staticPod('b'))).toBeUndefined();
  });

  test('retries failures', async () => {
    await using world = await setUp();
    world.registered();
    world.errors.push(new ServerUnreachableError('away'));
    world.reconciler.apply(desired(staticPod('a')));
    await world.clock.advance(0);
    await world.clock.advance(1000);
    expect(world.calls).toEqual(['create', 'create']);
  });
});
