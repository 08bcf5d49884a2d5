/** What an iSCSI volume says, checked. Source: document 3, 2.3; upstream's iSCSI plugin, release 1.24. */
import { createHash } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { ISCSIPersistentVolumeSource, ISCSIVolumeSource } from '#api/schema/gen/core-v1.ts';
import { badField, checkLun, checkName } from '../devices/fields.ts';
import { VolumeSetupError } from '../setup-error.ts';

export type IscsiSpec = ISCSIVolumeSource | ISCSIPersistentVolumeSource;

/** Where a target is reached. */
export interface Portal {
  /** IP address, without brackets, in its shortest form; or a host name. */
  readonly address: string;
  readonly port: number;
}

export interface IscsiTarget {
  readonly iqn: string;
  readonly lun: number;
  /** The first is `targetPortal`; none is there twice. */
  readonly portals: readonly Portal[];
  /** The interface whose settings are used. */
  readonly iface: string;
  /** The initiator's name, where it is not the interface's own. */
  readonly initiatorName: string | undefined;
}

const DEFAULT_PORT = 3260;
const LAST_PORT = 65_535;
const PORTAL =
  /^(?:\[(?<v6>[0-9A-Fa-f:.]+)\]|(?<host>[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?))(?::(?<port>\d{1,5}))?$/;
const PORTAL_FORM = 'must be an address, with or without a port, such as 10.0.0.1:3260 or [fd00::1]:3260';

/** The one form of an IP address that compares as text. */
function canonical(address: string): string {
  if (isIP(address) !== 6) return address.toLowerCase();
  return new URL(`http://[${address}]`).hostname.slice(1, -1);
}

/** @throws VolumeSetupError */
export function parsePortal(field: string, text: string): Portal {
  const { v6, host, port } = PORTAL.exec(text)?.groups ?? {};
  const address = v6 ?? host;
  const number = port === undefined ? DEFAULT_PORT : Number(port);
  const wrong = v6 !== undefined && isIP(v6) !== 6;
  if (address === undefined || wrong || number < 1 || number > LAST_PORT) {
    throw badField(field, text, PORTAL_FORM);
  }
  return { address: canonical(address), port: number };
}

/** As programs and device names have it: `10.0.0.1:3260`, `[fd00::1]:3260`. */
export const formatPortal = ({ address, port }: Portal): string =>
  `${isIP(address) === 6 ? `[${address}]` : address}:${port}`;

export const samePortal = (one: Portal, other: Portal): boolean =>
  canonical(one.address) === canonical(other.address) && one.port === other.port;

const ISCSI_NAME =
  /^(?:iqn\.\d{4}-\d{2}(?:\.[A-Za-z0-9-]+)+(?::[A-Za-z0-9._:-]+)?|eui\.[0-9A-Fa-f]{16}|naa\.(?:[0-9A-Fa-f]{16}|[0-9A-Fa-f]{32}))$/;
const LONGEST_ISCSI_NAME = 223;
const NAME_FORM = 'must be an iSCSI name such as iqn.2001-04.com.example:disk1, eui.… or naa.…';

function checkIscsiName(field: string, value: string): string {
  if (ISCSI_NAME.test(value) && value.length <= LONGEST_ISCSI_NAME) return value;
  throw badField(field, value, NAME_FORM);
}

/** @throws VolumeSetupError naming field, value and what is right */
export function parseTarget(spec: IscsiSpec): IscsiTarget {
  const { targetPortal, portals: more = [], iscsiInterface = '', initiatorName = '' } = spec;
  const portals: Portal[] = [parsePortal('iscsi.targetPortal', targetPortal)];
  for (const [index, text] of more.entries()) {
    const portal = parsePortal(`iscsi.portals[${index}]`, text);
    if (!portals.some((known) => samePortal(known, portal))) portals.push(portal);
  }
  const name = 'the name of an iSCSI interface';
  return {
    iqn: checkIscsiName('iscsi.iqn', spec.iqn),
    lun: checkLun('iscsi.lun', spec.lun),
    portals,
    iface: checkName('iscsi.iscsiInterface', iscsiInterface === '' ? 'default' : iscsiInterface, name),
    initiatorName: initiatorName === '' ? undefined : checkIscsiName('iscsi.initiatorName', initiatorName),
  };
}

/** The interface that sessions of the target have: one of the agent's own where the initiator's name is another. The
 *  same for all volumes of that name, so that they share sessions. Deviation: upstream names it after portal and
 *  volume, which may be longer than the 64 characters that it may have. */
export function ownInterface({ iface, initiatorName }: IscsiTarget): string | undefined {
  if (initiatorName === undefined) return undefined;
  const hash = createHash('sha256').update(`${iface}\n${initiatorName}`).digest('hex');
  return `nodeagent-${hash.slice(0, 32)}`;
}

/** Portals by address instead of name, as sessions have them. @throws VolumeSetupError for a name that nobody knows */
export async function resolvePortals(portals: readonly Portal[]): Promise<readonly Portal[]> {
  return Promise.all(
    portals.map(async (portal) => {
      if (isIP(portal.address) !== 0) return portal;
      try {
        return { ...portal, address: canonical((await lookup(portal.address)).address) };
      } catch (cause) {
        throw new VolumeSetupError(`the address of the iSCSI portal ${portal.address} could not be found`, {
          cause,
        });
      }
    }),
  );
}
