/** Disks behind Fibre Channel ports. Source: the kernel's `fc_transport` class. */
import { join } from 'node:path';
import type { DeviceServices } from './contract.ts';
import { readKernelFile, readKernelFolder } from './kernel-files.ts';

/** A port that the machine reaches, as the kernel numbers it: host, channel and target, as in `2:0:3`. */
export type FcTarget = string;

/** Targets by any of these port names, 16 hexadecimal digits each. */
export async function fcTargets(sys: string, names: ReadonlySet<string>): Promise<readonly FcTarget[]> {
  const folder = join(sys, 'class', 'fc_transport');
  const targets: FcTarget[] = [];
  for (const name of await readKernelFolder(folder)) {
    const port = await readKernelFile(join(folder, name, 'port_name'));
    if (port !== undefined && names.has(port.toLowerCase().replace(/^0x/, ''))) {
      targets.push(name.replace(/^target/, ''));
    }
  }
  return targets;
}

/** Names in `/sys/block` of one unit behind these targets. */
export async function fcDisks(
  sys: string,
  targets: readonly FcTarget[],
  lun: number,
): Promise<readonly string[]> {
  const folders = targets.map((target) => join(sys, 'bus', 'scsi', 'devices', `${target}:${lun}`, 'block'));
  const found = await Promise.all(folders.map((folder) => readKernelFolder(folder)));
  return [...new Set(found.flat())];
}

/** Links by which udev names one unit behind these ports: `pci-0000:41:00.0-fc-0x500a0981891b8dc5-lun-0`. */
export async function fcLinks(
  { dev }: DeviceServices['paths'],
  names: ReadonlySet<string>,
  lun: number,
): Promise<readonly string[]> {
  const folder = join(dev, 'disk', 'by-path');
  const links = await readKernelFolder(folder);
  const wanted = links.filter((link) => {
    const [, port = '', unit = ''] = /(?:^|-)fc-0x([0-9a-fA-F]{16})-lun-(\d+)$/.exec(link) ?? [];
    return names.has(port.toLowerCase()) && Number(unit) === lun;
  });
  return wanted.map((link) => join(folder, link));
}

/** What a world wide identifier of udev's is in `/sys`: its first digit says which kind it is. */
const KINDS: Readonly<Record<string, string>> = { '1': 't10.', '2': 'eui.', '3': 'naa.' };

/** Names in `/sys/block` of the SCSI disks with any of these identifiers, as udev has them. */
export async function disksByWwid(sys: string, wwids: readonly string[]): Promise<readonly string[]> {
  const wanted = new Set(
    wwids.map((wwid) => `${KINDS[wwid.slice(0, 1)] ?? ''}${wwid.slice(1)}`.toLowerCase()),
  );
  const folder = join(sys, 'block');
  const found: string[] = [];
  for (const name of await readKernelFolder(folder)) {
    const wwid = await readKernelFile(join(folder, name, 'device', 'wwid'));
    if (wwid !== undefined && wanted.has(wwid.replaceAll(/\s+/g, '_').toLowerCase())) found.push(name);
  }
  return found;
}
