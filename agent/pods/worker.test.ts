import { beforeEach, describe, expect, test } from 'vitest';
import { createFakeClock, type FakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import { VolumeError } from '#volumes/types.ts';
import type { PodOperations } from './operations/types.ts';
import type { RecordChanges } from './record-writer.ts';
import { podStatus } from './status.ts';
import { TestWorld, WORLD_POD_UID } from './test-world.ts';
import { type PodStart, PodWorker } from './worker.ts';

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
  world.answerAll();
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
    { pod: POD, startedAtMs: clock.now(), terminal: undefined, adopted: false, ...start },
  );
}

const running = (): readonly string[] => world.running().map(({ id }) => id);

describe('PodWorker', () => {
  test('brings a pod up and leaves it running when it is told to stop', async () => {
    const worker = createWorker();
    const stop = new AbortController();
    const run = worker.run(stop.signal);
    await clock.advance(0);
    expect(worker.status().phase).toBe('Running');
    stop.abort(new Error('stop'));
    expect(await run).toBe(false);
    expect(running()).toHaveLength(1);
  });

  test('is settled when what it began has ended, though it was told to stop before', async () => {
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

  test('removes all of a pod that is not wanted any more, and says so', async () => {
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

  test('restarts at once the first time and after 10 s the second time', async () => {
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

  test('a container that is another now starts at once, and its crashes are counted anew', async () => {
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

  test('a container that is another now does not wait for the failed start of the one before', async () => {
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

  test('tries again with backoff what failed, tells of it, and at once when it is asked to', async () => {
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

  test('tries volumes again when their own delay is over, with one event for each try', async () => {
    let tries = 0;
    const mountVolumes = (): Promise<void> => {
      tries += 1;
      const heldBackMs = 30_000;
      return Promise.reject(new VolumeError('volume "v": no server', { volumes: ['v'], heldBackMs }));
    };
    void createWorker({ mountVolumes }).run(new AbortController().signal);
    await clock.advance(0);
    await clock.advance(29_999);
    expect(tries).toBe(1);
    await clock.advance(1);
    expect(tries).toBe(2);
    expect(warnings).toEqual(Array.from({ length: 2 }, () => 'FailedMount: volume "v": no server'));
  });

  test('shows why a container could not be started and tries again', async () => {
    world.fates.push('ok', 'ok', 'refused');
    const worker = createWorker();
    void worker.run(new AbortController().signal);
    await clock.advance(0);
    expect(worker.status().containerStatuses?.[0]?.state?.waiting?.reason).toBe('CreateContainerError');
    await clock.advance(10_000);
    expect(running()).toHaveLength(1);
  });

  test('a shorter grace hurries a removal under way, a longer one changes nothing', async () => {
    const graces: number[] = [];
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
    const askedAtMs = clock.now();
    await clock.advance(10_000);
    expect(worker.deletion).toEqual({ atMs: askedAtMs + 30_000, gracePeriodSeconds: 30 });
    worker.remove(1);
    expect(worker.deletion).toEqual({ atMs: askedAtMs + 1_000, gracePeriodSeconds: 1 });
    await clock.advance(0);
    expect(await run).toBe(true);
    expect(graces).toEqual([30, 1]);
  });

  test('keeps the end of a pod for the next agent, which does not run it again', async () => {
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
