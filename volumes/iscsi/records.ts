/** Records of the initiator on disk. The agent writes secrets there itself, because `iscsiadm` accepts
 *  them only as arguments, which everyone on the node can read. See docs/decisions/0048. */
import { randomBytes } from 'node:crypto';
import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { unlessCode } from '#api/kit/errno.ts';
import { readKernelFolder } from '../devices/kernel-files.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import type { Portal } from './target.ts';

/** Directories used by distributions. */
export const DATABASES: readonly string[] = ['/etc/iscsi', '/var/lib/iscsi'];

/** Settings by name, such as `node.startup`. */
export type Settings = ReadonlyMap<string, string>;

const END = '# END RECORD';
const nameOf = (line: string): string => line.split('=', 1)[0]?.trim() ?? '';

/** Returns the record with these settings replaced. @param needed settings that are added if missing;
 *  `others` are set only if present. Pure. */
export function editRecord(record: string, needed: Settings, others: Settings = new Map()): string {
  const existing = new Set(record.split('\n').map(nameOf));
  const settings = new Map([...needed, ...[...others].filter(([name]) => existing.has(name))]);
  const remaining = record
    .split('\n')
    .filter((line) => line.trim() !== '' && line.trim() !== END && !settings.has(nameOf(line)));
  const lines = [...settings].map(([name, value]) => `${name} = ${value}`);
  return `${[...remaining, ...lines, END].join('\n')}\n`;
}

/** Returns the non-empty settings of a record. Pure. */
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
  /** Database directory that contains it. */
  readonly database: string;
  readonly path: string;
}

/** Replaces settings of a record atomically, readable only by root. */
export async function changeRecord(
  { database, path }: RecordFile,
  needed: Settings,
  others?: Settings,
): Promise<void> {
  const next = editRecord(await readFile(path, 'utf8'), needed, others);
  // Not beside the record: every file in its directory counts as a record.
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

/** Returns the discovery record of the portal. */
export const findDiscovery = (
  databases: readonly string[],
  { address, port }: Portal,
): Promise<RecordFile | undefined> =>
  firstFile(databases, ['send_targets', `${address},${port}`, 'st_config']);

/** Returns the record of an interface. */
export const findInterface = (databases: readonly string[], iface: string): Promise<RecordFile | undefined> =>
  firstFile(databases, ['ifaces', iface]);

/** Returns the initiator name of sessions through the interface: its own, or the node's; undefined if
 *  neither is set. */
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

/** Returns the records of the target at the portal through the interface: one per portal group. */
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

/** @throws VolumeSetupError if `iscsiadm` created the record elsewhere */
export function foundRecord(record: RecordFile | undefined, what: string): RecordFile {
  if (record !== undefined) return record;
  throw new VolumeSetupError(
    `iscsiadm created a record of ${what}, but none of ${DATABASES.join(', ')} contains it`,
  );
}
