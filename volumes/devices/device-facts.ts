/** Facts of a block device from the kernel, and its first and last bytes. */
import { open, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { HEAD_BYTES } from './superblock.ts';

const SECTOR_BYTES = 512;

/** Returns a device number such as `8:16`, as in the mount table. */
const deviceNumber = (rdev: number): string => {
  // Source: makedev(3).
  const big = BigInt(rdev);
  const major = ((big >> 8n) & 0xfffn) | ((big >> 32n) & ~0xfffn & 0xffff_ffffn);
  const minor = (big & 0xffn) | ((big >> 12n) & ~0xffn & 0xffff_ffffn);
  return `${major}:${minor}`;
};

/** Returns the number of the block device at `path`. @throws VolumeSetupError for anything else; the
 *  system's error */
export async function blockDeviceNumber(path: string): Promise<string> {
  const stats = await stat(path);
  if (!stats.isBlockDevice()) throw new VolumeSetupError(`${path} is not a block device`);
  return deviceNumber(stats.rdev);
}

/** @param sys `/sys`
 *  @throws VolumeSetupError if it is not a block device, or its size is unknown; the system's error */
export async function deviceSizeBytes(sys: string, device: string): Promise<number> {
  const number = await blockDeviceNumber(device);
  const text = await readFile(join(sys, 'dev/block', number, 'size'), 'utf8');
  const sectors = /^\d+\s*$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(sectors)) throw new VolumeSetupError(`cannot determine the size of ${device}`);
  return sectors * SECTOR_BYTES;
}

export interface DeviceEnds {
  /** The first `HEAD_BYTES`, or the whole device if it is smaller. */
  readonly head: Buffer;
  readonly isAllZero: boolean;
}

/** Reads both ends of a device, where users of the device leave signatures. @throws the system's error */
export async function readEnds(device: string, sizeBytes: number): Promise<DeviceEnds> {
  await using handle = await open(device, 'r');
  const read = async (position: number, length: number): Promise<Buffer> => {
    const buffer = Buffer.alloc(length);
    let done = 0;
    while (done < length) {
      const { bytesRead } = await handle.read(buffer, done, length - done, position + done);
      if (bytesRead === 0) throw new VolumeSetupError(`${device} ends before its size`);
      done += bytesRead;
    }
    return buffer;
  };
  const headBytes = Math.min(HEAD_BYTES, sizeBytes);
  const head = await read(0, headBytes);
  const tailStart = Math.max(headBytes, sizeBytes - HEAD_BYTES);
  const tail = await read(tailStart, sizeBytes - tailStart);
  return { head, isAllZero: isZero(head) && isZero(tail) };
}

export async function readHead(device: string, sizeBytes: number): Promise<Buffer> {
  await using handle = await open(device, 'r');
  const buffer = Buffer.alloc(Math.min(HEAD_BYTES, sizeBytes));
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
  return buffer.subarray(0, bytesRead);
}

const isZero = (bytes: Buffer): boolean => bytes.equals(Buffer.alloc(bytes.length));
