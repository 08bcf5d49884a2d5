/** Makes the volumes of pods ready and takes them down again. Knows in memory what it made ready; everything else
 *  it reads from the disk and the mount table, so that a restart loses nothing.
 *  Volumes of a pod run side by side, operations on one volume one after the other. */
import { readdir } from 'node:fs/promises';
import { asError } from '#api/kit/clock.ts';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import {
  type ActualVolume,
  type DesiredVolume,
  decideRefresh,
  decideSetUp,
  desiredVolumes,
  type VolumeOperation,
} from './decide.ts';
import { createUseTracker, type UseTracker } from './in-use.ts';
import { checkName, podDir, podsDir, subPathsDir, subPathTarget, volumeDir } from './layout.ts';
import { createMounter, type Mounter } from './mounter.ts';
import { createPodTasks, type PodTasks, until } from './pod-tasks.ts';
import type { RunProgram } from './programs/contract.ts';
import { combineFailures, errorCode, type VolumeFailure, VolumeSetupError } from './setup-error.ts';
import type { SourceRequest, Undoable, UndoServices } from './sources/source.ts';
import { bindVolume } from './sources/table.ts';
import { bindSubPath } from './subpath.ts';
import { tearDownPod, tearDownSubPaths } from './teardown.ts';
import { type MountedVolume, VolumeError, type VolumeHost, type VolumeManager } from './types.ts';

function uidOf(pod: Pod): string {
  const uid = pod.metadata?.uid;
  if (uid !== undefined && uid !== '') return uid;
  throw new VolumeError('the pod has no UID', { volumes: [] });
}

const noStaging = (): Promise<never> =>
  Promise.reject(new VolumeSetupError('volumes that are staged on the node are not served'));

function undoServices(host: VolumeHost, mounter: Mounter): UndoServices {
  const { clock, vocabulary, csi, flexDrivers, devices = { dev: '/dev', sys: '/sys' } } = host;
  const run: RunProgram = host.run ?? (() => Promise.reject(new VolumeSetupError('programs cannot be run')));
  return {
    mounter,
    clock,
    run,
    devices,
    domain: vocabulary.domain,
    ...(csi === undefined ? {} : { csi }),
    ...(flexDrivers === undefined ? {} : { flexDrivers }),
  };
}

type SetUpVolume = (pod: Pod, desired: DesiredVolume, signal: AbortSignal) => Promise<ActualVolume>;

/** The work for one volume of one pod, independent of what was done before. */
function createSetUp(host: VolumeHost, mounter: Mounter, inUse: UseTracker): SetUpVolume {
  const { rootDir, allocatable, vocabulary, accountToken } = host;

  function requestFor(pod: Pod, { name, block }: DesiredVolume, signal: AbortSignal): SourceRequest {
    const podUID = uidOf(pod);
    const security = pod.spec?.securityContext;
    const undoable = (): Undoable => ({ remember: noStaging, stage: noStaging });
    return {
      services: {
        ...undoServices(host, mounter),
        objects: host.objectsOf?.(pod) ?? host.objects,
        allocatable,
        ...(accountToken === undefined ? {} : { accountToken }),
      },
      pod,
      namespace: pod.metadata?.namespace ?? 'default',
      volumeName: name,
      dir: (dirName) =>
        volumeDir(rootDir, { podUID, source: `${vocabulary.domain}~${dirName}`, volumeName: name }),
      use: (source) => inUse.use(podUID, source, signal),
      fsGroup: security?.fsGroup,
      fsGroupOnRootMismatch: security?.fsGroupChangePolicy === 'OnRootMismatch',
      readOnly: false,
      block,
      mountOptions: [],
      undoable,
      ...undoable(),
      signal,
    };
  }

  async function setUp(pod: Pod, desired: DesiredVolume, signal: AbortSignal): Promise<ActualVolume> {
    const { name, volume } = desired;
    if (volume === undefined)
      throw new VolumeSetupError('a container uses it, but the pod does not define it');
    signal.throwIfAborted();
    const { changes, ...ready } = await bindVolume(volume)(requestFor(pod, desired, signal));
    return { mounted: { name, ...ready }, changes };
  }

  return setUp;
}

