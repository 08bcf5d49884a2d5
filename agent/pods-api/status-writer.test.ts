import { describe, expect, test } from 'vitest';
import type { Pod, PodStatus } from '#api/gen/core-v1.ts';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import type { Json } from '../api-client/client.ts';
import { ApiRequestError, ServerUnreachableError } from '../api-client/errors.ts';
import { createPodStore } from './pod-store.ts';
import { createStatusWriter, type LocalPod } from './status-writer.ts';

const pod = (uid: string): Pod => ({ metadata: { name: `p${uid}`, namespace: 'default', uid } });
const object = (uid: string, version: number, more: object = {}): Json => ({
  metadata: { ...pod(uid).metadata, resourceVersion: String(version), ...more },
  status: { phase: 'Pending' },
});

/** Returns the object at a later version. */
const nextVersion = (known: Json | undefined, version: number): Json => ({
  metadata: { ...(known?.['metadata'] as Json), resourceVersion: String(version) },
});

interface Metadata {
  readonly uid: string;
  readonly resourceVersion?: string;
}

const conflict = (): ApiRequestError =>
  new ApiRequestError({ status: 409, reason: 'Conflict', message: 'the object has been modified' });

async function setUp() {
  const clock = createFakeClock();
  const store = createPodStore();
  const calls: string[] = [];
  const patches: { version: string | undefined; status: PodStatus }[] = [];
  const errors: Error[] = [];
  const local = new Map<string, LocalPod>();
  const turn = { promise: Promise.resolve() };
  let version = 100;
  const respond = (call: string, uid: string, change: object): Promise<Json> => {
    calls.push(call);
    const error = errors.shift();
    version += 1;
    const known = store.get(uid);
    const status = { ...(known?.['status'] as Json), ...change };
    return error === undefined
      ? Promise.resolve({ ...known, ...nextVersion(known, version), status })
      : Promise.reject(error);
  };
  const writer = createStatusWriter({
    client: {
      patch: ({ name }, { content }) => {
        const { metadata, status } = content as { metadata: Metadata; status: PodStatus };
        patches.push({ version: metadata.resourceVersion, status });
        return respond(`patch ${name} ${metadata.uid} ${status.phase}`, metadata.uid, status);
      },
      delete: ({ name }, _signal, options) =>
        respond(`delete ${name} ${JSON.stringify(options)}`, 'gone', {}),
    },
    store,
    clock,
    log: silentLogger,
    pace: () => turn.promise,
    local: () => [...local.values()],
  });
  const stop = new AbortController();
  const running = writer.run(stop.signal);
  return {
    clock,
    store,
    local,
    calls,
    patches,
    errors,
    turn,
    writer,
    async report(uid: string, phase: NonNullable<PodStatus['phase']>, message?: string) {
      const status = { phase, ...(message === undefined ? {} : { message }) };
      local.set(uid, { pod: pod(uid), status, serverUID: uid });
      writer.check();
      await clock.advance(0);
    },
    async [Symbol.asyncDispose]() {
      stop.abort(new Error('over'));
      await running;
    },
  };
}

