import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import type { Pod, PodStatus } from '#api/schema/gen/core-v1.ts';
import type { Json } from '../api-client/client.ts';
import { ApiRequestError, ServerUnreachableError } from '../api-client/errors.ts';
import { createPodStore } from './pod-store.ts';
import { createStatusWriter, type LocalPod } from './status-writer.ts';

const pod = (uid: string): Pod => ({ metadata: { name: `p${uid}`, namespace: 'default', uid } });
const object = (uid: string, version: number, more: object = {}): Json => ({
  metadata: { ...pod(uid).metadata, resourceVersion: String(version), ...more },
  status: { phase: 'Pending' },
});

/** The object at a later version. */
const answered = (known: Json | undefined, version: number): Json => ({
  metadata: { ...(known?.['metadata'] as Json), resourceVersion: String(version) },
});

async function setUp() {
  const clock = createFakeClock();
  const store = createPodStore();
  const calls: string[] = [];
  const faults: Error[] = [];
  const local = new Map<string, LocalPod>();
  const turn = { promise: Promise.resolve() };
  let version = 100;
  const answer = (call: string, uid: string, change: object): Promise<Json> => {
    calls.push(call);
    const fault = faults.shift();
    version += 1;
    const known = store.get(uid);
    const status = { ...(known?.['status'] as Json), ...change };
    return fault === undefined
      ? Promise.resolve({ ...known, ...answered(known, version), status })
      : Promise.reject(fault);
  };
  const writer = createStatusWriter({
    client: {
      patch: ({ name }, { content }) => {
        const { metadata, status } = content as { metadata: { uid: string }; status: PodStatus };
        return answer(`patch ${name} ${metadata.uid} ${status.phase}`, metadata.uid, status);
      },
      delete: ({ name }, _signal, options) => answer(`delete ${name} ${JSON.stringify(options)}`, 'gone', {}),
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
    calls,
    faults,
    turn,
    writer,
    async tell(uid: string, phase: NonNullable<PodStatus['phase']>, message?: string) {
      const status = { phase, ...(message === undefined ? {} : { message }) };
      local.set(uid, { pod: pod(uid), status, serverUID: uid });
      writer.look();
      await clock.advance(0);
    },
    async [Symbol.asyncDispose]() {
      stop.abort(new Error('over'));
      await running;
    },
  };
}

describe('createStatusWriter', () => {
  test('tells a status once, with the UID that it is of', async () => {
    await using world = await setUp();
    world.store.replace([object('1', 5)]);
    await world.tell('1', 'Running');
    world.writer.look();
    await world.clock.advance(0);
    expect(world.calls).toEqual(['patch p1 1 Running']);
  });

  test('tells what is newest when its turn has come', async () => {
    await using world = await setUp();
    world.store.replace([object('1', 5)]);
    const { promise, resolve } = Promise.withResolvers<void>();
    world.turn.promise = promise;
    await world.tell('1', 'Running');
    await world.tell('1', 'Succeeded');
    expect(world.calls).toEqual([]);
    resolve();
    await world.clock.advance(0);
    expect(world.calls).toEqual(['patch p1 1 Succeeded']);
  });

  test('gathers what happens while a pod starts', async () => {
    await using world = await setUp();
    world.store.replace([object('1', 5), object('2', 5)]);
    const pending = (uid: string, message: string): Promise<void> => world.tell(uid, 'Pending', message);
    await pending('1', 'first');
    await pending('1', 'second');
    await world.clock.advance(99);
    expect(world.calls).toEqual([]);
    await world.clock.advance(1);
    expect(world.calls).toEqual(['patch p1 1 undefined']);
    // One that runs is told of at once, and once.
    await pending('2', 'first');
    await world.tell('2', 'Running');
    await world.clock.advance(1000);
    expect(world.calls).toEqual(['patch p1 1 undefined', 'patch p2 2 Running']);
  });

  test('waits for the server to know the pod', async () => {
    await using world = await setUp();
    await world.tell('1', 'Running');
    expect(world.calls).toEqual([]);
    world.store.replace([object('1', 5)]);
    await world.clock.advance(0);
    expect(world.calls).toEqual(['patch p1 1 Running']);
  });

  test('tries again with the newest status, at once when the server is back', async () => {
    await using world = await setUp();
    world.store.replace([object('1', 5)]);
    world.faults.push(new ServerUnreachableError('away'));
    await world.tell('1', 'Running');
    world.faults.push(new ServerUnreachableError('away'));
    await world.tell('1', 'Failed');
    world.store.back?.();
    await world.clock.advance(0);
    expect(world.calls).toEqual(['patch p1 1 Running', 'patch p1 1 Failed', 'patch p1 1 Failed']);
  });

  test('puts right what somebody else wrote', async () => {
    await using world = await setUp();
    world.store.replace([object('1', 5)]);
    await world.tell('1', 'Running');
    world.store.change({ type: 'MODIFIED', object: object('1', 500) });
    await world.clock.advance(0);
    expect(world.calls).toHaveLength(2);
  });

  test('gives a deleted pod back when nothing is left of it, after its last status', async () => {
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

  test('gives a pod of which nothing is known an end before it gives it back', async () => {
    await using world = await setUp();
    world.store.replace([object('1', 5, { deletionTimestamp: 'now' })]);
    world.writer.ended(pod('1'), undefined);
    await world.clock.advance(0);
    expect(world.calls).toEqual([
      'patch p1 1 Failed',
      'delete p1 {"gracePeriodSeconds":0,"preconditions":{"uid":"1"}}',
    ]);
  });

  test('never deletes a pod that nobody asked to delete', async () => {
    await using world = await setUp();
    world.store.replace([object('1', 5)]);
    world.writer.ended(pod('1'), { phase: 'Failed' });
    await world.clock.advance(0);
    expect(world.calls).toEqual(['patch p1 1 Failed']);
  });

  test('is done with a pod that is gone', async () => {
    await using world = await setUp();
    world.store.replace([object('1', 5)]);
    world.faults.push(new ApiRequestError({ status: 404, reason: 'NotFound', message: 'no' }));
    await world.tell('1', 'Running');
    await world.clock.advance(120_000);
    expect(world.calls).toHaveLength(1);
  });
});
