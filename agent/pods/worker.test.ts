import { beforeEach, describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { createFakeClock, type FakeClock } from '#api/kit/clock.ts';
import type { Int64 } from '#api/kit/int64.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { combineFailures } from '#volumes/errors/setup-error.ts';
import { podIdentity } from '../pod-identity/identity.ts';
import type { RecordChanges } from './record/record.ts';
import { podStatus } from './status/status.ts';
import { PodWorker } from './worker.ts';
import type { PodOperations, PodStart } from './worker-contract.ts';
import { TestWorld, WORLD_POD_UID } from './world.fixture.ts';

const POD: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: WORLD_POD_UID },
  spec: { containers: [{ name: 'a', image: 'i' }], terminationGracePeriodSeconds: 30 },
};

let clock: FakeClock;
let world: TestWorld;
let saved: RecordChanges[];
let warnings: string[];

beforeEach(() => {
  clock = createFakeClock();
  world = new TestWorld(() => clock.now());
  world.completeAll();
  saved = [];
  warnings = [];
});

function createWorker(operations: Partial<PodOperations> = {}, start: Partial<PodStart> = {}): PodWorker {
  return new PodWorker(
    {
      clock,
      log: silentLogger,
      view: world.view,
      operations: { ...world.operations, ...operations },
      syncProbes: () => undefined,
      probeVerdict: () => undefined,
      save: (changes) => {
        saved.push(changes);
        return Promise.resolve();
      },
      status: (facts) =>
        podStatus({
          ...facts,
          hostIPs: [],
          qosClass: 'BestEffort',
          runtimeName: 'fake',
          nowMs: clock.now(),
        }),
      onStatus: () => undefined,
      warn: (reason, message) => void warnings.push(`${reason}: ${message}`),
      keepTerminatedVolumes: false,
    },
    {
      pod: POD,
      identity: podIdentity(POD),
      startedAtMs: clock.now(),
      terminal: undefined,
      adopted: false,
      ...start,
    },
  );
}

const running = (): readonly string[] => world.running().map(({ id }) => id);

