/** Making the kernel look for SCSI disks. */
import { join } from 'node:path';
import type { DeviceServices } from './contract.ts';
import { readKernelFolder, writeKernelFile } from './kernel-files.ts';

/** Everything: channel, target and unit. */
const ALL = '- - -';

/** Every host looks for whatever is new. */
export async function scanAllHosts(
  services: Pick<DeviceServices, 'run' | 'paths'>,
  signal: AbortSignal,
): Promise<void> {
  const folder = join(services.paths.sys, 'class', 'scsi_host');
  const hosts = await readKernelFolder(folder);
  await Promise.all(hosts.map((host) => writeKernelFile(services, join(folder, host, 'scan'), ALL, signal)));
}

/** One host looks for one unit of one target. @param target host, channel and target as in `2:0:3` */
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
