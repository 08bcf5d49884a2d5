/** The one shape of every volume source. A source file exports one plugin; `table.ts` lists them. */
import type { Clock } from '#api/kit/clock.ts';
import type { AttachableSource } from '#api/meta/volume-names.ts';
import type { PersistentVolume, PersistentVolumeSource, Pod, VolumeSource } from '#api/schema/gen/core-v1.ts';
import type { ObjectReader } from '#api/schema/object-reader.ts';
import type { CsiVolumes } from '../csi/contract.ts';
import type { DevicePaths } from '../devices/contract.ts';
import type { Expand } from '../expansion/contract.ts';
import type { Expander } from '../expansion/expander.ts';
import type { FlexDrivers } from '../flex/drivers.ts';
import type { Mounter } from '../mounter.ts';
import type { RunProgram } from '../programs/contract.ts';
import { MissingProgramError } from '../programs/errors.ts';
import { findProgram } from '../programs/find-program.ts';
import { VolumeSetupError } from '../setup-error.ts';
import type { PublishRecord, StageFolder, StagePlan, StageRecord, UndoState } from '../staging/contract.ts';
import type { AccountTokenOf, EmptyDirOptions } from '../types.ts';

type Given<T> = Exclude<T, undefined>;

/** Fields of which one is set: those of a pod's volume and those of a PersistentVolume. A field that both have has
 *  what either may say, such as the namespace of a secret. */
export type SourceFields = {
  readonly [K in keyof VolumeSource | keyof PersistentVolumeSource]?:
    | (K extends keyof VolumeSource ? Given<VolumeSource[K]> : never)
    | (K extends keyof PersistentVolumeSource ? Given<PersistentVolumeSource[K]> : never);
};

/** What is at hand when something is undone: the pod and its objects may be long gone. */
export interface UndoServices {
  readonly mounter: Mounter;
  readonly clock: Clock;
  /** Helper programs; the only way to run one. */
  readonly run: RunProgram;
  readonly devices: DevicePaths;
  /** Of the vocabulary, as in `<domain>~nfs`. */
  readonly domain: string;
  /** For secrets that undoing needs. Absent where nothing can be read any more. */
  readonly objects?: ObjectReader;
  /** Absent where no CSI drivers are served. */
  readonly csi?: CsiVolumes;
  /** Absent where there is no plugin directory. */
  readonly flexDrivers?: FlexDrivers;
}

/** What a source may use of the rest. */
export interface SourceServices extends UndoServices {
  readonly objects: ObjectReader;
  readonly emptyDirs?: EmptyDirOptions;
  /** Allocatable amounts by resource name in base units. */
  readonly allocatable: () => Readonly<Record<string, number>>;
  /** Absent where nobody issues tokens. */
  readonly accountToken?: AccountTokenOf;
  /** Absent where nobody keeps claims. */
  readonly expander?: Expander;
  /** Whether helper programs have to be there before anything is begun. */
  readonly checksPrograms?: boolean;
}

/** What a source keeps on disk, so that it can be undone without the pod. */
export interface Undoable {
  /** Keeps what undoes the pod's part of the volume, before it is done; `dir` was called before. Replaces what was
   *  kept. Without it, a pod's volume is undone by unmounting it. No secrets. */
  readonly remember: (state: UndoState) => Promise<void>;
  /** What was kept last, possibly by an earlier process; undefined where nothing was. */
  readonly remembered?: () => Promise<UndoState | undefined>;
  /** Makes the volume ready for the node, once for all pods that use it; resolves when it is.
   *  @throws VolumeSetupError, SyscallError, or what the plan throws */
  readonly stage: (plan: StagePlan) => Promise<StageFolder>;
}

/** One volume of one pod. */
export interface SourceRequest extends Undoable {
  readonly services: SourceServices;
  readonly pod: Pod;
  readonly namespace: string;
  readonly volumeName: string;
  /** The volume's own directory for a source with this `dirName`; for a raw device the file that its node is bound
   *  to. Nothing is made. @throws VolumeSetupError */
  readonly dir: (dirName: string) => string;
  /** To be called before a volume is mounted that may have to be attached. Resolves when it may be.
   *  @throws VolumeSetupError */
  readonly use: (source: AttachableSource) => Promise<void>;
  /** To be called before a volume is mounted that others attach, or have to allow to be attached. Resolves when
   *  they have, with the device where they say which it is. @throws VolumeSetupError */
  readonly attached: (uniqueName: string) => Promise<string | undefined>;
  readonly fsGroup: number | undefined;
  /** The pod accepts that a root with the right group means that everything has it. */
  readonly fsGroupOnRootMismatch: boolean;
  /** The PersistentVolume through which the source was reached. */
  readonly persistentVolume?: PersistentVolume;
  /** Asked for by the claim's use. */
  readonly readOnly: boolean;
  /** The pod uses it as a raw device; only for sources that are `about.block`. */
  readonly block: boolean;
  /** Of the PersistentVolume; only for sources that are `about.mountOptions`. */
  readonly mountOptions: readonly string[];
  /** `remember` and `stage` in the name of a source. */
  readonly undoable: (source: keyof SourceFields) => Undoable;
  readonly signal: AbortSignal;
}

