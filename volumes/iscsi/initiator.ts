/** Sessions created and ended with `iscsiadm`:
 *
 *      discovery at a portal ─▶ record of the target ─▶ login ─▶ scan for the one LUN
 *
 *  A session exposes only the LUNs that volumes request. */
import type { DeviceServices } from '../contract/devices.ts';
import { writeKernelFile } from '../devices/kernel-files.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import type { Chap } from './chap.ts';
import { type DiscoveryDeps, discover } from './discovery.ts';
import { ensureInterface, type InterfaceRequest, removeInterface } from './interfaces.ts';
import { adminFailure, createAdmin, NO_RECORDS, SESSION_EXISTS, TARGET_MS } from './iscsiadm.ts';
import { changeRecord, findNodes, foundRecord, type Settings } from './records.ts';
import { listSessions, type Session, sessionsOf } from './sessions.ts';
import { formatPortal, type Portal } from './target.ts';

/** Target and interface of a session. */
export interface Peer {
  readonly iqn: string;
  readonly iface: string;
}

export interface Initiator {
  /** Creates an interface with another initiator name, unless it exists. @throws VolumeSetupError */
  ensureInterface(request: InterfaceRequest, signal: AbortSignal): Promise<void>;
  removeInterface(iface: string, signal: AbortSignal): Promise<void>;
  /** Returns the session with the target at the portal, and creates it if needed. @throws VolumeSetupError */
  ensureSession(peer: Peer, portal: Portal, chap: Chap, signal: AbortSignal): Promise<Session>;
  /** Ends the session, if it exists, and deletes its record. @throws VolumeSetupError */
  logout(peer: Peer, portal: Portal, signal: AbortSignal): Promise<void>;
  /** Makes the kernel scan for one LUN. */
  scan(session: Session, lun: number, signal: AbortSignal): Promise<void>;
}

export interface InitiatorDeps extends Pick<DeviceServices, 'run' | 'paths'> {
  /** Directories that may contain the records. */
  readonly databases: readonly string[];
}

/** The agent decides about sessions and their LUNs; neither the boot of the machine nor the login does. */
const MANUAL_ONLY: Settings = new Map([
  ['node.startup', 'manual'],
  ['node.conn[0].startup', 'manual'],
  ['node.session.scan', 'manual'],
]);

const nodeArgs = ({ iqn, iface }: Peer, place: string): readonly string[] => [
  '-m',
  'node',
  '-T',
  iqn,
  '-p',
  place,
  '-I',
  iface,
];

async function login(
  deps: DiscoveryDeps,
  peer: Peer,
  portal: Portal,
  chap: Chap,
  signal: AbortSignal,
): Promise<void> {
  const { admin, databases } = deps;
  const at = formatPortal(portal);
  const what = `the iSCSI target ${peer.iqn} at ${at}`;
  const group = await discover(deps, { ...peer, portal, chap: chap.discovery }, signal);
  const place = group === undefined ? at : `${at},${group}`;
  await admin.must(`failed to create a record of ${what}`, [...nodeArgs(peer, place), '-o', 'new'], signal);
  try {
    const records = await findNodes(databases, peer.iqn, portal, peer.iface);
    foundRecord(records[0], what);
    for (const record of records) await changeRecord(record, chap.session, MANUAL_ONLY);
    const result = await admin.try([...nodeArgs(peer, at), '--login'], signal, TARGET_MS);
    if (result.code !== 0 && result.code !== SESSION_EXISTS)
      throw adminFailure(`failed to log in to ${what}`, result);
  } catch (thrown) {
    await admin.tidy([...nodeArgs(peer, at), '-o', 'delete']);
    throw thrown;
  }
}

export function createInitiator({ run, paths, databases }: InitiatorDeps): Initiator {
  const admin = createAdmin(run);
  const deps: DiscoveryDeps = { admin, databases };
  const find = async (peer: Peer, portal: Portal): Promise<Session | undefined> =>
    sessionsOf(await listSessions(paths.sys), { ...peer, portals: [portal] })[0];

  return {
    ensureInterface: (request, signal) => ensureInterface(deps, request, signal),
    removeInterface: (iface, signal) => removeInterface(deps, iface, signal),

    async ensureSession(peer, portal, chap, signal) {
      const known = await find(peer, portal);
      if (known !== undefined) return known;
      await login(deps, peer, portal, chap, signal);
      const created = await find(peer, portal);
      if (created !== undefined) return created;
      const at = formatPortal(portal);
      throw new VolumeSetupError(`no session with ${peer.iqn} at ${at} after a successful login`);
    },

    async logout(peer, portal, signal) {
      const at = formatPortal(portal);
      if ((await find(peer, portal)) !== undefined) {
        const result = await admin.try([...nodeArgs(peer, at), '--logout'], signal, TARGET_MS);
        if (result.code !== 0 && result.code !== NO_RECORDS) {
          throw adminFailure(`failed to log out of ${peer.iqn} at ${at}`, result);
        }
      }
      const records = await findNodes(databases, peer.iqn, portal, peer.iface);
      if (records.length > 0) await admin.tidy([...nodeArgs(peer, at), '-o', 'delete']);
    },

    scan: ({ host }, lun, signal) =>
      writeKernelFile({ run }, `${paths.sys}/class/scsi_host/host${host}/scan`, `0 0 ${lun}`, signal),
  };
}
