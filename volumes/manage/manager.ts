/** Setup and teardown of pods' volumes. Remembers in memory which volumes it set up; everything else is read
 *  from disk and the mount table, so that a restart loses nothing.
 *  Volumes of a pod are handled in parallel, operations on one volume one at a time. */

import { mkdir } from 'node:fs/promises';
import type { Pod } from '#api/gen/core-v1.ts';
import { asError } from '#api/kit/errno.ts';
import type { SourcePlugin, UndoServices } from '../contract/source.ts';
import { type MountedVolume, type VolumeHost, type VolumeManager } from '../contract/volume-manager.ts';
import { combineFailures, VolumeSetupError } from '../errors/setup-error.ts';
import type { VolumeFailure } from '../errors/volume-error.ts';
import { checkName, subPathsDir, subPathTarget, volumesDir } from '../files/layout.ts';
import { createMounter, type Mounter } from '../mount/mounter.ts';
import { checkResponds } from '../mount/remote-mounts.ts';
import { bindSubPath } from '../mount/subpath.ts';
import { tearDownSubPaths } from '../mount/teardown.ts';
import { SOURCES, type SourceTable } from '../sources/table.ts';
import { createPodTasks, type PodTasks, until } from '../staging/pod-tasks.ts';
import { createPublished } from '../staging/published.ts';
import { createRecordFiles, type RecordFiles } from '../staging/record-files.ts';
import { createStager } from '../staging/stager.ts';
import { createAttempts } from './attempts.ts';
import {
  type ActualVolume,
  decideRefresh,
  decideSetUp,
  desiredVolumes,
  type VolumeOperation,
} from './decide.ts';
import { createUseTracker, type UseTracker } from './in-use.ts';
import { createMaintenance } from './maintenance.ts';
import { createMeasure, type Measure } from './measure.ts';
import { podsOnDisk } from './pods-on-disk.ts';
import { createRemoteBinds } from './remote-binds.ts';
import { createSetUp, type SetUpVolume, uidOf, undoServices } from './set-up.ts';
import { createUndo, type Undo } from './undo.ts';
import { createUnmount, tearDownError } from './unmount.ts';

/** Parts replaced in tests. */
export interface ManagerParts {
  readonly sources?: SourceTable;
  readonly files?: RecordFiles;
}

interface Work extends Pick<VolumeManager, 'recover'> {
  readonly services: UndoServices;
  readonly inUse: UseTracker;
  readonly setUp: SetUpVolume;
  readonly undo: Undo;
  readonly measure: Measure;
}

/** Creates the operations on volumes, independent of scheduling. */
function createWork(
  host: VolumeHost,
  mounter: Mounter,
  { sources = SOURCES, files = createRecordFiles() }: ManagerParts,
): Work {
  const { rootDir, log } = host;
  const services = undoServices(host, mounter);
  const plugin = (name: string): SourcePlugin | undefined => sources.plugin(name);
  const published = createPublished({ rootDir, files, log });
  const stager = createStager({ rootDir, files, published, plugin, services, log });
  const undo = createUndo({ rootDir, services, plugin, published, stager, log });
  const left = async (): Promise<readonly string[]> => [
    ...(await podsOnDisk(rootDir)),
    ...(await stager.staged()).map(({ uniqueName }) => leftOver(uniqueName)),
  ];
  const inUse = createUseTracker({ ...host, podsOnDisk: left });
  return {
    services,
    inUse,
    setUp: createSetUp({ host, services, inUse, sources, published, stager }),
    undo,
    measure: createMeasure(host),
    async recover(signal) {
      try {
        await undo.leftovers(({ uniqueName }) => inUse.checked(leftOver(uniqueName)), signal);
      } catch (thrown) {
        log.warn({ err: asError(thrown) }, 'Failed to read staged volumes of an earlier run');
      }
    },
  };
}

