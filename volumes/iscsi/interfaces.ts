/** Interfaces: by which name and card the initiator makes its sessions. */
import { readFile } from 'node:fs/promises';
import type { DiscoveryDeps } from './discovery.ts';
import { changeRecord, findInterface, foundRecord, parseRecord } from './records.ts';

export interface InterfaceRequest {
  readonly iface: string;
  /** The interface whose settings it has besides. */
  readonly base: string;
  readonly initiatorName: string;
}

/** Makes an interface with another initiator's name, unless there is one. @throws VolumeSetupError */
export async function ensureInterface(
  { admin, databases }: DiscoveryDeps,
  { iface, base, initiatorName }: InterfaceRequest,
  signal: AbortSignal,
): Promise<void> {
  const known = await findInterface(databases, iface);
  if (known !== undefined) {
    const settings = parseRecord(await readFile(known.path, 'utf8'));
    if (settings.get('iface.initiatorname') === initiatorName) return;
  }
  const show = ['-m', 'iface', '-I', base, '-o', 'show'];
  const { stdout } = await admin.must(`no iSCSI interface ${base}`, show, signal);
  const settings = [...parseRecord(stdout)].filter(
    ([name]) => name.startsWith('iface.') && name !== 'iface.iscsi_ifacename',
  );
  await admin.must(`no iSCSI interface like ${base}`, ['-m', 'iface', '-I', iface, '-o', 'new'], signal);
  const record = foundRecord(await findInterface(databases, iface), `the interface ${iface}`);
  await changeRecord(record, new Map([...settings, ['iface.initiatorname', initiatorName]]));
}

/** Harmless when there is none. @throws VolumeSetupError */
export async function removeInterface(
  { admin, databases }: DiscoveryDeps,
  iface: string,
  signal: AbortSignal,
): Promise<void> {
  if ((await findInterface(databases, iface)) === undefined) return;
  await admin.must(
    `the iSCSI interface ${iface} stays`,
    ['-m', 'iface', '-I', iface, '-o', 'delete'],
    signal,
  );
}
