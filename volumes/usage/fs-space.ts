/** Space of a file system. */
import type { StatsFs } from 'node:fs';

/** In bytes and inodes. */
export interface FsSpace {
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly usedBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

export const spaceIn = ({ bsize, blocks, bavail, bfree, files, ffree }: StatsFs): FsSpace => ({
  capacityBytes: blocks * bsize,
  availableBytes: bavail * bsize,
  usedBytes: (blocks - bfree) * bsize,
  inodes: files,
  inodesFree: ffree,
});
