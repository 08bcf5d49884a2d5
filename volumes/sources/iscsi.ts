/** iscsi: a LUN of an iSCSI target, through one or several portals, optionally with CHAP.
 *  Source: volume sources, document 3 §2.3. */
import { join } from 'node:path';
import { asError } from '#api/kit/errno.ts';
import { createKeyedQueue } from '#api/kit/keyed-queue.ts';
import { attachableVolumeName } from '#api/meta/volume-names.ts';
import type { DevicePlugin, DeviceServices } from '../contract/devices.ts';
import type { SourceAbout, SourcePlugin } from '../contract/source.ts';
import type { UndoState } from '../contract/staging.ts';
import { defineDeviceSource } from '../devices/define-source.ts';
import { checkFsType } from '../devices/fields.ts';
import { deviceOfPaths, removeDisks } from '../devices/scsi.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { type Chap, chapOf } from '../iscsi/chap.ts';
import { createInitiator, type Initiator, type Peer } from '../iscsi/initiator.ts';
import { DATABASES } from '../iscsi/records.ts';
import { linksTo, listSessions, type Session, sessionsOf, unitsOf } from '../iscsi/sessions.ts';
import {
  formatPortal,
  type IscsiSpec,
  ownInterface,
  type Portal,
  parsePortal,
  parseTarget,
  resolvePortals,
  samePortal,
} from '../iscsi/target.ts';
import { readSecretRef } from '../objects/secret-ref.ts';

export interface IscsiOptions {
  /** Directories of the initiator's records. */
  readonly databases: readonly string[];
}

/** A target with its portals to log in to and to log out of. */
interface Place extends Peer {
  readonly lun: number;
  readonly portals: readonly Portal[];
  /** The interface was created by the agent. */
  readonly own: boolean;
}

/** Pods may use one disk through several interfaces with separate sessions: `1.iface` belongs to the
 *  second place. */
function stateOf(places: readonly Place[]): UndoState {
  const entries = places.flatMap(({ iqn, iface, lun, portals, own }, index) => {
    const state: UndoState = {
      iqn,
      iface,
      lun: String(lun),
      portals: portals.map(formatPortal).join(' '),
      own: String(own),
    };
    return Object.entries(state).map(
      ([key, value]) => [index === 0 ? key : `${index}.${key}`, value] as const,
    );
  });
  return Object.fromEntries(entries);
}

function placeOf(state: UndoState, prefix: string): Place | undefined {
  const [iqn = '', iface = '', lun = '', portals = '', own = ''] = [
    'iqn',
    'iface',
    'lun',
    'portals',
    'own',
  ].map((key) => state[`${prefix}${key}`]);
  if (iqn === '' || iface === '' || lun === '' || portals === '') return undefined;
  const parsed = portals.split(' ').map((portal) => parsePortal('portal', portal));
  return { iqn, iface, lun: Number(lun), portals: parsed, own: own === 'true' };
}

function placesOf(state: UndoState): readonly Place[] {
  const places: Place[] = [];
  for (let index = 0; ; index++) {
    const place = placeOf(state, index === 0 ? '' : `${index}.`);
    if (place === undefined) return places;
    places.push(place);
  }
}

/** Returns the places to log out of, including the new one; its portals are added to those used before.
 *  Pure. */
function withPlace(before: readonly Place[], place: Place): readonly Place[] {
  const isSame = (one: Place): boolean =>
    one.iqn === place.iqn && one.lun === place.lun && one.iface === place.iface;
  const known = before.find(isSame);
  if (known === undefined) return [...before, place];
  const more = place.portals.filter((portal) => !known.portals.some((one) => samePortal(one, portal)));
  return before.map((one) => (one === known ? { ...one, portals: [...one.portals, ...more] } : one));
}

async function readChap(spec: IscsiSpec, { objects, namespace }: DeviceServices): Promise<Chap> {
  const { chapAuthDiscovery: discovery = false, chapAuthSession: session = false, secretRef } = spec;
  if (!discovery && !session) return chapOf(new Map(), { discovery, session });
  if (secretRef === undefined) {
    const field = discovery ? 'chapAuthDiscovery' : 'chapAuthSession';
    throw new VolumeSetupError(
      `iscsi.secretRef: Required value: CHAP needs it because iscsi.${field} is true`,
    );
  }
  return chapOf(await readSecretRef(objects, namespace, secretRef), { discovery, session });
}

/** With fewer paths, failed portals are tried once more. */
const ENOUGH_PATHS = 2;

/** Returns the device of each portal that leads to the disk. @throws VolumeSetupError when none does */
async function eachPortal(
  portals: readonly Portal[],
  reach: (portal: Portal) => Promise<string>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const disks: string[] = [];
  let left = portals;
  let failures: readonly Error[] = [];
  for (let round = 0; round < 2 && left.length > 0 && disks.length < ENOUGH_PATHS; round++) {
    const results = await Promise.allSettled(left.map(reach));
    signal.throwIfAborted();
    disks.push(...results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])));
    left = left.filter((_, index) => results[index]?.status === 'rejected');
    failures = results.flatMap((result) => (result.status === 'rejected' ? [asError(result.reason)] : []));
    // A single portal is retried by the caller's next attempt.
    if (portals.length === 1) break;
  }
  if (disks.length > 0) return [...new Set(disks)];
  const [first] = failures;
  if (failures.length === 1 && first !== undefined) throw first;
  const messages = [...new Set(failures.map(({ message }) => message))].join('; ');
  throw new VolumeSetupError(`no portal leads to the disk: ${messages}`, {
    cause: new AggregateError(failures, 'every portal failed'),
  });
}

