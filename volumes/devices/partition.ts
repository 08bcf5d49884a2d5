/** Partitions of block devices: their names, and waiting for them. */
import { readdir, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Clock } from '#api/kit/clock.ts';
import { errorCode } from '#api/kit/errno.ts';
import type { DevicePaths } from '../contract/device-paths.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { findBlockDevice, waitForPath } from './wait-for-device.ts';

const MAX_PARTITIONS = 256;

/** Returns the path of a partition in the naming of kernel and udev: `sda1`, `nvme0n1p1`, `…/by-id/x-part1`.
 *  Pure.
 *  @throws VolumeSetupError for an invalid partition number */
export function partitionPath(device: string, partition: number): string {
  if (!Number.isInteger(partition) || partition < 1 || partition > MAX_PARTITIONS) {
    throw new VolumeSetupError(`partition ${partition} is not a number from 1 to ${MAX_PARTITIONS}`);
  }
  if (/\/(?:disk\/by-[a-z]+|mapper)\//.test(device)) return `${device}-part${partition}`;
  return /\d$/.test(device) ? `${device}p${partition}` : `${device}${partition}`;
}

/** Partitions of mapped devices are mapped devices themselves, identified by their UUID. */
async function findMapped(
  { dev, sys }: DevicePaths,
  device: string,
  partition: number,
): Promise<string | undefined> {
  const holders = join(sys, 'class/block', basename(device), 'holders');
  for (const name of await listIfThere(holders)) {
    const uuid = await readFile(join(holders, name, 'dm/uuid'), 'utf8').catch(() => '');
    if (uuid.startsWith(`part${partition}-`)) return findBlockDevice(join(dev, name));
  }
  return undefined;
}

async function listIfThere(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return [];
    throw thrown;
  }
}

/** Waits for a partition of an existing device.
 *  @param partition undefined or 0 for the whole device
 *  @returns the partition's own device
 *  @throws VolumeSetupError naming the awaited device; the signal's reason */
export async function waitForPartition(
  { clock, paths }: { readonly clock: Clock; readonly paths: DevicePaths },
  device: string,
  partition: number | undefined,
  signal: AbortSignal,
): Promise<string> {
  if (partition === undefined || partition === 0) return device;
  const path = partitionPath(device, partition);
  const isMapped = basename(device).startsWith('dm-');
  const find = async (): Promise<string | undefined> =>
    isMapped ? findMapped(paths, device, partition) : findBlockDevice(path);
  const folders = isMapped ? [paths.dev, join(paths.dev, 'mapper')] : [dirname(path), paths.dev];
  const what = `partition ${partition} of ${device}`;
  return waitForPath(clock, { find, folders, what }, signal);
}