describe('createStatusWriter', () => {
  test('reports a status once, with the UID of its pod', async () => {
    await using world = await setUp();
    world.store.replace([object('1', 5)]);
    await world.report('1', 'Running');
    world.writer.check();
    await world.clock.advance(0);
    expect(world.calls).toEqual(['patch p1 1 Running']);
  });

  test('reports the newest status after the rate limit', async () => {
    await using world = await setUp();
    world.store.replace([object('1', 5)]);
    const { promise, resolve } = Promise.withResolvers<void>();
    world.turn.promise = promise;
    await world.report('1', 'Running');
    await world.report('1', 'Succeeded');
    expect(world.calls).toEqual([]);
    resolve();
    await world.clock.advance(0);
    expect(world.calls).toEqual(['patch p1 1 Succeeded']);
  });

  test('coalesces changes while a pod starts', async () => {
    await using world = await setUp();
    world.store.replace([object('1', 5), object('2', 5)]);
    const pending = (uid: string, message: string): Promise<void> => world.report(uid, 'Pending', message);
    await pending('1', 'first');
    await pending('1', 'second');
    await world.clock.advance(99);
    expect(world.calls).toEqual([]);
    await world.clock.advance(1);
    expect(world.calls).toEqual(['patch p1 1 undefined']);
    // A running pod is reported at once, and once.
    await pending('2', 'first');
    await world.report('2', 'Running');
    await world.clock.advance(1000);
    expect(world.calls).toEqual(['patch p1 1 undefined', 'patch p2 2 Running']);
  });

  test('waits until the pod is on the server', async () => {
    await using world = await setUp();
    await world.report('1', 'Running');
    expect(world.calls).toEqual([]);
    world.store.replace([object('1', 5)]);
    await world.clock.advance(0);
    expect(world.calls).toEqual(['patch p1 1 Running']);
  });

  test('retries with the newest status, at once when the server is available again', async () => {
    await using world = await setUp();
    world.store.replace([object('1', 5)]);
    world.errors.push(new ServerUnreachableError('away'));
    await world.report('1', 'Running');
    world.errors.push(new ServerUnreachableError('away'));
    await world.report('1', 'Failed');
    world.store.back?.();
    await world.clock.advance(0);
    expect(world.calls).toEqual(['patch p1 1 Running', 'patch p1 1 Failed', 'patch p1 1 Failed']);
  });

  test('reverts changes of other clients', async () => {
    await using world = await setUp();
    world.store.replace([object('1', 5)]);
    await world.report('1', 'Running');
    world.store.change({ type: 'MODIFIED', object: object('1', 500) });
    await world.clock.advance(0);
    expect(world.calls).toHaveLength(2);
  });

  test('deletes a terminating pod on the server when nothing is left of it, after its last status', async () => {
    await using world = await setUp();
    world.store.replace([object('1', 5, { deletionTimestamp: 'now' })]);
    world.writer.ended(pod('1'), { phase: 'Failed' });
    world.writer.ended(pod('1'), undefined);
    await world.clock.advance(0);
    expect(world.calls).toEqual([
      'patch p1 1 Failed',
      'delete p1 {"gracePeriodSeconds":0,"preconditions":{"uid":"1"}}',
    ]);
  });

  test('reports a terminal phase for an unknown pod before deleting it', async () => {
    await using world = await setUp();
    world.store.replace([object('1', 5, { deletionTimestamp: 'now' })]);
    world.writer.ended(pod('1'), undefined);
    await world.clock.advance(0);
    expect(world.calls).toEqual([
      'patch p1 1 Failed',
      'delete p1 {"gracePeriodSeconds":0,"preconditions":{"uid":"1"}}',
    ]);
  });

  test('never deletes a pod without a deletion timestamp', async () => {
    await using world = await setUp();
    world.store.replace([object('1', 5)]);
    world.writer.ended(pod('1'), { phase: 'Failed' });
    await world.clock.advance(0);
    expect(world.calls).toEqual(['patch p1 1 Failed']);
  });

  test('derives a status again from what another client has changed meanwhile', async () => {
    await using world = await setUp();
    const unready = (version: number, lastTransitionTime: string): Json => ({
      ...object('1', version),
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'False', lastTransitionTime }] },
    });
    world.store.replace([object('1', 5)]);
    const conditions = [
      { type: 'Ready', status: 'False', lastTransitionTime: '2026-01-01T00:00:01Z' },
    ] as const;
    world.errors.push(conflict());
    world.local.set('1', { pod: pod('1'), status: { phase: 'Running', conditions }, serverUID: '1' });
    world.writer.check();
    await world.clock.advance(60_000);
    expect(world.patches.map(({ version }) => version)).toEqual(['5']);
    // Later than the transition that this agent has seen.
    world.store.change({ type: 'MODIFIED', object: unready(7, '2026-01-01T00:00:02Z') });
    await world.clock.advance(60_000);
    expect(world.patches).toHaveLength(1);
  });

  test('reports a status even if another client changes the pod all the time', async () => {
    await using world = await setUp();
    world.store.replace([object('1', 5)]);
    for (let each = 0; each < 5; each += 1) world.errors.push(conflict());
    await world.report('1', 'Running');
    for (let version = 6; version < 11; version += 1) {
      world.store.change({ type: 'MODIFIED', object: object('1', version) });
      await world.clock.advance(0);
    }
    expect(world.patches.map(({ version }) => version)).toEqual(['5', '6', '7', '8', '9', undefined]);
    // The next one is conditional again.
    await world.report('1', 'Succeeded');
    expect(world.patches.at(-1)?.version).toBe('106');
  });

  test('stops reporting a pod that is gone', async () => {
    await using world = await setUp();
    world.store.replace([object('1', 5)]);
    world.errors.push(new ApiRequestError({ status: 404, reason: 'NotFound', message: 'no' }));
    await world.report('1', 'Running');
    await world.clock.advance(120_000);
    expect(world.calls).toHaveLength(1);
  });
});
