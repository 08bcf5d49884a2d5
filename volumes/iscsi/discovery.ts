/** Discovery of targets at a portal. Nothing of the response is stored, since other targets of the portal
 *  are irrelevant here. */
import { VolumeSetupError } from '../errors/setup-error.ts';
import { type Admin, adminFailure, TARGET_MS } from './iscsiadm.ts';
import { changeRecord, findDiscovery, foundRecord, initiatorNameOf, type Settings } from './records.ts';
import { formatPortal, type Portal, parsePortal, samePortal } from './target.ts';

export interface DiscoveryDeps {
  readonly admin: Admin;
  /** Directories that may contain the records. */
  readonly databases: readonly string[];
}

export interface DiscoveryRequest {
  readonly iqn: string;
  readonly iface: string;
  readonly portal: Portal;
  /** CHAP settings; empty without CHAP. */
  readonly chap: Settings;
}

/** Returns the addresses of the target with their portal groups from discovery output with lines such as
 *  `10.0.0.1:3260,1 iqn.…`. Pure. */
export function parseDiscovered(
  stdout: string,
  iqn: string,
): readonly { readonly portal: Portal; readonly group: string }[] {
  const found: { readonly portal: Portal; readonly group: string }[] = [];
  for (const line of stdout.split('\n')) {
    const [, address = '', group = '', name = ''] = /^(\S+),(-?\d+) (\S+)$/.exec(line.trim()) ?? [];
    if (name === iqn) found.push({ portal: parsePortal('portal', address), group });
  }
  return found;
}

/** Portals do not show targets of other initiators. */
async function notShown(
  databases: readonly string[],
  what: string,
  iface: string,
): Promise<VolumeSetupError> {
  const name = await initiatorNameOf(databases, iface);
  const who = name === undefined ? 'this initiator' : `the initiator ${name}`;
  return new VolumeSetupError(`${what}, or none for ${who} (see initiatorName)`);
}

/** Returns the target's portal group at the portal; undefined if the portal reports only other addresses of
 *  the target.
 *  @throws VolumeSetupError if discovery fails or the target is missing */
export async function discover(
  { admin, databases }: DiscoveryDeps,
  { iqn, iface, portal, chap }: DiscoveryRequest,
  signal: AbortSignal,
): Promise<string | undefined> {
  const at = formatPortal(portal);
  const db = ['-m', 'discoverydb', '-t', 'sendtargets', '-p', at, '-I', iface];
  const known = await findDiscovery(databases, portal);
  if (known === undefined)
    await admin.must(`failed to create a record of the portal ${at}`, [...db, '-o', 'new'], signal);
  try {
    if (chap.size > 0) {
      const record = foundRecord(await findDiscovery(databases, portal), `the portal ${at}`);
      await changeRecord(record, chap);
    }
    const result = await admin.try([...db, '-o', 'nonpersistent', '--discover'], signal, TARGET_MS);
    if (result.code !== 0) throw adminFailure(`discovery at the iSCSI portal ${at} failed`, result);
    const targets = parseDiscovered(result.stdout, iqn);
    if (targets.length === 0)
      throw await notShown(databases, `the iSCSI portal ${at} has no target ${iqn}`, iface);
    return targets.find((target) => samePortal(target.portal, portal))?.group;
  } finally {
    // The record may contain passwords, and is no longer needed.
    if (known === undefined) await admin.tidy([...db, '-o', 'delete']);
  }
}
