/** Atomic writer of a volume's files: a reader sees the whole old or the whole new set, never a mix.
 *  `name` -> `..data/name`, `..data` -> `..<time>.<random>`; the swap of `..data` is the only visible step.
 *  The content of the volume is not trusted: links are not followed, and obstacles are removed. The layout
 *  is upstream's, so that programs that watch `..data` keep working. */
import { randomInt } from 'node:crypto';
import { constants } from 'node:fs';
import type { Clock } from '#api/kit/clock.ts';
import { errorCode, unlessCode } from '#api/kit/errno.ts';
import { type FileCalls, POOLED } from './file-calls.ts';
import { at, type Held, heldPath } from './held-dir.ts';
import { CREATE_NEW, groupMode } from './ownership.ts';
import { checkPayload, type Payload, type PayloadFile } from './payload.ts';
import { removeTree } from './remove-tree.ts';
import { O_PATH, type Syscalls } from './syscalls.ts';

export interface AtomicWriterDeps {
  readonly syscalls: Syscalls;
  readonly clock: Clock;
  /** File operations; on the thread pool by default. */
  readonly files?: FileCalls;
  /** The process's umask. If absent, every mode is set again after creation. */
  readonly umask?: number;
}

interface Writer extends AtomicWriterDeps {
  readonly files: FileCalls;
  readonly umask: number;
}

/** Masks every permission. */
const ANY_UMASK = 0o777;

const HOLD_DIR = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const HOLD_ANY = O_PATH | constants.O_NOFOLLOW;

export interface WriteOptions {
  /** Group that can read every file. */
  readonly gid?: number;
  /** The directory was just created and is empty. */
  readonly isNew?: boolean;
}

const DATA = '..data';
const DATA_NEW = '..data_tmp';
const VERSION_NAME = /^\.\.\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d\.\d+$/;

/** Returns a name such as `..2026_11_21_10_28_39.123456789`, in UTC. Pure apart from the random part. */
export function versionName(nowMs: number, random: number): string {
  const time = new Date(nowMs).toISOString().slice(0, 19).replaceAll(/[-:T]/g, '_');
  return `..${time}.${random}`;
}

interface Tree {
  readonly directories: Map<string, Tree>;
  readonly files: Map<string, PayloadFile>;
}

function treeOf(payload: Payload): Tree {
  const root: Tree = { directories: new Map(), files: new Map() };
  for (const [path, file] of payload) {
    const names = path.split('/');
    const last = names.pop() ?? '';
    let tree = root;
    for (const name of names) {
      const next = tree.directories.get(name) ?? { directories: new Map(), files: new Map() };
      tree.directories.set(name, next);
      tree = next;
    }
    tree.files.set(last, file);
  }
  return root;
}

const fileMode = (file: PayloadFile, gid: number | undefined): number =>
  gid === undefined ? file.mode : groupMode(file.mode, false, true);

const directoryMode = (gid: number | undefined): number =>
  gid === undefined ? 0o755 : groupMode(0o755, true, true);

type Group = number | undefined;

const ROOT = 0;

/** Reports whether a file created with this mode keeps it: a change of owner or group would have to come
 *  first. */
const hasAtOnce = ({ umask }: Writer, mode: number, isChowned: boolean): boolean =>
  !isChowned && (mode & umask) === 0;

async function writeFile(writer: Writer, path: string, file: PayloadFile, gid: Group): Promise<void> {
  const { files } = writer;
  const mode = fileMode(file, gid);
  const isChowned = gid !== undefined || file.uid !== undefined;
  const isRight = hasAtOnce(writer, mode, isChowned);
  await using held = await files.open(path, CREATE_NEW, isRight ? mode : 0o600);
  await files.write(held, file.data);
  if (isChowned) await files.chown(held, file.uid ?? ROOT, gid ?? ROOT);
  if (!isRight) await files.chmod(held, mode);
}

/** Creates the directory and its content. */
async function writeTree(writer: Writer, path: string, tree: Tree, gid: Group): Promise<void> {
  const { files } = writer;
  const mode = directoryMode(gid);
  const isRight = hasAtOnce(writer, mode, gid !== undefined);
  await files.mkdir(path, isRight ? mode : 0o700);
  await using dir = await files.open(path, HOLD_DIR);
  for (const [name, file] of tree.files) await writeFile(writer, at(dir, name), file, gid);
  for (const [name, subtree] of tree.directories) await writeTree(writer, at(dir, name), subtree, gid);
  if (gid !== undefined) await files.chown(dir, ROOT, gid);
  if (!isRight) await files.chmod(dir, mode);
}

async function sameFile(files: FileCalls, path: string, file: PayloadFile, gid: Group): Promise<boolean> {
  // Open only plain files for reading: a planted pipe would block, and a device might do anything.
  await using held = await files.open(path, HOLD_ANY);
  const stats = await files.stat(held);
  if (!stats.isFile() || stats.size !== file.data.length) return false;
  if ((stats.mode & 0o7777) !== fileMode(file, gid) || stats.gid !== (gid ?? stats.gid)) return false;
  if (stats.uid !== (file.uid ?? stats.uid)) return false;
  await using opened = await files.open(heldPath(held), constants.O_RDONLY);
  return file.data.equals(await files.read(opened, file.data.length));
}

