/** SCSI bus scans. */
import { join } from 'node:path';
import type { DeviceServices } from '../contract/devices.ts';
import { readKernelFolder, writeKernelFile } from './kernel-files.ts';

/** All channels, targets and LUNs. */
const ALL = '- - -';

/** Scans all hosts for new disks. */
export async function scanAllHosts(
  services: Pick<DeviceServices, 'run' | 'paths'>,
  signal: AbortSignal,
): Promise<void> {
  const folder = join(services.paths.sys, 'class', 'scsi_host');
  const hosts = await readKernelFolder(folder);
  await Promise.all(hosts.map((host) => writeKernelFile(services, join(folder, host, 'scan'), ALL, signal)));
}

/** Scans one host for one LUN of one target. @param target host, channel and target as in `2:0:3` */
export async function scanUnit(
  services: Pick<DeviceServices, 'run' | 'paths'>,
  target: string,
  lun: number,
  signal: AbortSignal,
): Promise<void> {
  const [host = '', channel = '', id = ''] = target.split(':');
  const path = join(services.paths.sys, 'class', 'scsi_host', `host${host}`, 'scan');
  await writeKernelFile(services, path, `${channel} ${id} ${lun}`, signal);
}
