/** iSCSI interfaces: the initiator name and network card of sessions. */
import { readFile } from 'node:fs/promises';
import type { DiscoveryDeps } from './discovery.ts';
import { changeRecord, findInterface, foundRecord, parseRecord } from './records.ts';

export interface InterfaceRequest {
  readonly iface: string;
  /** The interface from which the other settings are copied. */
  readonly base: string;
  readonly initiatorName: string;
}

/** Creates an interface with another initiator name, unless it exists. @throws VolumeSetupError */
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
  const { stdout } = await admin.must(`failed to read iSCSI interface ${base}`, show, signal);
  const settings = [...parseRecord(stdout)].filter(
    ([name]) => name.startsWith('iface.') && name !== 'iface.iscsi_ifacename',
  );
  await admin.must(
    `failed to create an iSCSI interface like ${base}`,
    ['-m', 'iface', '-I', iface, '-o', 'new'],
    signal,
  );
  const record = foundRecord(await findInterface(databases, iface), `the interface ${iface}`);
  await changeRecord(record, new Map([...settings, ['iface.initiatorname', initiatorName]]));
}

/** Deletes the interface if it exists. @throws VolumeSetupError */
export async function removeInterface(
  { admin, databases }: DiscoveryDeps,
  iface: string,
  signal: AbortSignal,
): Promise<void> {
  if ((await findInterface(databases, iface)) === undefined) return;
  await admin.must(
    `failed to delete iSCSI interface ${iface}`,
    ['-m', 'iface', '-I', iface, '-o', 'delete'],
    signal,
  );
}
