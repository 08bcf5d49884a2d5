/** Usage of a volume, reported by a source that knows better than the mounted file system. */

/** Known statistics; bytes and inodes. */
export interface VolumeFigures {
  readonly capacityBytes?: number;
  readonly availableBytes?: number;
  readonly usedBytes?: number;
  readonly inodes?: number;
  readonly inodesFree?: number;
  readonly inodesUsed?: number;
  /** Health of the volume as reported by its driver. */
  readonly condition?: { readonly abnormal: boolean; readonly message: string };
}

/** One volume of one pod on the node. */
export interface VolumeOnNode {
  readonly podUID: string;
  readonly volumeName: string;
  /** `<pod's directory>/volumes/<domain>~<source>/<volume>` */
  readonly path: string;
}

/** Returns the statistics of a volume. The signal fires after some seconds.
 *  @returns undefined if none are available: then the mounted file system is measured
 *  @throws any error: then the statistics stay out of date */
export type MeasureVolume = (volume: VolumeOnNode, signal: AbortSignal) => Promise<VolumeFigures | undefined>;
