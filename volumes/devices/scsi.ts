/** SCSI disks and multipath devices, read from `/sys`. */
import { join } from 'node:path';
import type { DeviceServices } from '../contract/devices.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { failText } from '../programs/errors.ts';
import { readKernelFile, readKernelFolder, writeKernelFile } from './kernel-files.ts';

type Undo = Pick<DeviceServices, 'run' | 'paths'>;

/** A multipath device over the paths to one disk. */
export interface Multipath {
  /** Name in `/dev` and `/sys/block`, such as `dm-3`. */
  readonly name: string;
  /** Name in the multipath tools, such as `mpatha`. */
  readonly map: string;
}

const MULTIPATH_UUID = 'mpath-';

/** Returns the multipath device that has this block device as a path. @param disk in `/sys/block`, such as
 *  `sdb` */
async function multipathOf(sys: string, disk: string): Promise<Multipath | undefined> {
  for (const name of await readKernelFolder(join(sys, 'block', disk, 'holders'))) {
    const about = join(sys, 'block', name, 'dm');
    const uuid = (await readKernelFile(join(about, 'uuid'))) ?? '';
    const map = await readKernelFile(join(about, 'name'));
    if (uuid.startsWith(MULTIPATH_UUID) && map !== undefined && map !== '') return { name, map };
  }
  return undefined;
}

/** Returns the paths of a multipath device, such as `sdb`. @param device in `/sys/block`, such as `dm-3` */
const slavesOf = (sys: string, device: string): Promise<readonly string[]> =>
  readKernelFolder(join(sys, 'block', device, 'slaves'));

/** Returns udev's link to a multipath device over the disk, independent of its name; undefined for other
 *  kinds of identifiers. */
async function multipathLink(
  { dev, sys }: DeviceServices['paths'],
  disk: string,
): Promise<string | undefined> {
  const wwid = (await readKernelFile(join(sys, 'block', disk, 'device', 'wwid'))) ?? '';
  const [, kind = '', id = ''] = /^(naa|eui)\.([0-9a-f]+)$/.exec(wwid) ?? [];
  if (id === '') return undefined;
  return join(dev, 'disk', 'by-id', `dm-uuid-${MULTIPATH_UUID}${kind === 'naa' ? '3' : '2'}${id}`);
}

/** As upstream. */
const MULTIPATH_TIMEOUT_MS = 10_000;

async function multipathComes(services: DeviceServices, disk: string, signal: AbortSignal): Promise<void> {
  const { paths } = services;
  // Without the kernel module there are no multipath devices.
  const module = await readKernelFolder(join(paths.sys, 'module', 'dm_multipath'));
  const link = module.length === 0 ? undefined : await multipathLink(paths, disk);
  if (link === undefined) return;
  const patience = AbortSignal.timeout(MULTIPATH_TIMEOUT_MS);
  try {
    await services.waitForDevice([link], AbortSignal.any([signal, patience]));
  } catch (thrown) {
    signal.throwIfAborted();
    if (!patience.aborted && !(thrown instanceof VolumeSetupError)) throw thrown;
  }
}

/** Returns the device to use for disks that are paths to one disk: the multipath device, or the first path if
 *  there is none.
 *  @param disks paths such as `/dev/sdb`, at least one
 *  @param several whether a multipath device is expected and worth waiting for */
export async function deviceOfPaths(
  services: DeviceServices,
  disks: readonly string[],
  several: boolean,
  signal: AbortSignal,
): Promise<string> {
  const [first] = disks;
  if (first === undefined) throw new VolumeSetupError('no path leads to the disk');
  const { dev, sys } = services.paths;
  const names = disks.map((disk) => disk.slice(dev.length + 1));
  const check = async (): Promise<string | undefined> => {
    for (const name of names) {
      const found = await multipathOf(sys, name);
      if (found !== undefined) return join(dev, found.name);
    }
    return undefined;
  };
  const there = await check();
  if (there !== undefined || !several) return there ?? first;
  await multipathComes(services, names[0] ?? '', signal);
  return (await check()) ?? first;
}

const FLUSH_TIMEOUT_MS = 30_000;

async function flushMap(services: Undo, { name, map }: Multipath, signal: AbortSignal): Promise<void> {
  const result = await services.run('multipath', ['-f', map], { signal, timeoutMs: FLUSH_TIMEOUT_MS });
  const left = await slavesOf(services.paths.sys, name);
  if (result.code !== 0 && left.length > 0) throw new VolumeSetupError(failText('multipath', result));
}

async function removeDisk(services: Undo, disk: string, signal: AbortSignal): Promise<void> {
  const { dev, sys } = services.paths;
  const holders = await readKernelFolder(join(sys, 'block', disk, 'holders'));
  if (holders.length > 0) {
    throw new VolumeSetupError(`disk ${disk} cannot be removed: ${holders.join(', ')} is built on it`);
  }
  // The disk may be gone for good with unwritten data: that must not block its removal.
  await services.run('blockdev', ['--flushbufs', join(dev, disk)], { signal, timeoutMs: FLUSH_TIMEOUT_MS });
  const remove = join(sys, 'block', disk, 'device', 'delete');
  const there = await readKernelFolder(join(sys, 'block', disk, 'device'));
  if (there.includes('delete')) await writeKernelFile(services, remove, '1', signal);
}

/** Removes disks from the node, after their multipath devices and after flushing. Ignores disks that are
 *  gone. @param disks in `/sys/block`, such as `sdb` @throws VolumeSetupError if a disk is still in use */
export async function removeDisks(
  services: Undo,
  disks: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const maps = new Map<string, Multipath>();
  for (const disk of disks) {
    const found = await multipathOf(services.paths.sys, disk);
    if (found !== undefined) maps.set(found.name, found);
  }
  for (const map of maps.values()) await flushMap(services, map, signal);
  for (const disk of disks) await removeDisk(services, disk, signal);
}