async function findDisk(
  session: Session,
  lun: number,
  services: DeviceServices,
  signal: AbortSignal,
): Promise<string> {
  const { dev } = services.paths;
  const at = formatPortal(session.portal);
  const unit = (await unitsOf(session)).find((one) => one.lun === lun);
  if (unit === undefined)
    throw new VolumeSetupError(`the target ${session.iqn} at ${at} has no disk as LUN ${lun}`);
  const links = linksTo(dev, session, at, lun);
  return services.waitForDevice(unit.disk === undefined ? links : [join(dev, unit.disk), ...links], signal);
}

/** Returns the disks of one LUN in all of these sessions. */
async function disksOf(sessions: readonly Session[], lun: number): Promise<string[]> {
  const units = await Promise.all(sessions.map(unitsOf));
  return units.flat().flatMap((unit) => (unit.lun === lun && unit.disk !== undefined ? [unit.disk] : []));
}

/** Ends the session at the portal if it has no LUN left. */
async function leave(
  initiator: Initiator,
  sys: string,
  place: Place,
  portal: Portal,
  signal: AbortSignal,
): Promise<void> {
  const left = sessionsOf(await listSessions(sys), { ...place, portals: [portal] });
  const units = await Promise.all(left.map(unitsOf));
  if (units.flat().length === 0) await initiator.logout(place, portal, signal);
}

const ABOUT: SourceAbout = {
  summary: 'A disk of an iSCSI target, optionally with CHAP and several portals.',
  use: 'both',
  block: true,
  mountOptions: true,
  programs: ['iscsiadm', 'tee', 'blockdev'],
  notes: [
    'A session exposes only the LUNs that volumes request, and ends with the last of them.',
    'CHAP needs a user name and a password in the secret, which is read only if chapAuthDiscovery or chapAuthSession is true.',
    'With several portals, the agent uses the multipath device if the node has multipath.',
  ],
};

/** One key for all interfaces: few volumes have their own. */
const INTERFACES = 'interfaces';

/** @param options other directories in tests */
export function createIscsi({ databases }: IscsiOptions): DevicePlugin<'iscsi'> {
  // Logout must not race with an attach that just found the session. Sessions belong to the machine,
  // independent of the volume.
  const portalsInUse = createKeyedQueue();
  const initiatorOf = (services: Pick<DeviceServices, 'run' | 'paths'>): Initiator =>
    createInitiator({ ...services, databases });
  const lockOf = (portal: Portal): string => formatPortal(portal);

  return {
    name: 'iscsi',
    about: ABOUT,
    dirName: 'iscsi',

    identify(spec, domain) {
      parseTarget(spec);
      return {
        uniqueName: attachableVolumeName(domain, { iscsi: spec }) ?? '',
        fsType: checkFsType('iscsi.fsType', spec.fsType),
        readOnly: spec.readOnly === true,
      };
    },

    inUse: (iscsi) => ({ iscsi }),

    async attach(spec, services, save, signal) {
      const target = parseTarget(spec);
      const chap = await readChap(spec, services);
      const initiator = initiatorOf(services);
      const own = ownInterface(target);
      const { iqn, lun } = target;
      const portals = await resolvePortals(target.portals);
      const place: Place = { iqn, lun, portals, iface: own ?? target.iface, own: own !== undefined };
      await save(stateOf(withPlace(placesOf(services.saved ?? {}), place)));
      const { initiatorName } = target;
      if (initiatorName !== undefined) {
        await portalsInUse.run(INTERFACES, () =>
          initiator.ensureInterface({ iface: place.iface, base: target.iface, initiatorName }, signal),
        );
      }
      const reach = async (portal: Portal): Promise<string> => {
        const session = await portalsInUse.run(lockOf(portal), async () => {
          const created = await initiator.ensureSession(place, portal, chap, signal);
          await initiator.scan(created, lun, signal);
          return created;
        });
        return findDisk(session, lun, services, signal);
      };
      const disks = await eachPortal(portals, reach, signal);
      return deviceOfPaths(services, disks, portals.length > 1, signal);
    },

    async detach(state, services, signal) {
      const places = placesOf(state);
      if (places.length === 0) return;
      const { sys } = services.paths;
      const initiator = initiatorOf(services);
      const sessions = await listSessions(sys);
      const disks = await Promise.all(places.map((place) => disksOf(sessionsOf(sessions, place), place.lun)));
      await removeDisks(services, disks.flat(), signal);
      for (const place of places) {
        for (const portal of place.portals) {
          await portalsInUse.run(lockOf(portal), () => leave(initiator, sys, place, portal, signal));
        }
        if (!place.own) continue;
        await portalsInUse.run(INTERFACES, async () => {
          const used = (await listSessions(sys)).some(({ iface }) => iface === place.iface);
          if (!used) await initiator.removeInterface(place.iface, signal);
        });
      }
    },
  };
}

export const iscsi: SourcePlugin = defineDeviceSource(createIscsi({ databases: DATABASES }));
