/** What the agent and its measuring thread say to each other. */
import type { FsSpace } from './fs-space.ts';

/** A pod whose folders are to be measured. */
export interface PodFolders {
  readonly uid: string;
  /** Holds a folder for each source, and in it one for each volume. */
  readonly volumesDir: string;
  /** The same for raw devices. */
  readonly devicesDir: string;
  /** Holds a folder for each container. */
  readonly logsDir: string;
}

export interface MeasureTask {
  readonly pods: readonly PodFolders[];
  /** Folders that could not be measured before, and those that are measured in other ways. */
  readonly skipped: readonly string[];
  /** Names of sources, without the domain, whose drivers are to be asked. */
  readonly asked: readonly string[];
}

/** A volume, or the log of a container. */
export interface Subject {
  readonly podUID: string;
  readonly of: 'volume' | 'log';
  /** Of the volume or of the container. */
  readonly name: string;
  /** Folder of the volume's source, such as `<domain>~empty-dir`; empty for a log. */
  readonly source: string;
}

/** What a volume or the log of a container takes. What its source does not know is left out. */
export interface Measured extends Subject {
  readonly usedBytes?: number;
  readonly inodesUsed?: number;
  /** Of the file system that it lies on, or of the device that it is. */
  readonly space: Partial<FsSpace>;
  /** It is a file system of its own, or bound from elsewhere: the numbers are of the file system. */
  readonly isOwnFs: boolean;
  /** What the volume's driver says of its health. */
  readonly condition?: { readonly abnormal: boolean; readonly message: string };
}

/** A volume that the thread leaves alone: asking for it may take for ever, or somebody else knows better. */
export interface Apart extends Subject {
  readonly path: string;
  /** Where it is mounted, if it is. */
  readonly mount: { readonly point: string; readonly device: string } | undefined;
}

export type FromThread =
  /** Also a sign of life. */
  | { readonly kind: 'begins'; readonly path: string }
  | { readonly kind: 'measured'; readonly measured: Measured }
  | { readonly kind: 'apart'; readonly volume: Apart }
  | { readonly kind: 'done' };
