/** The initiator's records on disk. Secrets are written there by the agent itself: `iscsiadm` takes them as arguments
 *  only, where everybody on the node can read them. See docs/decisions/0048. */
import { randomBytes } from 'node:crypto';
import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { readKernelFolder } from '../devices/kernel-files.ts';
import { unlessCode, VolumeSetupError } from '../setup-error.ts';
import type { Portal } from './target.ts';

/** Where distributions keep the records. */
export const DATABASES: readonly string[] = ['/etc/iscsi', '/var/lib/iscsi'];

/** Settings by name, such as `node.startup`. */
export type Settings = ReadonlyMap<string, string>;

const END = '# END RECORD';
const nameOf = (line: string): string => line.split('=', 1)[0]?.trim() ?? '';

/** The record with these settings instead of what it says. @param needed those that it may not leave out; others are
 *  set only where it has them. Pure. */
export function editRecord(record: string, needed: Settings, others: Settings = new Map()): string {
  const had = new Set(record.split('\n').map(nameOf));
  const settings = new Map([...needed, ...[...others].filter(([name]) => had.has(name))]);
  const kept = record
    .split('\n')
    .filter((line) => line.trim() !== '' && line.trim() !== END && !settings.has(nameOf(line)));
  const lines = [...settings].map(([name, value]) => `${name} = ${value}`);
  return `${[...kept, ...lines, END].join('\n')}\n`;
}

/** Settings of a record; those that are empty are left out. Pure. */
export function parseRecord(record: string): Settings {
  const settings = new Map<string, string>();
  for (const line of record.split('\n')) {
    const split = line.indexOf('=');
    if (line.trim().startsWith('#') || split < 0) continue;
    const value = line.slice(split + 1).trim();
    if (value !== '' && value !== '<empty>') settings.set(line.slice(0, split).trim(), value);
  }
  return settings;
}

export interface RecordFile {
  /** Folder of the database that it is in. */
  readonly database: string;
  readonly path: string;
}

/** Replaces settings of a record, at once, readable by root alone. */
export async function changeRecord(
  { database, path }: RecordFile,
  needed: Settings,
  others?: Settings,
): Promise<void> {
  const next = editRecord(await readFile(path, 'utf8'), needed, others);
  // Not beside the record: whatever is in its folder counts as one.
  const draft = join(database, `.nodeagent-${randomBytes(8).toString('hex')}`);
  try {
    await using file = await open(draft, 'wx', 0o600);
    await file.writeFile(next);
    await file.sync();
    await rename(draft, path);
  } catch (thrown) {
    await rm(draft, { force: true });
    throw thrown;
  }
}

async function firstFile(
  databases: readonly string[],
  names: readonly string[],
): Promise<RecordFile | undefined> {
  for (const database of databases) {
    const path = join(database, ...names);
    let isFile = false;
    await unlessCode(['ENOENT', 'ENOTDIR'], async () => {
      isFile = (await stat(path)).isFile();
    });
    if (isFile) return { database, path };
  }
  return undefined;
}

/** The record of discovery at the portal. */
export const findDiscovery = (
  databases: readonly string[],
  { address, port }: Portal,
): Promise<RecordFile | undefined> =>
  firstFile(databases, ['send_targets', `${address},${port}`, 'st_config']);

/** The record of an interface. */
export const findInterface = (databases: readonly string[], iface: string): Promise<RecordFile | undefined> =>
  firstFile(databases, ['ifaces', iface]);

/** The initiator's name on sessions by the interface: its own, or the node's. Undefined where nobody says it. */
export async function initiatorNameOf(
  databases: readonly string[],
  iface: string,
): Promise<string | undefined> {
  const own = await findInterface(databases, iface);
  const node = await firstFile(databases, ['initiatorname.iscsi']);
  for (const [file, setting] of [
    [own, 'iface.initiatorname'],
    [node, 'InitiatorName'],
  ] as const) {
    const name = file === undefined ? undefined : parseRecord(await readFile(file.path, 'utf8')).get(setting);
    if (name !== undefined) return name;
  }
  return undefined;
}

/** The records of the target at the portal by the interface: one for each portal group that it was seen in. */
export async function findNodes(
  databases: readonly string[],
  iqn: string,
  { address, port }: Portal,
  iface: string,
): Promise<readonly RecordFile[]> {
  const start = `${address},${port}`;
  const found: RecordFile[] = [];
  for (const database of databases) {
    for (const name of await readKernelFolder(join(database, 'nodes', iqn))) {
      if (name !== start && !name.startsWith(`${start},`)) continue;
      const grouped = await firstFile([database], ['nodes', iqn, name, iface]);
      const alone = grouped ?? (await firstFile([database], ['nodes', iqn, name]));
      if (alone !== undefined) found.push(alone);
    }
  }
  return found;
}

/** @throws VolumeSetupError: what `iscsiadm` made is not where it should be */
export function foundRecord(record: RecordFile | undefined, what: string): RecordFile {
  if (record !== undefined) return record;
  throw new VolumeSetupError(`iscsiadm made a record of ${what} that is in none of ${DATABASES.join(', ')}`);
}
