/** Superblocks in the first bytes of a device, as far as needed: the size of the file system, and whether its
 *  formatting was completed. Pure.
 *  Source: ext4(5) and the kernel's fs/ext4/ext4.h, fs/xfs/libxfs/xfs_format.h, btrfs-progs
 *  (BTRFS_MAGIC_TEMPORARY). */

/** Number of bytes inspected at the start of a device. */
export const HEAD_BYTES: number = 1024 * 1024;

export interface Superblock {
  readonly fsType: 'ext' | 'xfs' | 'btrfs';
  readonly sizeBytes: number;
  /** Formatting was interrupted: this file system has never been mounted. */
  readonly unfinished: boolean;
}

const EXT_OFFSET = 1024;
const EXT_MAGIC = 0xef53;
const EXT_INCOMPAT_64BIT = 0x80;
const BTRFS_OFFSET = 64 * 1024;
const SMALLEST_HEAD = BTRFS_OFFSET + 4096;

function readExt(head: Buffer): Superblock | undefined {
  const block = head.subarray(EXT_OFFSET);
  if (block.readUInt16LE(0x38) !== EXT_MAGIC) return undefined;
  const blockBytes = 1024 * 2 ** Math.min(block.readUInt32LE(0x18), 16);
  const is64 = (block.readUInt32LE(0x60) & EXT_INCOMPAT_64BIT) !== 0;
  const blocks = block.readUInt32LE(0x4) + (is64 ? block.readUInt32LE(0x150) * 2 ** 32 : 0);
  return { fsType: 'ext', sizeBytes: blocks * blockBytes, unfinished: false };
}

function readXfs(head: Buffer): Superblock | undefined {
  if (head.toString('latin1', 0, 4) !== 'XFSB') return undefined;
  const sizeBytes = head.readUInt32BE(4) * Number(head.readBigUInt64BE(8));
  return { fsType: 'xfs', sizeBytes, unfinished: head[126] !== 0 };
}

function readBtrfs(head: Buffer): Superblock | undefined {
  const block = head.subarray(BTRFS_OFFSET);
  const magic = block.toString('latin1', 0x40, 0x48);
  if (magic !== '_BHRfS_M' && magic !== '!BHRfS_M') return undefined;
  const sizeBytes = Number(block.readBigUInt64LE(0x70));
  return { fsType: 'btrfs', sizeBytes, unfinished: magic.startsWith('!') };
}

/** @param head the first `HEAD_BYTES` of a device, or all of a smaller one
 *  @returns undefined for anything but ext2, ext3, ext4, xfs and btrfs */
export function readSuperblock(head: Buffer): Superblock | undefined {
  if (head.length < SMALLEST_HEAD) return undefined;
  return readXfs(head) ?? readBtrfs(head) ?? readExt(head);
}
