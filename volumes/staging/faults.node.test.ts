import { describe, expect, test } from 'vitest';
import type { Volume } from '#api/gen/core-v1.ts';
import { type VolumeHost, type VolumeManager } from '../contract/volume-manager.ts';
import { unmounted } from '../devices/taken-down.fixture.ts';
import { VolumeError } from '../errors/volume-error.ts';
import { createSyscalls, SyscallError } from '../files/syscalls.ts';
import { testPod } from '../manage/host.fixture.ts';
import { createMounter, type Mounter } from '../mount/mounter.ts';
import type { RunProgram } from '../programs/contract.ts';
import { createRunProgram } from '../programs/run-program.ts';
import { createRecordFiles, type RecordFiles } from './record-files.ts';
import { createTestStage, type TestStage } from './stage.fixture.ts';

const never = new AbortController().signal;
const volumes: Volume[] = [
  { name: 'm', emptyDir: { medium: 'Memory' } },
  { name: 'd', persistentVolumeClaim: { claimName: 'd', readOnly: true } },
  { name: 'raw', persistentVolumeClaim: { claimName: 'raw' } },
];
const pod = {
  ...testPod('p1', volumes),
  spec: {
    volumes,
    containers: [
      {
        name: 'app',
        volumeMounts: ['m', 'd'].map((name) => ({ name, mountPath: `/${name}` })),
        volumeDevices: [{ name: 'raw', devicePath: '/dev/x' }],
      },
    ],
  },
};

interface Ending {
  readonly mounter: Mounter;
  readonly files: RecordFiles;
  readonly run: RunProgram;
  readonly failed: () => boolean;
}

/** Returns system calls, programs and record files that fail from the `nth` step on, as if the agent had
 *  been killed. */
function endingAt(nth: number): Ending {
  const calls = createSyscalls();
  const files = createRecordFiles();
  const run = createRunProgram();
  let steps = 0;
  const step = async <T>(work: () => Promise<T>): Promise<T> => {
    steps += 1;
    if (steps >= nth) throw new SyscallError('killed', 4, 'here');
    return work();
  };
  const attributes = { setReadOnly: (target: string) => step(() => calls.setReadOnly(target)) };
  const syscalls = {
    mount: (call: Parameters<typeof calls.mount>[0]) => step(() => calls.mount(call)),
    unmount: (target: string, flags: number) => step(() => calls.unmount(target, flags)),
    openat2: (...[fd, path, how]: Parameters<typeof calls.openat2>) =>
      step(() => calls.openat2(fd, path, how)),
  };
  return {
    mounter: createMounter(syscalls, attributes),
    files: {
      read: (path) => files.read(path),
      write: (path, text) => step(() => files.write(path, text)),
      remove: (path) => step(() => files.remove(path)),
    },
    run: (...call) => step(() => run(...call)),
    failed: () => steps >= nth,
  };
}

const managerOf = (stage: TestStage, { mounter, files, run }: Ending): VolumeManager => {
  const host: Partial<VolumeHost> = { run };
  return stage.manager(mounter, { files }, host);
};

const settled = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );

async function createStage(): Promise<TestStage> {
  const stage = await createTestStage();
  await stage.disk('d');
  await stage.disk('raw', { volumeMode: 'Block' });
  return stage;
}

async function expectNothingLeft(stage: TestStage): Promise<void> {
  expect(await stage.mountPoints()).toEqual([]);
  expect(await stage.staged()).toEqual([]);
  await stage.detached('d');
  await stage.detached('raw');
}

/** Returns the pod's mounts with `ro` or `rw`. */
async function mountAgain(stage: TestStage, manager: VolumeManager): Promise<readonly string[]> {
  await manager.mountPod(pod, never);
  const mounts = await stage.t.mounts();
  return mounts.map(({ mountPoint, options }) => `${mountPoint} ${options[0]}`).toSorted();
}

// Every step is a separate run with newly formatted disks: tens of seconds on a busy machine.
describe('an agent killed between any two steps of staged volumes', { timeout: 180_000 }, () => {
  test('has exactly the desired mounts after the next start, and none after the pod is gone', async () => {
    await using stage = await createStage();
    const desired = await mountAgain(stage, stage.manager());
    expect(desired).toHaveLength(4);
    expect(desired.filter((line) => line.endsWith(' ro'))).toHaveLength(1);
    await unmounted(stage.manager(), 'p1');
    await expectNothingLeft(stage);
    for (let nth = 1, failed = true; failed; nth += 1) {
      const ending = endingAt(nth);
      const thrown = await settled(managerOf(stage, ending).mountPod(pod, never));
      failed = ending.failed();
      expect(thrown instanceof VolumeError).toBe(failed);
      const next = stage.manager();
      await next.recover(never);
      const again = nth % 2 === 0 ? await mountAgain(stage, next) : desired;
      expect(again).toEqual(desired);
      await unmounted(next, 'p1');
      await expectNothingLeft(stage);
      expect(await next.podsOnDisk()).toEqual([]);
    }
  });

  test('completes an interrupted teardown', async () => {
    await using stage = await createStage();
    const mounting = testPod('p1', volumes.slice(0, 2));
    for (let nth = 1, failed = true; failed; nth += 1) {
      await stage.manager().mountPod(mounting, never);
      const ending = endingAt(nth);
      const thrown = await settled(managerOf(stage, ending).unmountPod('p1'));
      failed = ending.failed();
      // Even without the fault, a disk held by other processes for a moment is not detached at once.
      expect(!failed || thrown instanceof VolumeError).toBe(true);
      const next = stage.manager();
      for (const uid of await next.podsOnDisk()) await unmounted(next, uid);
      await next.recover(never);
      await expectNothingLeft(stage);
      expect(await next.podsOnDisk()).toEqual([]);
    }
  });
});
