/** Common contract of volume sources. A source file exports one plugin; `table.ts` lists them. */
import type { PersistentVolume, PersistentVolumeSource, Pod, VolumeSource } from '#api/gen/core-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { AttachableSource } from '#api/meta/volume-names.ts';
import type { ObjectReader } from '#api/schema/object-reader.ts';
import type { Mounter } from '../mount/mounter.ts';
import type { RunProgram } from '../programs/contract.ts';
import type { CsiVolumes } from './csi.ts';
import type { DevicePaths } from './device-paths.ts';
import type { Expand, Expander } from './expansion.ts';
import type { FlexDrivers } from './flex.ts';
import type { LocalVolumes } from './local-volumes.ts';
import type { PublishRecord, StageFolder, StagePlan, StageRecord, UndoState } from './staging.ts';
import type { AccountTokenOf, EmptyDirOptions } from './volume-manager.ts';

type Given<T> = Exclude<T, undefined>;

/** Source fields, of which exactly one is set: those of a pod's volume and those of a PersistentVolume. A
 *  field of both has the union of their members, such as the namespace of a secret. */
export type SourceFields = {
  readonly [K in keyof VolumeSource | keyof PersistentVolumeSource]?:
    | (K extends keyof VolumeSource ? Given<VolumeSource[K]> : never)
    | (K extends keyof PersistentVolumeSource ? Given<PersistentVolumeSource[K]> : never);
};

/** Services available for undoing: the pod and its objects may no longer exist. */
export interface UndoServices {
  readonly mounter: Mounter;
  readonly clock: Clock;
  /** Runs helper programs; the only way to run one. */
  readonly run: RunProgram;
  readonly devices: DevicePaths;
  /** Domain of the vocabulary, as in `<domain>~nfs`. */
  readonly domain: string;
  /** For secrets needed to undo. Absent if objects can no longer be read. */
  readonly objects?: ObjectReader;
  /** Absent without CSI support. */
  readonly csi?: CsiVolumes;
  /** Absent without a plugin directory. */
  readonly flexDrivers?: FlexDrivers;
}

/** Services for sources. */
export interface SourceServices extends UndoServices {
  readonly objects: ObjectReader;
  readonly emptyDirs?: EmptyDirOptions;
  /** Allocatable amounts by resource name in base units. */
  readonly allocatable: () => Readonly<Record<string, number>>;
  /** Absent if tokens cannot be issued. */
  readonly accountToken?: AccountTokenOf;
  /** Absent if claims are not maintained by a controller. */
  readonly expander?: Expander;
  /** Volumes that the agent created. Absent: there are none. */
  readonly localVolumes?: Pick<LocalVolumes, 'prepare'>;
  /** Whether helper programs must exist before anything starts. */
  readonly checksPrograms?: boolean;
}

/** State that a source persists, so that it can be undone without the pod. */
export interface Undoable {
  /** Persists how to undo the pod's part of the volume, before that part is done; `dir` was called before.
   *  Replaces the previous state. Without it, a pod's volume is undone by unmounting it. No secrets. */
  readonly remember: (state: UndoState) => Promise<void>;
  /** Returns the state persisted last, possibly by an earlier process; undefined if there is none. */
  readonly remembered?: () => Promise<UndoState | undefined>;
  /** Stages the volume once per node for all pods that use it.
   *  @throws VolumeSetupError, SyscallError, or the plan's error */
  readonly stage: (plan: StagePlan) => Promise<StageFolder>;
}

