/** The kernel's sessions with iSCSI targets, and their disks. Read from `/sys`. */
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { unlessCode } from '#api/kit/errno.ts';
import { readKernelFile, readKernelFolder } from '../devices/kernel-files.ts';
import { type Portal, samePortal } from './target.ts';

export interface Session {
  readonly iqn: string;
  readonly iface: string;
  readonly portal: Portal;
  /** Number of the SCSI host. */
  readonly host: number;
  /** Directory of the session's devices. */
  readonly dir: string;
}

/** One LUN of a target. */
export interface Unit {
  readonly lun: number;
  /** Name in `/sys/block`, such as `sdb`; absent if it is not a disk, or not yet. */
  readonly disk?: string;
}

async function readSession(sys: string, name: string): Promise<Session | undefined> {
  const about = join(sys, 'class', 'iscsi_session', name);
  const connection = join(sys, 'class', 'iscsi_connection', `${name.replace('session', 'connection')}:0`);
  let dir = '';
  await unlessCode(['ENOENT'], async () => {
    dir = await realpath(join(about, 'device'));
  });
  const host = /\/host(\d+)\//.exec(`${dir}/`)?.[1];
  const [iqn, iface, address, port] = await Promise.all([
    readKernelFile(join(about, 'targetname')),
    readKernelFile(join(about, 'ifacename')),
    readKernelFile(join(connection, 'persistent_address')),
    readKernelFile(join(connection, 'persistent_port')),
  ]);
  if (iqn === undefined || address === undefined || host === undefined) return undefined;
  const portal = { address, port: Number(port ?? 0) };
  // Sessions from before interfaces had names use the default one.
  const named = iface === undefined || iface === '' || iface === '(null)' ? 'default' : iface;
  return { iqn, iface: named, portal, host: Number(host), dir };
}

/** Returns every session of the node. */
export async function listSessions(sys: string): Promise<readonly Session[]> {
  const names = await readKernelFolder(join(sys, 'class', 'iscsi_session'));
  const found = await Promise.all(names.map((name) => readSession(sys, name)));
  return found.filter((session) => session !== undefined);
}

export interface Wanted {
  readonly iqn: string;
  readonly iface: string;
  readonly portals: readonly Portal[];
}

/** Returns sessions with this target through this interface and any of these portals. */
export const sessionsOf = (sessions: readonly Session[], { iqn, iface, portals }: Wanted): Session[] =>
  sessions.filter(
    (session) =>
      session.iqn === iqn &&
      session.iface === iface &&
      portals.some((portal) => samePortal(portal, session.portal)),
  );

const DISK = '0';

/** Returns the LUNs of the session, including those that the kernel is still probing. */
export async function unitsOf({ dir }: Session): Promise<readonly Unit[]> {
  const targets = (await readKernelFolder(dir)).filter((name) => /^target\d+:\d+:\d+$/.test(name));
  const units = await Promise.all(
    targets.map(async (target) => {
      const names = await readKernelFolder(join(dir, target));
      return Promise.all(names.map((name) => readUnit(join(dir, target, name), name)));
    }),
  );
  return units.flat().filter((unit) => unit !== undefined);
}

async function readUnit(dir: string, name: string): Promise<Unit | undefined> {
  const lun = /^\d+:\d+:\d+:(\d+)$/.exec(name)?.[1];
  // Targets may expose LUNs that are not disks.
  if (lun === undefined || (await readKernelFile(join(dir, 'type'))) !== DISK) return undefined;
  const [disk] = await readKernelFolder(join(dir, 'block'));
  return disk === undefined ? { lun: Number(lun) } : { lun: Number(lun), disk };
}

const PCI = /\/([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])(?=\/)/g;

/** Returns udev's links to a LUN of the session. */
export function linksTo(dev: string, session: Session, portal: string, lun: number): readonly string[] {
  const name = `ip-${portal}-iscsi-${session.iqn}-lun-${lun}`;
  const card = [...session.dir.matchAll(PCI)].at(-1)?.[1];
  const names = card === undefined ? [name] : [`pci-${card}-${name}`, name];
  return names.map((link) => join(dev, 'disk', 'by-path', link));
}