export function createVolumeManager(
  host: VolumeHost,
  mounter: Mounter = createMounter(),
  parts: ManagerParts = {},
): VolumeManager {
  const { rootDir, log, clock } = host;
  const { services, inUse, setUp, undo, recover, measure } = createWork(host, mounter, parts);
  const attempts = createAttempts({ clock });
  const tasks = createPodTasks();
  const maintain = createMaintenance({ attempts, tasks, log });
  const actual = new Map<string, Map<string, ActualVolume>>();

  const volumesOf = (podUID: string): ReadonlyMap<string, ActualVolume> => actual.get(podUID) ?? new Map();

  function keep(podUID: string, volume: ActualVolume): void {
    const volumes = actual.get(podUID) ?? new Map<string, ActualVolume>();
    actual.set(podUID, volumes.set(volume.mounted.name, volume));
  }

  const unmount = createUnmount({
    clock,
    rootDir,
    attempts,
    tasks,
    undo: (podUID) => {
      actual.delete(podUID);
      return measure.unmount(podUID, () => undo.pod(podUID));
    },
    done: (podUID) => inUse.release(podUID),
  });

  async function execute(
    pod: Pod,
    operations: readonly VolumeOperation[],
    signal: AbortSignal,
  ): Promise<void> {
    const podUID = uidOf(pod);
    const folder = volumesFolder(rootDir, podUID);
    const perform = async ({ kind, desired }: VolumeOperation): Promise<VolumeFailure | undefined> => {
      const { name } = desired;
      try {
        const work = (inner: AbortSignal): Promise<void> =>
          tasks.run(podUID, `volumes/${name}`, async () => {
            await folder();
            keep(podUID, await setUp(pod, desired, inner));
          });
        if (kind === 'refresh') await work(signal);
        else await attempts.run(podUID, name, measure.mount(podUID, desired, work), signal);
        if (kind === 'setUp') log.debug({ podUID, volume: name }, 'Volume set up');
        return undefined;
      } catch (thrown) {
        return { name, error: asError(thrown) };
      }
    };
    const results = await until(signal, Promise.all(operations.map(perform)));
    const failures = results.filter((failure) => failure !== undefined);
    signal.throwIfAborted();
    if (failures.length > 0) throw combineFailures(failures, attempts.backoffMs(podUID, namesOf(failures)));
  }

  return {
    inUse,

    async mountPod(pod, signal) {
      signal.throwIfAborted();
      const [podUID, desired] = [uidOf(pod), desiredVolumes(pod)];
      try {
        await execute(pod, decideSetUp(desired, volumesOf(podUID)), signal);
      } finally {
        inUse.checked(podUID);
      }
      const ready = volumesOf(podUID);
      return new Map(desired.map(({ name }) => [name, mountedOf(ready, name)]));
    },

    async refreshPod(pod) {
      maintain(uidOf(pod), volumesOf(uidOf(pod)));
      const operations = decideRefresh(desiredVolumes(pod), volumesOf(uidOf(pod)));
      await execute(pod, operations, new AbortController().signal);
    },

    unmountPod: unmount,

    retryPod: (podUID) => attempts.retry(podUID),

    recover,

    ...createSubPathPart(rootDir, services, tasks),

    podsOnDisk: () => podsOnDisk(rootDir),
  };
}

const namesOf = (failures: readonly VolumeFailure[]): readonly string[] => failures.map(({ name }) => name);

/** @returns a function that creates the directory around a pod's volumes once, since otherwise every
 *    volume would find it missing. It rejects with a VolumeSetupError, or the system's error */
function volumesFolder(rootDir: string, podUID: string): () => Promise<unknown> {
  let creation: Promise<unknown> | undefined;
  return () => {
    creation ??= mkdir(volumesDir(rootDir, podUID), { recursive: true, mode: 0o750 });
    return creation;
  };
}

/** Key of a staged volume left by an earlier agent in the tracker of volumes in use; no pod has such a
 *  UID. */
const leftOver = (uniqueName: string): string => `staged/${uniqueName}`;

function mountedOf(ready: ReadonlyMap<string, ActualVolume>, name: string): MountedVolume {
  const volume = ready.get(name);
  if (volume !== undefined) return volume.mounted;
  throw combineFailures([{ name, error: new VolumeSetupError('was unmounted in the meantime') }]);
}

/** Creates the part of the manager for subPath mounts of containers. */
function createSubPathPart(
  rootDir: string,
  { mounter, run, clock }: Pick<UndoServices, 'mounter' | 'run' | 'clock'>,
  tasks: PodTasks,
): Pick<VolumeManager, 'prepareSubPath' | 'cleanSubPaths'> {
  const binds = createRemoteBinds({ clock });
  return {
    async prepareSubPath({ podUID, volume, containerName, mountIndex, subPath }) {
      try {
        const target = subPathTarget(rootDir, {
          podUID,
          volumeName: volume.name,
          containerName,
          mountIndex,
        });
        const { signal } = new AbortController();
        const remote = await checkResponds({ mounter, run }, volume.hostPath, signal);
        const { hostPath, readOnly } = volume;
        const bind = (): Promise<void> =>
          bindSubPath(mounter, { volumePath: hostPath, subPath, readOnly, target });
        await tasks.run(podUID, `subpaths/${containerName}`, () =>
          remote === undefined ? bind() : binds.run(remote, bind),
        );
        return target;
      } catch (thrown) {
        throw combineFailures([{ name: volume.name, error: asError(thrown) }]);
      }
    },

    async cleanSubPaths(podUID, containerName) {
      try {
        const dir = subPathsDir(rootDir, podUID);
        checkName('container name', containerName);
        await tasks.run(podUID, `subpaths/${containerName}`, () =>
          tearDownSubPaths(mounter, dir, containerName, run),
        );
      } catch (thrown) {
        throw tearDownError(podUID, thrown);
      }
    },
  };
}
