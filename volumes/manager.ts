/** Makes the volumes of pods ready and takes them down again. Knows in memory what it made ready; everything else
 *  it reads from the disk and the mount table, so that a restart loses nothing.
 *  Volumes of a pod run side by side, operations on one volume one after the other. */
import { mkdir } from 'node:fs/promises';
import { asError } from '#api/kit/clock.ts';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import { createAttempts } from './attempts.ts';
import {
  type ActualVolume,
  decideRefresh,
  decideSetUp,
  desiredVolumes,
  type VolumeOperation,
} from './decide.ts';
import { createUseTracker, type UseTracker } from './in-use.ts';
import { checkName, subPathsDir, subPathTarget, volumesDir } from './layout.ts';
import { createLookAfter } from './look-after.ts';
import { createMounter, type Mounter } from './mounter.ts';
import { createPodTasks, type PodTasks, until } from './pod-tasks.ts';
import { podsOnDisk } from './pods-on-disk.ts';
import { createRemoteBinds } from './remote-binds.ts';
import { checkAnswers } from './remote-mounts.ts';
import { createSetUp, type SetUpVolume, uidOf, undoServices } from './set-up.ts';
import { combineFailures, type VolumeFailure } from './setup-error.ts';
import type { SourcePlugin, UndoServices } from './sources/source.ts';
import { SOURCES, type SourceTable } from './sources/table.ts';
import { createPublished } from './staging/published.ts';
import { createRecordFiles, type RecordFiles } from './staging/record-files.ts';
import { createStager } from './staging/stager.ts';
import { bindSubPath } from './subpath.ts';
import { tearDownSubPaths } from './teardown.ts';
import { type MountedVolume, VolumeError, type VolumeHost, type VolumeManager } from './types.ts';
import { createUndo, type Undo } from './undo.ts';
import { createUnmount, tearDownError } from './unmount.ts';

/** What tests replace. */
export interface ManagerParts {
  readonly sources?: SourceTable;
  readonly files?: RecordFiles;
}

interface Work extends Pick<VolumeManager, 'recover'> {
  readonly services: UndoServices;
  readonly inUse: UseTracker;
  readonly setUp: SetUpVolume;
  readonly undo: Undo;
}

/** What is done to volumes, independent of when. */
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
    async recover(signal) {
      try {
        await undo.leftovers(({ uniqueName }) => inUse.looked(leftOver(uniqueName)), signal);
      } catch (thrown) {
        log.warn({ err: asError(thrown) }, 'Staged volumes of an earlier run were not looked up');
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
  const { services, inUse, setUp, undo, recover } = createWork(host, mounter, parts);
  const attempts = createAttempts({ clock });
  const tasks = createPodTasks();
  const lookAfter = createLookAfter({ attempts, tasks, log });
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
      return undo.pod(podUID);
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
        await (kind === 'refresh' ? work(signal) : attempts.run(podUID, name, work, signal));
        if (kind === 'setUp') log.debug({ podUID, volume: name }, 'Volume set up');
        return undefined;
      } catch (thrown) {
        return { name, error: asError(thrown) };
      }
    };
    const results = await until(signal, Promise.all(operations.map(perform)));
    const failures = results.filter((failure) => failure !== undefined);
    signal.throwIfAborted();
    if (failures.length > 0) throw combineFailures(failures, attempts.heldBackMs(podUID, namesOf(failures)));
  }

  return {
    inUse,

    async mountPod(pod, signal) {
      signal.throwIfAborted();
      const podUID = uidOf(pod);
      const desired = desiredVolumes(pod);
      try {
        await execute(pod, decideSetUp(desired, volumesOf(podUID)), signal);
      } finally {
        inUse.looked(podUID);
      }
      const ready = volumesOf(podUID);
      return new Map(desired.map(({ name }) => [name, mountedOf(ready, name)]));
    },

    async refreshPod(pod) {
      lookAfter(uidOf(pod), volumesOf(uidOf(pod)));
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

/** @returns what makes the folder around a pod's volumes, once: each of them would otherwise find by itself that it is
 *  missing. It rejects with a VolumeSetupError, or the system's error */
function volumesFolder(rootDir: string, podUID: string): () => Promise<unknown> {
  let made: Promise<unknown> | undefined;
  return () => {
    made ??= mkdir(volumesDir(rootDir, podUID), { recursive: true, mode: 0o750 });
    return made;
  };
}

/** How the names in use have a staged volume that an earlier agent left; no pod has such a UID. */
const leftOver = (uniqueName: string): string => `staged/${uniqueName}`;

function mountedOf(ready: ReadonlyMap<string, ActualVolume>, name: string): MountedVolume {
  const volume = ready.get(name);
  if (volume !== undefined) return volume.mounted;
  throw new VolumeError(`volume "${name}": was taken down meanwhile`, { volumes: [name] });
}

/** The part of the manager that is for single mounts of a container. */
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
        const remote = await checkAnswers({ mounter, run }, volume.hostPath, signal);
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
