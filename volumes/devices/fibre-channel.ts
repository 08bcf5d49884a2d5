/** Disks behind Fibre Channel ports. Source: the kernel's `fc_transport` class. */
import { join } from 'node:path';
import type { DeviceServices } from '../contract/devices.ts';
import { readKernelFile, readKernelFolder } from './kernel-files.ts';

/** A reachable port in the kernel's numbering: host, channel and target, as in `2:0:3`. */
export type FcTarget = string;

/** Returns targets with any of these port names, 16 hexadecimal digits each. */
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

/** Returns the names in `/sys/block` of one LUN behind these targets. */
export async function fcDisks(
  sys: string,
  targets: readonly FcTarget[],
  lun: number,
): Promise<readonly string[]> {
  const folders = targets.map((target) => join(sys, 'bus', 'scsi', 'devices', `${target}:${lun}`, 'block'));
  const found = await Promise.all(folders.map((folder) => readKernelFolder(folder)));
  return [...new Set(found.flat())];
}

/** Returns udev's links of one LUN behind these ports: `pci-0000:41:00.0-fc-0x500a0981891b8dc5-lun-0`. */
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

/** Prefix in `/sys` of a udev world wide identifier, by its first digit, which is its kind. */
const KINDS: Readonly<Record<string, string>> = { '1': 't10.', '2': 'eui.', '3': 'naa.' };

/** Returns the names in `/sys/block` of SCSI disks with any of these identifiers, in udev's form. */
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
