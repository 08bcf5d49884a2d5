/** What the agent and its measuring thread say to each other. */
import type { FsSpace } from './fs-space.ts';

/** A pod whose folders are to be measured. */
export interface PodFolders {
  readonly uid: string;
  /** Holds a folder for each source, and in it one for each volume. */
  readonly volumesDir: string;
  /** Holds a folder for each container. */
  readonly logsDir: string;
}

export interface MeasureTask {
  readonly pods: readonly PodFolders[];
  /** Folders that could not be measured before. */
  readonly skipped: readonly string[];
}

/** What a volume or the log of a container takes. */
export interface Measured {
  readonly podUID: string;
  readonly of: 'volume' | 'log';
  /** Of the volume or of the container. */
  readonly name: string;
  /** Folder of the volume's source, such as `<domain>~empty-dir`; empty for a log. */
  readonly source: string;
  readonly usedBytes: number;
  readonly inodesUsed: number;
  /** Of the file system that it lies on. */
  readonly space: FsSpace;
  /** It is a file system of its own, or bound from elsewhere: the numbers are of the file system. */
  readonly isOwnFs: boolean;
}

export type FromThread =
  /** Also a sign of life. */
  | { readonly kind: 'begins'; readonly path: string }
  | { readonly kind: 'measured'; readonly measured: Measured }
  | { readonly kind: 'done' };
