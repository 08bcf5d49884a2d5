/** Contract of volumes that the agent creates on its own disk for claims. */

/** `directory`: without a limit. `filesystem`: an ext4 image of the requested size. */
export const LOCAL_VOLUME_KINDS = ['directory', 'filesystem'] as const;
export type LocalVolumeKind = (typeof LOCAL_VOLUME_KINDS)[number];

/** `manifest`: for a claim of the manifests. `server`: for a claim of the API server. */
export type LocalVolumeOwner = 'manifest' | 'server';

export interface LocalVolumeSpec {
  readonly name: string;
  readonly kind: LocalVolumeKind;
  readonly owner: LocalVolumeOwner;
  readonly sizeBytes: number;
  readonly reclaimPolicy: 'Delete' | 'Retain';
  readonly claim: { readonly namespace: string; readonly name: string };
}

export interface LocalVolume extends LocalVolumeSpec {
  /** Directory that pods get. */
  readonly path: string;
  /** A pod has used it, so it may have content. */
  readonly used: boolean;
}

export interface LocalVolumes {
  /** Creates the volume; an existing one of this name is returned as it is.
   *  @throws VolumeSetupError, the system's error, the signal's reason */
  create(spec: LocalVolumeSpec, signal: AbortSignal): Promise<LocalVolume>;
  get(name: string): Promise<LocalVolume | undefined>;
  list(): Promise<readonly LocalVolume[]>;
  /** Makes the volume at the path usable by the pod, and records the use. Does nothing for other paths.
   *  @throws VolumeSetupError if the path is that of a volume which does not exist */
  prepare(path: string, podUID: string, signal: AbortSignal): Promise<void>;
  /** Removes the volume with its content, if no pod on the node has it. Idempotent.
   *  @returns whether it is gone */
  remove(name: string, signal: AbortSignal): Promise<boolean>;
  /** Completes removals of an earlier run. Never rejects. */
  recover(signal: AbortSignal): Promise<void>;
}