export function createVolumeManager(host: VolumeHost, mounter: Mounter = createMounter()): VolumeManager {
  const { rootDir, log } = host;
  const inUse = createUseTracker({ ...host, podsOnDisk: () => podsOnDisk(rootDir) });
  const setUp = createSetUp(host, mounter, inUse);
  const tasks = createPodTasks();
  const actual = new Map<string, Map<string, ActualVolume>>();

  const volumesOf = (podUID: string): ReadonlyMap<string, ActualVolume> => actual.get(podUID) ?? new Map();

  function keep(podUID: string, volume: ActualVolume): void {
    const volumes = actual.get(podUID) ?? new Map<string, ActualVolume>();
    actual.set(podUID, volumes.set(volume.mounted.name, volume));
  }

  async function execute(
    pod: Pod,
    operations: readonly VolumeOperation[],
    signal: AbortSignal,
  ): Promise<void> {
    const podUID = uidOf(pod);
    const perform = async ({ kind, desired }: VolumeOperation): Promise<VolumeFailure | undefined> => {
      const { name } = desired;
      try {
        await tasks.run(podUID, `volumes/${name}`, async () =>
          keep(podUID, await setUp(pod, desired, signal)),
        );
        if (kind === 'setUp') log.debug({ podUID, volume: name }, 'Volume set up');
        return undefined;
      } catch (thrown) {
        return { name, error: asError(thrown) };
      }
    };
    const results = await until(signal, Promise.all(operations.map((operation) => perform(operation))));
    const failures = results.filter((failure) => failure !== undefined);
    signal.throwIfAborted();
    if (failures.length > 0) throw combineFailures(failures);
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
      const operations = decideRefresh(desiredVolumes(pod), volumesOf(uidOf(pod)));
      await execute(pod, operations, new AbortController().signal);
    },

    async unmountPod(podUID) {
      try {
        const dir = podDir(rootDir, podUID);
        await tasks.settle(podUID);
        await tasks.run(podUID, 'teardown', async () => {
          actual.delete(podUID);
          await tearDownPod(mounter, dir);
        });
        inUse.release(podUID);
      } catch (thrown) {
        throw tearDownError(podUID, thrown);
      }
    },

    ...createSubPathPart(rootDir, mounter, tasks),

    podsOnDisk: () => podsOnDisk(rootDir),
  };
}

async function podsOnDisk(rootDir: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(podsDir(rootDir), { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return [];
    throw thrown;
  }
}

function tearDownError(podUID: string, thrown: unknown): VolumeError {
  const cause = asError(thrown);
  return new VolumeError(`volumes of pod ${podUID} could not be taken down: ${cause.message}`, {
    reason: 'FailedUnMount',
    volumes: [],
    cause,
  });
}

function mountedOf(ready: ReadonlyMap<string, ActualVolume>, name: string): MountedVolume {
  const volume = ready.get(name);
  if (volume !== undefined) return volume.mounted;
  throw new VolumeError(`volume "${name}": was taken down meanwhile`, { volumes: [name] });
}

/** The part of the manager that is for single mounts of a container. */
function createSubPathPart(
  rootDir: string,
  mounter: Mounter,
  tasks: PodTasks,
): Pick<VolumeManager, 'prepareSubPath' | 'cleanSubPaths'> {
  return {
    async prepareSubPath({ podUID, volume, containerName, mountIndex, subPath }) {
      try {
        const target = subPathTarget(rootDir, {
          podUID,
          volumeName: volume.name,
          containerName,
          mountIndex,
        });
        await tasks.run(podUID, `subpaths/${containerName}`, () =>
          bindSubPath(mounter, {
            volumePath: volume.hostPath,
            subPath,
            readOnly: volume.readOnly,
            target,
          }),
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
          tearDownSubPaths(mounter, dir, containerName),
        );
      } catch (thrown) {
        throw tearDownError(podUID, thrown);
      }
    },
  };
}