async function sameTree(files: FileCalls, dir: Held, tree: Tree, gid: Group): Promise<boolean> {
  const stats = await files.stat(dir);
  if ((stats.mode & 0o7777) !== directoryMode(gid) || stats.gid !== (gid ?? stats.gid)) return false;
  const names = await files.list(dir);
  if (names.length !== tree.files.size + tree.directories.size) return false;
  for (const [name, file] of tree.files) if (!(await sameFile(files, at(dir, name), file, gid))) return false;
  for (const [name, subtree] of tree.directories) {
    await using child = await files.open(at(dir, name), HOLD_DIR);
    if (!(await sameTree(files, child, subtree, gid))) return false;
  }
  return true;
}

/** Errors of entries that the writer has not written: the payload counts as different and is written
 *  again. */
const FOREIGN = ['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'ENXIO', 'EINVAL'];

async function readLink(files: FileCalls, dir: Held, name: string): Promise<string | undefined> {
  try {
    return await files.readlink(at(dir, name));
  } catch (thrown) {
    if (FOREIGN.includes(errorCode(thrown) ?? '')) return undefined;
    throw thrown;
  }
}

/** Returns the version directory that `..data` names, if it contains exactly this payload. */
async function currentVersion(
  files: FileCalls,
  volume: Held,
  names: ReadonlySet<string>,
  tree: Tree,
  gid: Group,
): Promise<string | undefined> {
  if (!names.has(DATA)) return undefined;
  const version = await readLink(files, volume, DATA);
  if (version === undefined || !VERSION_NAME.test(version)) return undefined;
  try {
    await using dir = await files.open(at(volume, version), HOLD_DIR);
    return (await sameTree(files, dir, tree, gid)) ? version : undefined;
  } catch (thrown) {
    if (FOREIGN.includes(errorCode(thrown) ?? '')) return undefined;
    throw thrown;
  }
}

/** Replaces the entry with a link in one step; a directory in its place is removed first. */
async function replaceLink(writer: Writer, volume: Held, name: string, target: string): Promise<void> {
  await removeTree(writer.syscalls, volume, DATA_NEW);
  const { files } = writer;
  await files.symlink(target, at(volume, DATA_NEW));
  const place = async (): Promise<void> => files.rename(at(volume, DATA_NEW), at(volume, name));
  if (await unlessCode(['EISDIR', 'ENOTEMPTY', 'EEXIST'], place)) return;
  await removeTree(writer.syscalls, volume, name);
  await place();
}

/** Like `replaceLink`, for the common case that no entry exists yet. */
async function placeLink(writer: Writer, volume: Held, name: string, target: string): Promise<void> {
  if (await unlessCode(['EEXIST'], async () => writer.files.symlink(target, at(volume, name)))) return;
  await replaceLink(writer, volume, name, target);
}

async function isOwnLink({ files }: Writer, volume: Held, name: string): Promise<boolean> {
  return (await readLink(files, volume, name)) === `${DATA}/${name}`;
}

/** Removes links to files that no longer exist, and versions left by an interrupted run.
 *  @param names entries of the volume before it was written */
async function prune(
  writer: Writer,
  volume: Held,
  names: ReadonlySet<string>,
  wanted: ReadonlySet<string>,
  version: string,
): Promise<void> {
  for (const name of names) {
    if (name.startsWith('..')) {
      if (name === DATA || name === version) continue;
      if (name === DATA_NEW || VERSION_NAME.test(name)) await removeTree(writer.syscalls, volume, name);
    } else if (!wanted.has(name) && (await isOwnLink(writer, volume, name))) {
      await removeTree(writer.syscalls, volume, name);
    }
  }
}

async function writeVersion(writer: Writer, volume: Held, tree: Tree, gid: Group): Promise<string> {
  const version = versionName(writer.clock.now(), randomInt(1e9, 1e10));
  await writeTree(writer, at(volume, version), tree, gid);
  return version;
}

/** Updates the volume at `path` to exactly `payload`; returns whether anything was written.
 *  @throws VolumeSetupError for a path that would leave the volume, or the system's error */
export async function writePayload(
  deps: AtomicWriterDeps,
  path: string,
  payload: Payload,
  { gid, isNew = false }: WriteOptions = {},
): Promise<boolean> {
  const tree = treeOf(checkPayload(payload));
  const { files = POOLED, umask = ANY_UMASK } = deps;
  const writer = { ...deps, files, umask };
  await using volume = await files.open(path, HOLD_DIR);
  const names = new Set(isNew ? [] : await files.list(volume));
  const unchanged = await currentVersion(files, volume, names, tree, gid);
  const version = unchanged ?? (await writeVersion(writer, volume, tree, gid));
  if (unchanged === undefined) await placeLink(writer, volume, DATA, version);
  const wanted = new Set([...tree.files.keys(), ...tree.directories.keys()]);
  for (const name of wanted) {
    if (names.has(name) && (await isOwnLink(writer, volume, name))) continue;
    await placeLink(writer, volume, name, `${DATA}/${name}`);
  }
  await prune(writer, volume, names, wanted, version);
  return unchanged === undefined;
}
