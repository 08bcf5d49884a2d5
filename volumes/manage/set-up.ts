/** Setup of one volume of one pod, independent of earlier operations. */
import type { Pod } from '#api/gen/core-v1.ts';
import type { SourceRequest, Undoable, UndoServices } from '../contract/source.ts';
import { type VolumeHost } from '../contract/volume-manager.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { VolumeError } from '../errors/volume-error.ts';
import { volumeDir } from '../files/layout.ts';
import type { Mounter } from '../mount/mounter.ts';
import { createRunProgram } from '../programs/run-program.ts';
import type { SourceTable } from '../sources/table.ts';
import type { Published } from '../staging/published.ts';
import type { Stager } from '../staging/stager.ts';
import type { ActualVolume, DesiredVolume } from './decide.ts';
import type { UseTracker } from './in-use.ts';

export interface SetUpDeps {
  readonly host: VolumeHost;
  readonly services: UndoServices;
  readonly inUse: UseTracker;
  readonly sources: SourceTable;
  readonly published: Pick<Published, 'keep' | 'of'>;
  readonly stager: Pick<Stager, 'stage'>;
}

/** Sets up the volume. @throws VolumeSetupError, or the source's error */
export type SetUpVolume = (pod: Pod, desired: DesiredVolume, signal: AbortSignal) => Promise<ActualVolume>;

/** @throws VolumeError */
export function uidOf(pod: Pod): string {
  const uid = pod.metadata?.uid;
  if (uid !== undefined && uid !== '') return uid;
  throw new VolumeError('the pod has no UID', { volumes: [] });
}

export function undoServices(host: VolumeHost, mounter: Mounter): UndoServices {
  const { clock, vocabulary, csi, flexDrivers, devices = { dev: '/dev', sys: '/sys' } } = host;
  return {
    mounter,
    clock,
    run: host.run ?? createRunProgram(),
    devices,
    domain: vocabulary.domain,
    objects: host.undoObjects ?? host.objects,
    ...(csi === undefined ? {} : { csi }),
    ...(flexDrivers === undefined ? {} : { flexDrivers }),
  };
}

export function createSetUp(deps: SetUpDeps): SetUpVolume {
  const { host, services, inUse, sources, published, stager } = deps;
  const { rootDir, allocatable, vocabulary, accountToken, expander, localVolumes } = host;

  /** Records of one request; its directory becomes known when the source requests it. */
  function recordsOf(
    podUID: string,
    { name, block }: DesiredVolume,
    signal: AbortSignal,
  ): Pick<SourceRequest, 'dir' | 'undoable'> {
    let place: { readonly dirName?: string; readonly block?: boolean } = block ? { block } : {};
    return {
      dir(dirName) {
        const source = `${vocabulary.domain}~${dirName}`;
        const dir = volumeDir(rootDir, { podUID, source, volumeName: name, block });
        place = { ...place, dirName };
        return dir;
      },
      undoable: (source): Undoable => ({
        remember: (state) => published.keep(podUID, { source, volumeName: name, ...place, state }),
        async remembered() {
          const records = await published.of(podUID);
          return records.find((record) => record.volumeName === name && record.source === source)?.state;
        },
        async stage(plan) {
          const { uniqueName } = plan;
          await published.keep(podUID, { source, volumeName: name, ...place, uniqueName });
          return stager.stage(source, plan, signal);
        },
      }),
    };
  }

  function requestFor(pod: Pod, desired: DesiredVolume, signal: AbortSignal): SourceRequest {
    const podUID = uidOf(pod);
    const security = pod.spec?.securityContext;
    const { dir, undoable } = recordsOf(podUID, desired, signal);
    return {
      services: {
        ...services,
        objects: host.objectsOf?.(pod) ?? host.objects,
        allocatable,
        ...(host.emptyDirs === undefined ? {} : { emptyDirs: host.emptyDirs }),
        ...(accountToken === undefined ? {} : { accountToken }),
        ...(expander === undefined ? {} : { expander }),
        ...(localVolumes === undefined ? {} : { localVolumes }),
        checksPrograms: host.checksPrograms === true,
      },
      pod,
      namespace: pod.metadata?.namespace ?? 'default',
      volumeName: desired.name,
      dir,
      use: (source) => inUse.use(podUID, source, signal),
      attached: (name) => inUse.whenAttached(podUID, name, signal),
      // No group has a greater number than numbers are exact: pods with such ones are refused.
      fsGroup: security?.fsGroup === undefined ? undefined : Number(security.fsGroup),
      fsGroupOnRootMismatch: security?.fsGroupChangePolicy === 'OnRootMismatch',
      readOnly: false,
      block: desired.block,
      mountOptions: [],
      undoable,
      // Replaced by the source's own records once the source is known.
      ...undoable('persistentVolumeClaim'),
      signal,
    };
  }

  return async (pod, desired, signal) => {
    const { name, volume } = desired;
    if (volume === undefined)
      throw new VolumeSetupError('a container uses it, but the pod does not define it');
    if (desired.block && desired.mounted)
      throw new VolumeSetupError('is specified in both volumeMounts and volumeDevices');
    const { persistentVolumeClaim, ephemeral } = volume;
    if (desired.block && (persistentVolumeClaim ?? ephemeral) === undefined)
      throw new VolumeSetupError('only volumes of claims can be used in volumeDevices');
    signal.throwIfAborted();
    const ready = await sources.bind(volume)(requestFor(pod, desired, signal));
    const { changes, maintain, expand: _, ...mounted } = ready;
    return { mounted: { name, ...mounted }, changes, ...(maintain === undefined ? {} : { maintain }) };
  };
}