describe('PodWorker', () => {
  test('starts a pod and leaves it running when the agent stops', async () => {
    const worker = createWorker();
    const stop = new AbortController();
    const run = worker.run(stop.signal);
    await clock.advance(0);
    expect(worker.status().phase).toBe('Running');
    stop.abort(new Error('stop'));
    expect(await run).toBe(false);
    expect(running()).toHaveLength(1);
  });

  test('settles once operations in flight have ended, even after the stop signal', async () => {
    const call = Promise.withResolvers<void>();
    const worker = createWorker({ createSandbox: () => call.promise });
    const stop = new AbortController();
    const run = worker.run(stop.signal);
    await clock.advance(0);
    stop.abort(new Error('stop'));
    await run;
    let isSettled = false;
    const onSettled = (): void => {
      isSettled = true;
    };
    void worker.settled().then(onSettled);
    await clock.advance(0);
    expect(isSettled).toBe(false);
    call.resolve();
    await clock.advance(0);
    expect(isSettled).toBe(true);
  });

  test('removes everything of an undesired pod, and returns true', async () => {
    const worker = createWorker();
    const run = worker.run(new AbortController().signal);
    await clock.advance(0);
    expect(worker.deletion).toBeUndefined();
    worker.remove(30);
    expect(worker.removing).toBe(true);
    await clock.advance(0);
    expect(await run).toBe(true);
    expect([world.isRemoved, world.isMounted, world.violations]).toEqual([true, false, []]);
  });

  test('restarts immediately the first time and after 10 s the second time', async () => {
    void createWorker().run(new AbortController().signal);
    await clock.advance(0);
    world.exit(0, 1, true);
    await clock.advance(0);
    expect(running()).toHaveLength(1);
    world.exit(0, 1, true);
    await clock.advance(9_999);
    expect(running()).toEqual([]);
    await clock.advance(1);
    expect(running()).toHaveLength(1);
  });

  test('a changed container starts immediately, with its backoff reset', async () => {
    const worker = createWorker();
    void worker.run(new AbortController().signal);
    await clock.advance(0);
    const crash = async (): Promise<void> => {
      world.exit(0, 1, true);
      await clock.advance(0);
    };
    await crash();
    await crash();
    expect(running()).toHaveLength(0);
    await clock.advance(10_000);
    await crash();
    expect(worker.status().containerStatuses?.[0]?.state?.waiting?.message).toContain('back-off 20s');
    const spec = { ...POD.spec, containers: [{ name: 'a', image: 'other' }] };
    await worker.update({ ...POD, spec });
    await clock.advance(0);
    expect(running()).toHaveLength(1);
    await crash();
    expect(worker.status().containerStatuses?.[0]?.state?.waiting?.message).toContain('back-off 10s');
  });

  test('a changed container does not wait for the failed start of its predecessor', async () => {
    const images: (string | undefined)[] = [];
    const worker = createWorker({
      startContainer(_, { spec }) {
        images.push(spec.image);
        return Promise.resolve({
          kind: 'failed',
          reason: 'ImagePullBackOff',
          message: 'no',
          retryAtMs: clock.now() + 300_000,
        });
      },
    });
    void worker.run(new AbortController().signal);
    await clock.advance(60_000);
    await worker.update({ ...POD, spec: { ...POD.spec, containers: [{ name: 'a', image: 'other' }] } });
    await clock.advance(0);
    expect(images).toEqual(['i', 'other']);
  });

  test('retries failures with backoff and an event, and immediately on request', async () => {
    world.fates.push('refused', 'ok');
    const worker = createWorker();
    void worker.run(new AbortController().signal);
    await clock.advance(0);
    expect(warnings).toEqual(['FailedMount: mountVolumes was refused']);
    expect(running()).toEqual([]);
    worker.retry();
    await clock.advance(0);
    expect(running()).toHaveLength(1);
  });

  test('retries volumes after their own delay, with one event per attempt', async () => {
    let tries = 0;
    const mountVolumes = (): Promise<void> => {
      tries += 1;
      const backoffMs = 30_000;
      return Promise.reject(combineFailures([{ name: 'v', error: new Error('no server') }], backoffMs));
    };
    void createWorker({ mountVolumes }).run(new AbortController().signal);
    await clock.advance(0);
    await clock.advance(29_999);
    expect(tries).toBe(1);
    await clock.advance(1);
    expect(tries).toBe(2);
    const failed = 'FailedMount: MountVolume.SetUp failed for volume "v" : no server';
    expect(warnings).toEqual([failed, failed]);
    warnings = [];
    for (let round = 0; round < 5; round += 1) await clock.advance(30_000);
    const waited =
      'FailedMount: Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[]: ' +
      'timed out waiting for the condition';
    // The event of the pod follows its 123 s of waiting, and not each retry after that.
    expect(warnings).toEqual([failed, failed, failed, failed, waited, failed]);
  });

  test('reports why a container failed to start and retries', async () => {
    world.fates.push('ok', 'ok', 'refused');
    const worker = createWorker();
    void worker.run(new AbortController().signal);
    await clock.advance(0);
    expect(worker.status().containerStatuses?.[0]?.state?.waiting?.reason).toBe('CreateContainerError');
    await clock.advance(10_000);
    expect(running()).toHaveLength(1);
  });

  test('a shorter grace period speeds up a removal in progress, a longer one changes nothing', async () => {
    const graces: Int64[] = [];
    const worker = createWorker({
      killContainer: (pod, action, signal) => {
        graces.push(action.gracePeriodSeconds);
        if (action.gracePeriodSeconds < 30) return world.operations.killContainer(pod, action, signal);
        return new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(new Error('hurried')));
        });
      },
    });
    const run = worker.run(new AbortController().signal);
    await clock.advance(0);
    worker.remove(30);
    await clock.advance(0);
    worker.remove(60);
    await clock.advance(0);
    expect(graces).toEqual([30]);
    const requestedAtMs = clock.now();
    await clock.advance(10_000);
    expect(worker.deletion).toEqual({ atMs: requestedAtMs + 30_000, gracePeriodSeconds: 30 });
    worker.remove(1);
    expect(worker.deletion).toEqual({ atMs: requestedAtMs + 1_000, gracePeriodSeconds: 1 });
    await clock.advance(0);
    expect(await run).toBe(true);
    expect(graces).toEqual([30, 1]);
  });

  test('persists the terminal phase for the next agent, which does not rerun the pod', async () => {
    const pod = {
      ...POD,
      spec: { ...POD.spec, restartPolicy: 'Never' as const, containers: [{ name: 'a' }] },
    };
    const stop = new AbortController();
    void createWorker({}, { pod }).run(stop.signal);
    await clock.advance(0);
    world.exit(0, 0, true);
    await clock.advance(0);
    const [terminal] = saved.flatMap((changes) => changes.terminal ?? []);
    expect(terminal?.phase).toBe('Succeeded');
    stop.abort(new Error('stop'));
    world.restartAgent();
    const next = createWorker({}, { pod, terminal, adopted: true });
    void next.run(new AbortController().signal);
    await clock.advance(60_000);
    expect(next.status().phase).toBe('Succeeded');
    expect(world.containers()).toHaveLength(1);
    expect(world.isMounted).toBe(false);
  });
});
