/** Setup of the volume rows: a temporary directory, and the volume manager as the agent creates it. */
import { mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { VolumeManager } from '#volumes/contract/volume-manager.ts';
import { VOLUME_DEVICES, VOLUMES } from '#volumes/files/layout.ts';
import { createVolumeManager } from '#volumes/manage/manager.ts';
import { createMounter } from '#volumes/mount/mounter.ts';
import { detachBeneath } from '#volumes/mount/teardown.ts';
import { createDiskUsage } from '#volumes/usage/disk-usage.ts';
import { createTempDir } from '../../testing/temp.ts';
import { POD_COUNT } from '../setup.ts';
import { createVolumeFloor } from './floor.ts';
import { type MountTimes, measureMounts } from './mount-rows.ts';
import { objects, podUID, volumePod } from './pods.ts';

/** Size of a volume in memory: its share of the assumed memory of the node. */
const MEMORY_BYTES = 2 ** 30;

export interface VolumeBench {
  /** Creates a directory for one measurement, on the same disk as the others. */
  readonly folder: (name: string) => Promise<string>;
  /** Returns a manager without state, as after a start of the agent. */
  readonly manager: (rootDir: string) => VolumeManager;
  /** Mounts the volumes of all pods. Returns the time in ms. */
  readonly mountAll: (manager: VolumeManager) => Promise<number>;
  /** Does the same in the bare loop. */
  readonly mountBare: (rootDir: string) => Promise<number>;
  /** Unmounts everything in a directory. */
  readonly clear: (rootDir: string) => Promise<void>;
  /** Measures mount times once for all rows. */
  readonly mountTimes: () => Promise<readonly MountTimes[]>;
  /** Returns a function that measures the usage of the volumes in a directory and returns their number. */
  readonly usage: (rootDir: string) => () => Promise<number>;
  readonly say: (line: string) => void;
}

const indices = Array.from({ length: POD_COUNT }, (_, index) => index);

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

export async function setUpVolumes(
  stack: AsyncDisposableStack,
  say: (line: string) => void,
): Promise<VolumeBench> {
  const base = stack.use(await createTempDir('na-bench-v-'));
  const path = await realpath(base.path);
  const mounter = createMounter();
  stack.defer(() => detachBeneath(mounter, path));
  const { signal } = new AbortController();
  let times: Promise<readonly MountTimes[]> | undefined;
  const parts: Omit<VolumeBench, 'mountTimes'> = {
    async folder(name) {
      const dir = join(path, name);
      await mkdir(dir);
      return dir;
    },
    manager: (rootDir) =>
      createVolumeManager(
        {
          rootDir,
          objects,
          clock: systemClock,
          log: silentLogger,
          vocabulary: VOCABULARIES.plat,
          allocatable: () => ({ memory: MEMORY_BYTES }),
        },
        mounter,
      ),
    mountAll: (manager) =>
      timed(() => Promise.all(indices.map((index) => manager.mountPod(volumePod(index), signal)))),
    mountBare(rootDir) {
      const floor = createVolumeFloor(mounter.syscalls, { rootDir, sizeBytes: MEMORY_BYTES });
      return timed(() => Promise.all(indices.map((index) => floor.mountPod(podUID(index)))));
    },
    clear: (rootDir) => detachBeneath(mounter, rootDir),
    usage: (rootDir) => usageIn(rootDir, stack),
    say,
  };
  return {
    ...parts,
    mountTimes() {
      times ??= measureMounts(parts);
      return times;
    },
  };
}

function usageIn(rootDir: string, stack: DisposableOf): () => Promise<number> {
  const folders = indices.map((index) => {
    const dir = join(rootDir, 'pods', podUID(index));
    return {
      uid: podUID(index),
      volumesDir: join(dir, VOLUMES),
      devicesDir: join(dir, VOLUME_DEVICES),
      logsDir: join(dir, 'logs'),
    };
  });
  const usage = createDiskUsage(
    { clock: systemClock, log: silentLogger, pods: () => folders },
    { periodMs: 60_000 },
  );
  stack.defer(() => usage.close());
  return async () => {
    await usage.measure();
    return folders.reduce((total, { uid }) => total + usage.of(uid).length, 0);
  };
}

type DisposableOf = Pick<AsyncDisposableStack, 'defer'>;