/** One volume of one pod. */
export interface SourceRequest extends Undoable {
  readonly services: SourceServices;
  readonly pod: Pod;
  readonly namespace: string;
  readonly volumeName: string;
  /** Returns the volume's own directory for a source with this `dirName`; for a raw device the file that
   *  its node is bound to. Creates nothing. @throws VolumeSetupError */
  readonly dir: (dirName: string) => string;
  /** Call this before mounting a volume that may need attachment. Resolves when it may be mounted.
   *  @throws VolumeSetupError */
  readonly use: (source: AttachableSource) => Promise<void>;
  /** Call this before mounting a volume that a controller attaches, or must allow to be attached. Resolves
   *  once it has, with the device path if it reports one. @throws VolumeSetupError */
  readonly attached: (uniqueName: string) => Promise<string | undefined>;
  readonly fsGroup: number | undefined;
  /** The pod's policy: a root with the right group implies that everything has it. */
  readonly fsGroupOnRootMismatch: boolean;
  /** The PersistentVolume that specifies the source. */
  readonly persistentVolume?: PersistentVolume;
  /** Requested by the claim's use. */
  readonly readOnly: boolean;
  /** The pod uses it raw; only for sources with `about.block`. */
  readonly block: boolean;
  /** From the PersistentVolume; only for sources with `about.mountOptions`. */
  readonly mountOptions: readonly string[];
  /** Returns `remember` and `stage` in the name of a source. */
  readonly undoable: (source: keyof SourceFields) => Undoable;
  readonly signal: AbortSignal;
}

export interface ReadyVolume {
  /** Path that containers get: a directory, a file, or the device. */
  readonly hostPath: string;
  readonly readOnly: boolean;
  readonly seLinuxRelabel: boolean;
  /** The content may change later: set it up again to refresh it. */
  readonly changes: boolean;
  /** Expands it on the node. Absent if node expansion is not needed. */
  readonly expand?: Expand;
  /** Periodic maintenance while the pod has the volume. */
  readonly maintain?: (signal: AbortSignal) => Promise<void>;
}

/** Sets up the volume. Idempotent, and repairs missing parts.
 *  @throws VolumeSetupError, SyscallError, or the system's error */
export type SetUp = (request: SourceRequest) => Promise<ReadyVolume>;

/** Description of a source for documentation and `nodeagent doctor`. */
export interface SourceAbout {
  /** One sentence that describes the volume. */
  readonly summary: string;
  /** Where the source may be specified. */
  readonly use: 'pod' | 'persistent volume' | 'both';
  /** Whether it supports raw use (`volumeDevices`). */
  readonly block?: boolean;
  /** Whether it supports mount options of a PersistentVolume. */
  readonly mountOptions?: boolean;
  /** Programs that it runs, by name. */
  readonly programs?: readonly string[];
  /** Required kernel file systems, as in `/proc/filesystems`. */
  readonly fileSystems?: readonly string[];
  /** Unexpected behaviour, one sentence each. */
  readonly notes?: readonly string[];
  /** CSI driver that handles the volumes instead, while the feature gate is on. */
  readonly migration?: { readonly driver: string; readonly gate?: string };
}

export interface SourcePlugin {
  /** Volume field that selects the source. */
  readonly name: keyof SourceFields;
  readonly about: SourceAbout;
  /** Returns the setup of a volume of this source; undefined for other volumes. */
  bind(fields: SourceFields): SetUp | undefined;
  /** Undoes the pod's part from the record of `remember` or `stage`, before the mounts in `dir` are
   *  unmounted. Idempotent.
   *  @param dir result of `SourceRequest.dir`; it need not exist */
  tearDown?(record: PublishRecord, dir: string, services: UndoServices, signal: AbortSignal): Promise<void>;
  /** First part of `unstage`, before the mounts in the directory are unmounted: for mounts that only their
   *  creator can undo. Idempotent. */
  beforeUnstage?(
    record: StageRecord,
    folder: StageFolder,
    services: UndoServices,
    signal: AbortSignal,
  ): Promise<void>;
  /** Undoes `stage`, when no pod uses the volume and nothing is mounted in the directory, which is removed
   *  afterwards. Idempotent. */
  unstage?(
    record: StageRecord,
    folder: StageFolder,
    services: UndoServices,
    signal: AbortSignal,
  ): Promise<void>;
}

/** Creates a plugin from the differences between sources: the field, its setup, and its teardown. */
export function defineSource<K extends keyof SourceFields>(
  name: K,
  about: SourceAbout,
  setUp: (spec: NonNullable<SourceFields[K]>, request: SourceRequest) => Promise<ReadyVolume>,
  undo: Pick<SourcePlugin, 'tearDown' | 'beforeUnstage' | 'unstage'> = {},
): SourcePlugin {
  return {
    name,
    about,
    ...undo,
    bind(fields) {
      const spec = fields[name];
      return spec === undefined || spec === null ? undefined : (request) => setUp(spec, request);
    },
  };
}
