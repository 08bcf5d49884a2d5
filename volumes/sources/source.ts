/** The one shape of every volume source. A source file exports one plugin; `table.ts` lists them. */
import type { Clock } from '#api/kit/clock.ts';
import type { AttachableSource } from '#api/meta/volume-names.ts';
import type { PersistentVolume, PersistentVolumeSource, Pod, VolumeSource } from '#api/schema/gen/core-v1.ts';
import type { ObjectReader } from '#api/schema/object-reader.ts';
import type { Mounter } from '../mounter.ts';
import type { AccountTokenOf } from '../types.ts';

type Given<T> = Exclude<T, undefined>;

/** Fields of which one is set: those of a pod's volume and those of a PersistentVolume. A field that both have has
 *  what either may say, such as the namespace of a secret. */
export type SourceFields = {
  readonly [K in keyof VolumeSource | keyof PersistentVolumeSource]?:
    | (K extends keyof VolumeSource ? Given<VolumeSource[K]> : never)
    | (K extends keyof PersistentVolumeSource ? Given<PersistentVolumeSource[K]> : never);
};

/** What a source may use of the rest. */
export interface SourceServices {
  readonly objects: ObjectReader;
  readonly mounter: Mounter;
  readonly clock: Clock;
  /** Allocatable amounts by resource name in base units. */
  readonly allocatable: () => Readonly<Record<string, number>>;
  /** Absent where nobody issues tokens. */
  readonly accountToken?: AccountTokenOf;
}

/** One volume of one pod. */
export interface SourceRequest {
  readonly services: SourceServices;
  readonly pod: Pod;
  readonly namespace: string;
  readonly volumeName: string;
  /** The volume's own directory for a source with this `dirName`; its parents are made by `ensureParent`.
   *  @throws VolumeSetupError */
  readonly dir: (dirName: string) => string;
  /** To be called before a volume is mounted that may have to be attached. Resolves when it may be.
   *  @throws VolumeSetupError */
  readonly use: (source: AttachableSource) => Promise<void>;
  readonly fsGroup: number | undefined;
  /** The pod accepts that a root with the right group means that everything has it. */
  readonly fsGroupOnRootMismatch: boolean;
  /** The PersistentVolume through which the source was reached. */
  readonly persistentVolume?: PersistentVolume;
  /** Asked for by the claim's use. */
  readonly readOnly: boolean;
  readonly signal: AbortSignal;
}

export interface ReadyVolume {
  readonly hostPath: string;
  readonly readOnly: boolean;
  readonly seLinuxRelabel: boolean;
  /** The content may change later: set it up again to refresh it. */
  readonly changes: boolean;
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
}

/** A plugin from what differs between sources: the field, and what to do with its value. */
export function defineSource<K extends keyof SourceFields>(
  name: K,
  about: SourceAbout,
  setUp: (spec: NonNullable<SourceFields[K]>, request: SourceRequest) => Promise<ReadyVolume>,
): SourcePlugin {
  return {
    name,
    about,
    bind(fields) {
      const spec = fields[name];
      return spec === undefined || spec === null ? undefined : (request) => setUp(spec, request);
    },
  };
}
