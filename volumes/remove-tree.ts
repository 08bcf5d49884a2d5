/** Removes a directory tree that a container may have filled with anything: never follows a link, never enters
 *  a mount, holds a bounded number of descriptors however deep the tree is, and never blocks the event loop. */
import { opendir, rename, rmdir, unlink } from 'node:fs/promises';
import { at, type Held, heldPath, holdSubdir } from './held-dir.ts';
import { errorCode, unlessCode } from './setup-error.ts';
import type { PathBytes, Syscalls } from './syscalls.ts';

/** Directories below this depth are moved up to the top of the tree, and removed from there. */
const DEEPEST_HELD = 24;
/** Enough for the deepest tree that a file system can hold; a container that keeps adding is not chased for ever. */
const MOST_PASSES = 100_000;
const BATCH = 32;

interface Removal {
  readonly syscalls: Syscalls;
  readonly top: Held;
  moved: number;
}

async function removeDirectory(run: Removal, dir: Held, name: PathBytes, depth: number): Promise<void> {
  if (depth >= DEEPEST_HELD) {
    run.moved += 1;
    await rename(at(dir, name), at(run.top, `..moved-${process.pid}-${run.moved}-${Date.now()}`));
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
  let batch: Promise<void>[] = [];
  const directories: Buffer[] = [];
  for await (const entry of await opendir(heldPath(dir), { encoding: 'latin1', bufferSize: BATCH })) {
    // Latin-1 keeps every byte of a name that is no UTF-8.
    const name = Buffer.from(entry.name, 'latin1');
    if (entry.isDirectory()) directories.push(name);
    else batch.push(removeEntry(run, dir, name, depth));
    if (batch.length >= BATCH) {
      await Promise.all(batch);
      batch = [];
    }
    // A directory is removed between two reads of a batch, so that their names don't pile up.
    const next = directories.length >= BATCH ? directories.splice(0) : [];
    for (const directory of next) await removeDirectory(run, dir, directory, depth);
  }
  await Promise.all(batch);
  for (const directory of directories) await removeDirectory(run, dir, directory, depth);
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
  const run: Removal = { syscalls, top: held, moved: 0 };
  for (let pass = 1; pass < MOST_PASSES; pass += 1) {
    await removeContents(run, held, 0);
    if (await unlessCode(['ENOTEMPTY'], () => rmdir(at(parent, name)))) return;
  }
  await rmdir(at(parent, name));
}
