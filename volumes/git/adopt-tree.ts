/** Takeover of a tree written by an untrusted program: root becomes the owner of everything, and
 *  everything that is not a file or a directory is removed. Never follows a link or enters another mount. */
import { chmod, lchown, lstat, unlink } from 'node:fs/promises';
import { errorCode } from '#api/kit/errno.ts';
import { entryBatches, settleAll } from '../files/entries.ts';
import { at, type Held, heldPath, holdDir, holdPath, holdSubdir, statHeld } from '../files/held-dir.ts';
import type { PathBytes, Syscalls } from '../files/syscalls.ts';

const ROOT = 0;
/** A larger tree is being extended during the walk. */
const MAX_DIRECTORIES = 1_000_000;

/** Readable for everyone, writable for the owner, and executable for everyone if it was for its owner.
 *  Pure. */
const adoptedMode = (mode: number): number => ((mode & 0o100) === 0 ? 0o644 : 0o755);

async function adoptFile(dir: Held, name: PathBytes): Promise<void> {
  const path = at(dir, name);
  const stats = await lstat(path);
  // A hard link may have another name anywhere.
  if (!stats.isFile() || stats.nlink > 1) {
    await unlink(path);
    return;
  }
  await lchown(path, ROOT, ROOT);
  // chmod follows links: change the held object instead.
  await using held = await holdPath(path);
  const { mode } = await statHeld(held);
  if ((mode & 0o7777) !== adoptedMode(mode)) await chmod(heldPath(held), adoptedMode(mode));
}

async function adoptDirectory(dir: Held): Promise<void> {
  await lchown(`${heldPath(dir)}/.`, ROOT, ROOT);
  await chmod(heldPath(dir), 0o755);
}

/** The directory first: once it belongs to root, its creator cannot change its content. */
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
    if (seen > MAX_DIRECTORIES) throw new Error(`${path} has more than ${MAX_DIRECTORIES} directories`);
    try {
      await adoptContents(syscalls, root, next, pending);
    } catch (thrown) {
      if (errorCode(thrown) !== 'ENOENT') throw thrown;
    }
  }
}
