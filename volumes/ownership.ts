/** Group ownership of a volume for `fsGroup`: the group owns and may use everything, new files inherit it.
 *  Never follows a link and never enters another mount; runs on the thread pool. */
import { constants, type Stats } from 'node:fs';
import { chmod, lchown, lstat } from 'node:fs/promises';
import { entryBatches, settleAll } from './entries.ts';
import { at, type Held, heldPath, holdDir, holdPath, holdSubdir, statHeld } from './held-dir.ts';
import { errorCode } from './setup-error.ts';
import type { PathBytes, Syscalls } from './syscalls.ts';

export interface OwnershipRequest {
  readonly gid: number;
  readonly readOnly: boolean;
  /** Leave everything alone when the volume's root is right already. */
  readonly onRootMismatch: boolean;
}

const SETGID = 0o2000;
const KEEP_OWNER = -1;

/** The permissions that `mode` gets for the group; a directory also passes its group on. Pure. */
export function groupMode(mode: number, isDirectory: boolean, readOnly: boolean): number {
  const access = readOnly ? 0o440 : 0o660;
  return (mode & 0o7777) | access | (isDirectory ? SETGID | 0o110 : 0);
}

function wantedMode(stats: Stats, request: OwnershipRequest): number {
  return groupMode(stats.mode, stats.isDirectory(), request.readOnly);
}

function isRight(stats: Stats, request: OwnershipRequest): boolean {
  if (stats.gid !== request.gid) return false;
  return stats.isSymbolicLink() || (stats.mode & 0o7777) === wantedMode(stats, request);
}

async function changeEntry(dir: Held, name: PathBytes, request: OwnershipRequest): Promise<void> {
  const path = at(dir, name);
  if (isRight(await lstat(path), request)) return;
  await lchown(path, KEEP_OWNER, request.gid);
  // chmod follows links: change the thing that is held, after a look at what it is.
  await using held = await holdPath(path);
  const stats = await statHeld(held);
  if (stats.isSymbolicLink() || stats.isDirectory()) return;
  await chmod(heldPath(held), wantedMode(stats, request));
}

async function changeDirectory(dir: Held, request: OwnershipRequest): Promise<void> {
  const stats = await statHeld(dir);
  if (isRight(stats, request)) return;
  await lchown(`${heldPath(dir)}/.`, KEEP_OWNER, request.gid);
  await chmod(heldPath(dir), wantedMode(stats, request));
}

const holdSelf = (dir: Held): Promise<Held> => holdDir(`${heldPath(dir)}/.`);

/** What vanished or turned into something else while the tree was walked is not ours to change. */
async function unlessGone(attempt: Promise<void>): Promise<void> {
  try {
    await attempt;
  } catch (thrown) {
    if (!['ENOENT', 'ENOTDIR', 'ELOOP', 'EXDEV'].includes(errorCode(thrown) ?? '')) throw thrown;
  }
}

async function changeContents(
  root: Held,
  prefix: Buffer | undefined,
  syscalls: Syscalls,
  request: OwnershipRequest,
  pending: Buffer[],
): Promise<void> {
  await using dir = prefix === undefined ? await holdSelf(root) : await holdSubdir(syscalls, root, prefix);
  for await (const batch of entryBatches(dir)) {
    const others = batch.filter(({ isDirectory }) => !isDirectory);
    await settleAll(others.map(({ name }) => unlessGone(changeEntry(dir, name, request))));
    for (const { name } of batch.filter(({ isDirectory }) => isDirectory)) {
      pending.push(prefix === undefined ? name : Buffer.concat([prefix, Buffer.from('/'), name]));
    }
  }
  // Last, so that a directory is only right when all in it is.
  if (prefix !== undefined) await changeDirectory(dir, request);
}

/** Gives `path` and everything in it to the group. The root comes last: an interrupted change is seen and repeated.
 *  @throws the system's error for a file that can't be changed */
export async function setOwnership(
  syscalls: Syscalls,
  path: string,
  request: OwnershipRequest,
  signal?: AbortSignal,
): Promise<void> {
  await using root = await holdDir(path);
  if (request.onRootMismatch && isRight(await statHeld(root), request)) return;
  const pending: Buffer[] = [];
  await changeContents(root, undefined, syscalls, request, pending);
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    signal?.throwIfAborted();
    await unlessGone(changeContents(root, next, syscalls, request, pending));
  }
  await changeDirectory(root, request);
}

/** Flags with which a regular file is created anew and nothing that lies in the way is followed or reused. */
export const CREATE_NEW: number =
  constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
