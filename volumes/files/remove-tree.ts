/** Removal of a directory tree that a container may have filled with anything: never follows a link or
 *  enters a mount, holds a bounded number of descriptors at any depth, and never blocks the event loop. */
import { randomUUID } from 'node:crypto';
import { rename, rmdir, unlink } from 'node:fs/promises';
import { errorCode, unlessCode } from '#api/kit/errno.ts';
import { entryBatches, settleAll } from './entries.ts';
import { at, type Held, holdSubdir } from './held-dir.ts';
import type { PathBytes, Syscalls } from './syscalls.ts';

/** Deeper directories are moved to the top of the tree and removed there. */
const MAX_HELD_DEPTH = 24;
/** Enough for the deepest possible tree; bounds the work if a container keeps adding entries. */
const MAX_PASSES = 100_000;

interface Removal {
  readonly syscalls: Syscalls;
  readonly top: Held;
}

async function removeDirectory(run: Removal, dir: Held, name: PathBytes, depth: number): Promise<void> {
  if (depth >= MAX_HELD_DEPTH) {
    await rename(at(dir, name), at(run.top, `..moved-${randomUUID()}`));
    return;
  }
  await using child = await holdSubdir(run.syscalls, dir, name);
  await removeContents(run, child, depth + 1);
  // Entries added or moved up meanwhile are left to the next pass.
  await unlessCode(['ENOTEMPTY', 'ENOENT'], () => rmdir(at(dir, name)));
}

async function removeEntry(run: Removal, dir: Held, name: Buffer, depth: number): Promise<void> {
  try {
    await unlink(at(dir, name));
  } catch (thrown) {
    const code = errorCode(thrown);
    if (code === 'ENOENT') return;
    if (code !== 'EISDIR') throw thrown;
    await removeDirectory(run, dir, name, depth);
  }
}

async function removeContents(run: Removal, dir: Held, depth: number): Promise<void> {
  for await (const batch of entryBatches(dir)) {
    const others = batch.filter(({ isDirectory }) => !isDirectory);
    await settleAll(others.map(({ name }) => removeEntry(run, dir, name, depth)));
    // Sequentially: in parallel, each level would multiply the held descriptors.
    for (const { name } of batch.filter(({ isDirectory }) => isDirectory))
      await removeDirectory(run, dir, name, depth);
  }
}

/** Removes `name` of any type in the held directory `parent`; succeeds when it does not exist.
 *  @throws SyscallError `EXDEV` at a mount point, or the system's error for entries that cannot be
 *    removed. */
export async function removeTree(syscalls: Syscalls, parent: Held, name: PathBytes): Promise<void> {
  const removed = await unlessCode(['EISDIR', 'ENOENT'], () => unlink(at(parent, name)));
  if (removed) return;
  let top: Held;
  try {
    top = await holdSubdir(syscalls, parent, name);
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return;
    throw thrown;
  }
  await using held = top;
  const run: Removal = { syscalls, top: held };
  for (let pass = 1; pass < MAX_PASSES; pass += 1) {
    await removeContents(run, held, 0);
    if (await unlessCode(['ENOTEMPTY'], () => rmdir(at(parent, name)))) return;
  }
  await rmdir(at(parent, name));
}
