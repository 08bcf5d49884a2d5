/** Removes a directory tree that a container may have filled with anything: never follows a link, never enters
 *  a mount, holds a bounded number of descriptors however deep the tree is, and never blocks the event loop. */
import { randomUUID } from 'node:crypto';
import { rename, rmdir, unlink } from 'node:fs/promises';
import { entryBatches, settleAll } from './entries.ts';
import { at, type Held, holdSubdir } from './held-dir.ts';
import { errorCode, unlessCode } from './setup-error.ts';
import type { PathBytes, Syscalls } from './syscalls.ts';

/** Directories below this depth are moved up to the top of the tree, and removed from there. */
const DEEPEST_HELD = 24;
/** Enough for the deepest tree that a file system can hold; a container that keeps adding is not chased for ever. */
const MOST_PASSES = 100_000;

interface Removal {
  readonly syscalls: Syscalls;
  readonly top: Held;
}

async function removeDirectory(run: Removal, dir: Held, name: PathBytes, depth: number): Promise<void> {
  if (depth >= DEEPEST_HELD) {
    await rename(at(dir, name), at(run.top, `..moved-${randomUUID()}`));
    return;
  }
  await using child = await holdSubdir(run.syscalls, dir, name);
  await removeContents(run, child, depth + 1);
  // What was added meanwhile, or moved up to here, is left to the next pass.
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
    // One after the other: side by side, each level would multiply the descriptors held.
    for (const { name } of batch.filter(({ isDirectory }) => isDirectory))
      await removeDirectory(run, dir, name, depth);
  }
}

/** Removes `name` in the held directory `parent`, whatever it is; done when it doesn't exist.
 *  @throws SyscallError `EXDEV` at a mount point, or the system's error for what can't be removed. */
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
  for (let pass = 1; pass < MOST_PASSES; pass += 1) {
    await removeContents(run, held, 0);
    if (await unlessCode(['ENOTEMPTY'], () => rmdir(at(parent, name)))) return;
  }
  await rmdir(at(parent, name));
}
