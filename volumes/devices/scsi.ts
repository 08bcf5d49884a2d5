/** SCSI disks, and the multipath maps over several of them that are one disk. What is there is read from `/sys`. */
import { join } from 'node:path';
import { failText } from '../programs/errors.ts';
import { VolumeSetupError } from '../setup-error.ts';
import type { DeviceServices } from './contract.ts';
import { readKernelFile, readKernelFolder, writeKernelFile } from './kernel-files.ts';

type Undo = Pick<DeviceServices, 'run' | 'paths'>;

/** A map over paths to one disk. */
export interface Multipath {
  /** In `/dev` and `/sys/block`, such as `dm-3`. */
  readonly name: string;
  /** What the multipath tools call it, such as `mpatha`. */
  readonly map: string;
}

const MULTIPATH_UUID = 'mpath-';

/** The map that this block device is a path of. @param disk in `/sys/block`, such as `sdb` */
export async function multipathOf(sys: string, disk: string): Promise<Multipath | undefined> {
  for (const name of await readKernelFolder(join(sys, 'block', disk, 'holders'))) {
    const about = join(sys, 'block', name, 'dm');
    const uuid = (await readKernelFile(join(about, 'uuid'))) ?? '';
    const map = await readKernelFile(join(about, 'name'));
    if (uuid.startsWith(MULTIPATH_UUID) && map !== undefined && map !== '') return { name, map };
  }
  return undefined;
}

/** Paths of a map, such as `sdb`. @param device in `/sys/block`, such as `dm-3` */
export const slavesOf = (sys: string, device: string): Promise<readonly string[]> =>
  readKernelFolder(join(sys, 'block', device, 'slaves'));

/** The link that udev makes to a map over the disk, whichever name the map has; undefined where its identifier is of
 *  another kind than these. */
async function multipathLink(
  { dev, sys }: DeviceServices['paths'],
  disk: string,
): Promise<string | undefined> {
  const wwid = (await readKernelFile(join(sys, 'block', disk, 'device', 'wwid'))) ?? '';
  const [, kind = '', id = ''] = /^(naa|eui)\.([0-9a-f]+)$/.exec(wwid) ?? [];
  if (id === '') return undefined;
  return join(dev, 'disk', 'by-id', `dm-uuid-${MULTIPATH_UUID}${kind === 'naa' ? '3' : '2'}${id}`);
}

/** As long as upstream. */
const MULTIPATH_PATIENCE_MS = 10_000;

async function multipathComes(services: DeviceServices, disk: string, signal: AbortSignal): Promise<void> {
  const { paths } = services;
  // Without the module nobody makes maps.
  const module = await readKernelFolder(join(paths.sys, 'module', 'dm_multipath'));
  const link = module.length === 0 ? undefined : await multipathLink(paths, disk);
  if (link === undefined) return;
  const patience = AbortSignal.timeout(MULTIPATH_PATIENCE_MS);
  try {
    await services.waitForDevice([link], AbortSignal.any([signal, patience]));
  } catch (thrown) {
    signal.throwIfAborted();
    if (!patience.aborted && !(thrown instanceof VolumeSetupError)) throw thrown;
  }
}

/** The device to use of disks that are one: the map over them, or the first of them where there is none.
 *  @param disks paths such as `/dev/sdb`, one at least
 *  @param several whether a map is expected, and worth waiting for */
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
  const look = async (): Promise<string | undefined> => {
    for (const name of names) {
      const found = await multipathOf(sys, name);
      if (found !== undefined) return join(dev, found.name);
    }
    return undefined;
  };
  const there = await look();
  if (there !== undefined || !several) return there ?? first;
  await multipathComes(services, names[0] ?? '', signal);
  return (await look()) ?? first;
}

const FLUSH_PATIENCE_MS = 30_000;

async function flushMap(services: Undo, { name, map }: Multipath, signal: AbortSignal): Promise<void> {
  const result = await services.run('multipath', ['-f', map], { signal, timeoutMs: FLUSH_PATIENCE_MS });
  const left = await slavesOf(services.paths.sys, name);
  if (result.code !== 0 && left.length > 0) throw new VolumeSetupError(failText('multipath', result));
}

async function removeDisk(services: Undo, disk: string, signal: AbortSignal): Promise<void> {
  const { dev, sys } = services.paths;
  const holders = await readKernelFolder(join(sys, 'block', disk, 'holders'));
  if (holders.length > 0) {
    throw new VolumeSetupError(`disk ${disk} can't be removed: ${holders.join(', ')} is made of it`);
  }
  // The disk may be gone for good, with what was not written: that must not keep it here.
  await services.run('blockdev', ['--flushbufs', join(dev, disk)], { signal, timeoutMs: FLUSH_PATIENCE_MS });
  const remove = join(sys, 'block', disk, 'device', 'delete');
  const there = await readKernelFolder(join(sys, 'block', disk, 'device'));
  if (there.includes('delete')) await writeKernelFile(services, remove, '1', signal);
}

/** Takes disks off the node, after the maps over them. What was written is on them before. Harmless for such as are
 *  gone. @param disks in `/sys/block`, such as `sdb` @throws VolumeSetupError where one is still used by others */
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
