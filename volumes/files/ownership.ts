/** Group ownership of a volume for `fsGroup`: the group owns and may use everything, and new files inherit
 *  it. Never follows a link or enters another mount; runs on the thread pool. */
import { constants, type Stats } from 'node:fs';
import { chmod, lchown, lstat } from 'node:fs/promises';
import { errorCode } from '#api/kit/errno.ts';
import { entryBatches, settleAll } from './entries.ts';
import { at, type Held, heldPath, holdDir, holdPath, holdSubdir, statHeld } from './held-dir.ts';
import type { PathBytes, Syscalls } from './syscalls.ts';

export interface OwnershipRequest {
  readonly gid: number;
  readonly readOnly: boolean;
  /** Change nothing if the volume's root is already correct. */
  readonly onRootMismatch: boolean;
}

const SETGID = 0o2000;
const KEEP_OWNER = -1;

/** Returns `mode` with the group's permissions; a directory also gets the setgid bit. Pure. */
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
  // chmod follows links: change the held object instead, after checking its type.
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

/** Entries that vanished or changed their type during the walk are skipped. */
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
  // Last, so that a directory is correct only if everything in it is.
  if (prefix !== undefined) await changeDirectory(dir, request);
}

/** Gives `path` and everything in it to the group. The root comes last, so that an interrupted change is
 *  detected and repeated.
 *  @throws the system's error for a file that cannot be changed */
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

/** Flags that create a regular file and neither follow nor reuse an existing entry. */
export const CREATE_NEW: number =
  constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