export interface ReadyVolume {
  /** What containers get: a directory, a file, or the device. */
  readonly hostPath: string;
  readonly readOnly: boolean;
  readonly seLinuxRelabel: boolean;
  /** The content may change later: set it up again to refresh it. */
  readonly changes: boolean;
  /** Lets it grow on the node. Absent where nothing of that is the node's matter. */
  readonly expand?: Expand;
  /** Looks after it, once in a while as long as the pod has it. */
  readonly look?: (signal: AbortSignal) => Promise<void>;
}

/** Makes the volume ready; repeating it is harmless and repairs what is missing.
 *  @throws VolumeSetupError, SyscallError, or the system's error */
export type SetUp = (request: SourceRequest) => Promise<ReadyVolume>;

/** What people are told of a source, and what `nodeagent doctor` looks for. */
export interface SourceAbout {
  /** One sentence: what the volume is. */
  readonly summary: string;
  /** Where it may stand. */
  readonly use: 'pod' | 'persistent volume' | 'both';
  /** Whether it can be used as a raw device (`volumeDevices`). */
  readonly block?: boolean;
  /** Whether it takes the mount options of a PersistentVolume. */
  readonly mountOptions?: boolean;
  /** Programs that it runs, by name. */
  readonly programs?: readonly string[];
  /** File systems that the kernel has to know, as in `/proc/filesystems`. */
  readonly fileSystems?: readonly string[];
  /** What is different from what one may expect, one sentence each. */
  readonly notes?: readonly string[];
}

export interface SourcePlugin {
  /** Field of the volume that selects it. */
  readonly name: keyof SourceFields;
  readonly about: SourceAbout;
  /** The work for a volume of this source; undefined for a volume of another. */
  bind(fields: SourceFields): SetUp | undefined;
  /** Undoes the pod's part from the record that `remember` or `stage` kept, before everything that is mounted in `dir`
   *  is unmounted. Harmless when it is done already.
   *  @param dir what `SourceRequest.dir` gave; it need not exist */
  tearDown?(record: PublishRecord, dir: string, services: UndoServices, signal: AbortSignal): Promise<void>;
  /** The first part of `unstage`, while what is mounted in the folder still is: for mounts that have to be undone by
   *  those who made them. Harmless when it is done already. */
  beforeUnstage?(
    record: StageRecord,
    folder: StageFolder,
    services: UndoServices,
    signal: AbortSignal,
  ): Promise<void>;
  /** Undoes what `stage` did, when no pod has it any longer and nothing is mounted in the folder, which is removed
   *  afterwards. Harmless when it is done already. */
  unstage?(
    record: StageRecord,
    folder: StageFolder,
    services: UndoServices,
    signal: AbortSignal,
  ): Promise<void>;
}

/** A plugin from what differs between sources: the field, what to do with its value, and how that is undone. */
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

/** The work of the first plugin that serves one of the fields; undefined where none does. What the volume is asked
 *  for and the source can't do is refused, by the plugin's name. */
export function bindFrom(plugins: readonly SourcePlugin[], fields: SourceFields): SetUp | undefined {
  for (const plugin of plugins) {
    const setUp = plugin.bind(fields);
    if (setUp === undefined) continue;
    return async (request) => {
      checkAsked(plugin, request);
      if (request.services.checksPrograms === true) await checkPrograms(plugin);
      return setUp({ ...request, ...request.undoable(plugin.name) });
    };
  }
  return undefined;
}

/** @throws MissingProgramError for the first program that is not there */
async function checkPrograms({ about }: SourcePlugin): Promise<void> {
  for (const program of about.programs ?? []) {
    if ((await findProgram(program)) === undefined) throw new MissingProgramError(program);
  }
}

function checkAsked({ name, about }: SourcePlugin, request: SourceRequest): void {
  if (request.block && about.block !== true)
    throw new VolumeSetupError(
      `source ${name} can be mounted as a file system only, not used in volumeDevices`,
    );
  // A raw device is not mounted: nobody reads them.
  if (request.mountOptions.length > 0 && about.mountOptions !== true && !request.block) {
    const of = request.persistentVolume?.metadata?.name ?? '';
    throw new VolumeSetupError(
      `PersistentVolume ${of} has mountOptions, which its source ${name} doesn't take`,
    );
  }
}
