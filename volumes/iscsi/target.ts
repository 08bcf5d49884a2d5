/** Validation of iSCSI volumes. Source: volume sources, document 3 §2.3; upstream's iSCSI plugin, release
 *  1.24. */
import { createHash } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { ISCSIPersistentVolumeSource, ISCSIVolumeSource } from '#api/gen/core-v1.ts';
import { badField, checkLun, checkName } from '../devices/fields.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';

export type IscsiSpec = ISCSIVolumeSource | ISCSIPersistentVolumeSource;

/** Address of a target. */
export interface Portal {
  /** IP address, without brackets, in its shortest form; or a host name. */
  readonly address: string;
  readonly port: number;
}

export interface IscsiTarget {
  readonly iqn: string;
  readonly lun: number;
  /** The first is `targetPortal`; without duplicates. */
  readonly portals: readonly Portal[];
  /** The interface whose settings are used. */
  readonly iface: string;
  /** The initiator name, if it is not the interface's own. */
  readonly initiatorName: string | undefined;
}

const DEFAULT_PORT = 3260;
const LAST_PORT = 65_535;
const PORTAL =
  /^(?:\[(?<v6>[0-9A-Fa-f:.]+)\]|(?<host>[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?))(?::(?<port>\d{1,5}))?$/;
const PORTAL_FORM = 'must be an address, with or without a port, such as 10.0.0.1:3260 or [fd00::1]:3260';

/** Canonical form of an IP address, which can be compared as text. */
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

/** Returns `10.0.0.1:3260` or `[fd00::1]:3260`, as in programs and device names. */
export const formatPortal = ({ address, port }: Portal): string =>
  `${isIP(address) === 6 ? `[${address}]` : address}:${port}`;

export const samePortal = (one: Portal, other: Portal): boolean =>
  canonical(one.address) === canonical(other.address) && one.port === other.port;

const ISCSI_NAME =
  /^(?:iqn\.\d{4}-\d{2}(?:\.[A-Za-z0-9-]+)+(?::[A-Za-z0-9._:-]+)?|eui\.[0-9A-Fa-f]{16}|naa\.(?:[0-9A-Fa-f]{16}|[0-9A-Fa-f]{32}))$/;
const MAX_ISCSI_NAME_LENGTH = 223;
const NAME_FORM = 'must be an iSCSI name such as iqn.2001-04.com.example:disk1, eui.… or naa.…';

function checkIscsiName(field: string, value: string): string {
  if (ISCSI_NAME.test(value) && value.length <= MAX_ISCSI_NAME_LENGTH) return value;
  throw badField(field, value, NAME_FORM);
}

/** @throws VolumeSetupError with field, value and expectation */
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

/** Returns the interface for sessions of the target: the agent's own if it sets another initiator name.
 *  All volumes with that name share it, so that they share sessions. Deviation: upstream names it after
 *  portal and volume, which may exceed the limit of 64 characters. */
export function ownInterface({ iface, initiatorName }: IscsiTarget): string | undefined {
  if (initiatorName === undefined) return undefined;
  const hash = createHash('sha256').update(`${iface}\n${initiatorName}`).digest('hex');
  return `nodeagent-${hash.slice(0, 32)}`;
}

/** Resolves host names of portals to addresses, as sessions have them. @throws VolumeSetupError for an
 *  unknown name */
export async function resolvePortals(portals: readonly Portal[]): Promise<readonly Portal[]> {
  return Promise.all(
    portals.map(async (portal) => {
      if (isIP(portal.address) !== 0) return portal;
      try {
        return { ...portal, address: canonical((await lookup(portal.address)).address) };
      } catch (cause) {
        throw new VolumeSetupError(`cannot resolve the iSCSI portal ${portal.address}`, {
          cause,
        });
      }
    }),
  );
}
