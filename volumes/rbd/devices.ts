/** Lookup of mapped images: by the kernel, or by a network block device server. */
import { isIP } from 'node:net';
import { join } from 'node:path';
import type { DeviceServices } from '../contract/devices.ts';
import { readKernelFile, readKernelFolder } from '../devices/kernel-files.ts';
import { MissingProgramError } from '../programs/errors.ts';
import type { RbdImage } from './image.ts';

export type Driver = 'krbd' | 'nbd';

export interface MappedImage {
  readonly driver: Driver;
  /** Such as `/dev/rbd0`. */
  readonly device: string;
}

type Services = Pick<DeviceServices, 'run' | 'paths'>;

/** The address without port. */
const hostOf = (monitor: string): string =>
  /^\[(.+)\](?::\d+)?$/.exec(monitor)?.[1] ?? (isIP(monitor) === 6 ? monitor : monitor.replace(/:\d+$/, ''));

/** Reports whether the kernel's description of a mapping may belong to these monitors: other clusters have
 *  pools and images of the same names. Monitor names are ignored, since the kernel has addresses. Pure. */
export function sameCluster(info: string | undefined, monitors: readonly string[]): boolean {
  const addresses = monitors.map(hostOf).filter((host) => isIP(host) !== 0);
  const [known = ''] = (info ?? '').split(' ');
  if (known === '' || addresses.length < monitors.length) return true;
  return known.split(',').some((monitor) => addresses.includes(hostOf(monitor)));
}

async function mappedByKernel(
  { paths: { dev, sys } }: Services,
  { pool, image, monitors }: RbdImage,
): Promise<MappedImage | undefined> {
  const folder = join(sys, 'bus', 'rbd', 'devices');
  for (const id of await readKernelFolder(folder)) {
    const fact = (name: string): Promise<string | undefined> => readKernelFile(join(folder, id, name));
    const [itsPool, itsImage, snapshot = '-'] = await Promise.all([
      fact('pool'),
      fact('name'),
      fact('current_snap'),
    ]);
    const same = itsPool === pool && itsImage === image && snapshot === '-';
    if (same && sameCluster(await fact('config_info'), monitors)) {
      return { driver: 'krbd', device: join(dev, `rbd${id}`) };
    }
  }
  return undefined;
}

const LIST_TIMEOUT_MS = 30_000;

const textAt = (entry: object, name: string): string | undefined => {
  const value: unknown = new Map<string, unknown>(Object.entries(entry)).get(name);
  return typeof value === 'string' ? value : undefined;
};

/** Returns the device of an image from the output of `rbd-nbd list-mapped`. Pure. */
export function parseMapped(
  json: string,
  { pool, image }: Pick<RbdImage, 'pool' | 'image'>,
): string | undefined {
  let entries: unknown;
  try {
    entries = JSON.parse(json);
  } catch {
    // It prints nothing when nothing is mapped.
    return undefined;
  }
  if (!Array.isArray(entries)) return undefined;
  const list: readonly unknown[] = entries;
  for (const entry of list) {
    if (typeof entry !== 'object' || entry === null) continue;
    const snapshot = textAt(entry, 'snap') ?? '-';
    const same = textAt(entry, 'pool') === pool && textAt(entry, 'image') === image;
    const device = textAt(entry, 'device');
    if (same && ['', '-'].includes(snapshot) && device !== undefined && /^\/dev\/nbd\d+$/.test(device)) {
      return device;
    }
  }
  return undefined;
}

async function mappedByNbd(
  services: Services,
  image: RbdImage,
  signal: AbortSignal,
): Promise<MappedImage | undefined> {
  // Without the kernel module nothing can be mapped.
  const nbds = (await readKernelFolder(join(services.paths.sys, 'block'))).filter((name) =>
    /^nbd\d+$/.test(name),
  );
  if (nbds.length === 0) return undefined;
  try {
    const args = ['list-mapped', '--format', 'json'];
    const { stdout } = await services.run('rbd-nbd', args, { signal, timeoutMs: LIST_TIMEOUT_MS });
    const device = parseMapped(stdout, image);
    if (device === undefined) return undefined;
    return { driver: 'nbd', device: join(services.paths.dev, device.slice('/dev/'.length)) };
  } catch (thrown) {
    if (thrown instanceof MissingProgramError) return undefined;
    throw thrown;
  }
}

/** Returns the device to which the image is mapped on this node; undefined if it is not. */
export async function findMapped(
  services: Services,
  image: RbdImage,
  signal: AbortSignal,
): Promise<MappedImage | undefined> {
  return (await mappedByKernel(services, image)) ?? (await mappedByNbd(services, image, signal));
}
