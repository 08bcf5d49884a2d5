/** What a volume takes, as a source tells it that knows better than the file system that is mounted. */

/** What is known; bytes and inodes. */
export interface VolumeFigures {
  readonly capacityBytes?: number;
  readonly availableBytes?: number;
  readonly usedBytes?: number;
  readonly inodes?: number;
  readonly inodesFree?: number;
  readonly inodesUsed?: number;
  /** What the volume's driver says of its health. */
  readonly condition?: { readonly abnormal: boolean; readonly message: string };
}

/** One volume of one pod, as it lies on the node. */
export interface VolumeOnNode {
  readonly podUID: string;
  readonly volumeName: string;
  /** `<pod's folder>/volumes/<domain>~<source>/<volume>` */
  readonly path: string;
}

/** Asks for the figures of a volume. Ends with the signal, which fires after some seconds.
 *  @returns undefined when it has no answer: then the mounted file system is asked
 *  @throws any error: then there are no new figures */
export type MeasureVolume = (volume: VolumeOnNode, signal: AbortSignal) => Promise<VolumeFigures | undefined>;
