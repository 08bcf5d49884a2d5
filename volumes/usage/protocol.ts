/** Messages between the agent and its measuring thread. */
import type { FsSpace } from './fs-space.ts';

/** Directories of a pod to measure. */
export interface PodFolders {
  readonly uid: string;
  /** Contains a directory per source, and in it one per volume. */
  readonly volumesDir: string;
  /** The same for raw devices. */
  readonly devicesDir: string;
  /** Contains a directory per container. */
  readonly logsDir: string;
}

export interface MeasureTask {
  readonly pods: readonly PodFolders[];
  /** Directories that could not be measured before, and those measured in other ways. */
  readonly skipped: readonly string[];
  /** Names of sources, without the domain, whose drivers report usage. */
  readonly asked: readonly string[];
}

/** A volume, or the log of a container. */
export interface Subject {
  readonly podUID: string;
  readonly of: 'volume' | 'log';
  /** Name of the volume or of the container. */
  readonly name: string;
  /** Directory name of the volume's source, such as `<domain>~empty-dir`; empty for a log. */
  readonly source: string;
}

/** Usage of a volume or of a container's log. Unknown values are absent. */
export interface Measured extends Subject {
  readonly usedBytes?: number;
  readonly inodesUsed?: number;
  /** Space of its file system, or of its raw device. */
  readonly space: Partial<FsSpace>;
  /** It is a separate file system or a bind mount: the values are those of the file system. */
  readonly isOwnFs: boolean;
  /** Health of the volume as reported by its driver. */
  readonly condition?: { readonly abnormal: boolean; readonly message: string };
}

/** A volume that the thread does not measure: it might block indefinitely, or another component knows
 *  better. */
export interface Apart extends Subject {
  readonly path: string;
  /** Its mount, if it is mounted. */
  readonly mount: { readonly point: string; readonly device: string } | undefined;
}

export type FromThread =
  /** Also serves as a heartbeat. */
  | { readonly kind: 'begins'; readonly path: string }
  | { readonly kind: 'measured'; readonly measured: Measured }
  | { readonly kind: 'apart'; readonly volume: Apart }
  | { readonly kind: 'done' };
