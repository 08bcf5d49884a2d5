/** fc: a disk behind Fibre Channel, by ports and LUN or by its world wide identifier. Source: volume
 *  sources, document 3 §2.3. */
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { FCVolumeSource } from '#api/gen/core-v1.ts';
import { unlessCode } from '#api/kit/errno.ts';
import { attachableVolumeName } from '#api/meta/volume-names.ts';
import type { DevicePlugin, DeviceServices } from '../contract/devices.ts';
import type { SourcePlugin } from '../contract/source.ts';
import type { UndoState } from '../contract/staging.ts';
import { defineDeviceSource } from '../devices/define-source.ts';
import { disksByWwid, fcDisks, fcLinks, fcTargets } from '../devices/fibre-channel.ts';
import { badField, checkFsType, checkLun } from '../devices/fields.ts';
import { deviceOfPaths, removeDisks } from '../devices/scsi.ts';
import { scanAllHosts, scanUnit } from '../devices/scsi-hosts.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';

/** Identity of the disk, in one of the two forms. */
type Disk =
  | { readonly kind: 'ports'; readonly ports: ReadonlySet<string>; readonly lun: number }
  | { readonly kind: 'wwids'; readonly wwids: readonly string[] };

const WWN = /^(?:0x)?([0-9a-f]{16})$/i;
const WWN_FORM = 'must be a world wide name of 16 hexadecimal digits, such as 500a0982991b8dc5';
const WWID = /^[A-Za-z0-9][A-Za-z0-9_.:+-]{0,127}$/;
const WWID_FORM = 'must be a world wide identifier, such as 3600508b400105e210000900000490000';

function parseDisk({ targetWWNs = [], lun, wwids = [] }: FCVolumeSource): Disk {
  if (targetWWNs.length > 0 && wwids.length > 0) {
    throw badField('fc.wwids', wwids, 'must not be set together with fc.targetWWNs');
  }
  if (wwids.length > 0) {
    // In udev's spelling.
    const named = wwids.map((wwid) => wwid.replaceAll(' ', '_'));
    const wrong = named.findIndex((wwid) => !WWID.test(wwid));
    if (wrong >= 0) throw badField(`fc.wwids[${wrong}]`, wwids[wrong], WWID_FORM);
    return { kind: 'wwids', wwids: named };
  }
  if (targetWWNs.length === 0) {
    throw new VolumeSetupError('fc.targetWWNs: Required value: with fc.lun, or else fc.wwids');
  }
  if (lun === undefined) throw new VolumeSetupError('fc.lun: Required value: required with fc.targetWWNs');
  const ports = targetWWNs.map((name, index) => {
    const port = WWN.exec(name)?.[1];
    if (port === undefined) throw badField(`fc.targetWWNs[${index}]`, name, WWN_FORM);
    return port.toLowerCase();
  });
  return { kind: 'ports', ports: new Set(ports), lun: checkLun('fc.lun', lun) };
}

const stateOf = (disk: Disk): UndoState =>
  disk.kind === 'ports'
    ? { ports: [...disk.ports].join(' '), lun: String(disk.lun) }
    : { wwids: disk.wwids.join(' ') };

function diskOf({ ports = '', lun = '', wwids = '' }: UndoState): Disk | undefined {
  if (wwids !== '') return { kind: 'wwids', wwids: wwids.split(' ') };
  return ports === '' ? undefined : { kind: 'ports', ports: new Set(ports.split(' ')), lun: Number(lun) };
}

type Undo = Pick<DeviceServices, 'run' | 'paths'>;

/** Existing links to the disk. */
const linksOf = async ({ paths }: Undo, disk: Disk): Promise<readonly string[]> =>
  disk.kind === 'ports'
    ? fcLinks(paths, disk.ports, disk.lun)
    : disk.wwids.map((wwid) => join(paths.dev, 'disk', 'by-id', `scsi-${wwid}`));

/** Returns every path to the disk by its name in `/sys/block`. */
async function pathsTo({ paths }: Undo, disk: Disk): Promise<readonly string[]> {
  if (disk.kind === 'wwids') return disksByWwid(paths.sys, disk.wwids);
  return fcDisks(paths.sys, await fcTargets(paths.sys, disk.ports), disk.lun);
}

async function scan(services: Undo, disk: Disk, signal: AbortSignal): Promise<void> {
  const targets = disk.kind === 'ports' ? await fcTargets(services.paths.sys, disk.ports) : [];
  if (disk.kind !== 'ports' || targets.length === 0) return scanAllHosts(services, signal);
  await Promise.all(targets.map((target) => scanUnit(services, target, disk.lun, signal)));
}

/** Waits for the disk under any of its names. */
async function find(services: DeviceServices, disk: Disk, signal: AbortSignal): Promise<readonly string[]> {
  const names = await pathsTo(services, disk);
  const { dev } = services.paths;
  if (names.length > 0) {
    return Promise.all(names.map((name) => services.waitForDevice([join(dev, name)], signal)));
  }
  const links = await linksOf(services, disk);
  if (links.length > 0) return [await services.waitForDevice(links, signal)];
  const what =
    disk.kind === 'ports' ? `LUN ${disk.lun} of ${[...disk.ports].join(', ')}` : disk.wwids.join(', ');
  throw new VolumeSetupError(`this node reaches no Fibre Channel disk ${what}`);
}

/** Returns the names in `/sys/block` behind the links; a multipath device counts as its paths. */
async function linked(services: Undo, disk: Disk): Promise<readonly string[]> {
  const names = new Set<string>();
  for (const link of await linksOf(services, disk)) {
    await unlessCode(['ENOENT', 'ENOTDIR'], async () => {
      const name = (await realpath(link)).slice(services.paths.dev.length + 1);
      if (/^sd[a-z]+$/.test(name)) names.add(name);
    });
  }
  return [...names];
}

export const fcPlugin: DevicePlugin<'fc'> = {
  name: 'fc',
  about: {
    summary: 'A disk behind Fibre Channel.',
    use: 'both',
    block: true,
    mountOptions: true,
    programs: ['tee', 'blockdev'],
    notes: [
      'If the node has multipath, the agent uses the multipath device and removes it afterwards with `multipath`.',
      'If the kernel reports which ports it reaches, the agent scans only for this one LUN.',
    ],
  },
  dirName: 'fc',

  identify(spec, domain) {
    parseDisk(spec);
    return {
      uniqueName: attachableVolumeName(domain, { fc: spec }) ?? '',
      fsType: checkFsType('fc.fsType', spec.fsType),
      readOnly: spec.readOnly === true,
    };
  },

  inUse: (fc) => ({ fc }),

  async attach(spec, services, save, signal) {
    const disk = parseDisk(spec);
    await save(stateOf(disk));
    // No scan is needed for an existing disk.
    if ((await pathsTo(services, disk)).length === 0) await scan(services, disk, signal);
    const disks = await find(services, disk, signal);
    return deviceOfPaths(services, disks, disks.length > 1, signal);
  },

  async detach(state, services, signal) {
    const disk = diskOf(state);
    if (disk === undefined) return;
    const names = new Set([...(await pathsTo(services, disk)), ...(await linked(services, disk))]);
    await removeDisks(services, [...names], signal);
  },
};

export const fc: SourcePlugin = defineDeviceSource(fcPlugin);
