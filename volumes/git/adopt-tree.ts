/** Makes a tree that a stranger's program wrote the node's own: everything gets root as its owner, and nothing stays
 *  that is more than a file or a folder. Never follows a link and never enters another mount. */
import { chmod, lchown, lstat, unlink } from 'node:fs/promises';
import { entryBatches, settleAll } from '../entries.ts';
import { at, type Held, heldPath, holdDir, holdPath, holdSubdir, statHeld } from '../held-dir.ts';
import { errorCode } from '../setup-error.ts';
import type { PathBytes, Syscalls } from '../syscalls.ts';

const ROOT = 0;
/** A tree of more than this is somebody adding while we look. */
const MOST_DIRECTORIES = 1_000_000;

/** Everybody reads, the owner writes, and what was a program for its owner is one for everybody. Pure. */
export const adoptedMode = (mode: number): number => ((mode & 0o100) === 0 ? 0o644 : 0o755);

async function adoptFile(dir: Held, name: PathBytes): Promise<void> {
  const path = at(dir, name);
  const stats = await lstat(path);
  // A second name may be anywhere.
  if (!stats.isFile() || stats.nlink > 1) {
    await unlink(path);
    return;
  }
  await lchown(path, ROOT, ROOT);
  // chmod follows links: change the thing that is held.
  await using held = await holdPath(path);
  const { mode } = await statHeld(held);
  if ((mode & 0o7777) !== adoptedMode(mode)) await chmod(heldPath(held), adoptedMode(mode));
}

async function adoptDirectory(dir: Held): Promise<void> {
  await lchown(`${heldPath(dir)}/.`, ROOT, ROOT);
  await chmod(heldPath(dir), 0o755);
}

/** The directory first: once it is root's, whoever made it can't change what is in it. */
async function adoptContents(syscalls: Syscalls, root: Held, path: Buffer, pending: Buffer[]): Promise<void> {
  await using dir = await holdSubdir(syscalls, root, path);
  await adoptDirectory(dir);
  for await (const batch of entryBatches(dir)) {
    await settleAll(batch.filter(({ isDirectory }) => !isDirectory).map(({ name }) => adoptFile(dir, name)));
    for (const { name } of batch.filter(({ isDirectory }) => isDirectory)) {
      pending.push(Buffer.concat([path, Buffer.from('/'), name]));
    }
  }
}

/** @throws the system's error; `EXDEV` when something is mounted in the tree */
export async function adoptTree(syscalls: Syscalls, path: string, signal: AbortSignal): Promise<void> {
  await using root = await holdDir(path);
  const pending: Buffer[] = [Buffer.from('.')];
  let seen = 0;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    signal.throwIfAborted();
    seen += 1;
    if (seen > MOST_DIRECTORIES) throw new Error(`${path} has more than ${MOST_DIRECTORIES} directories`);
    try {
      await adoptContents(syscalls, root, next, pending);
    } catch (thrown) {
      if (errorCode(thrown) !== 'ENOENT') throw thrown;
    }
  }
}
