/** What a directory with everything in it takes on its file system. For a thread that may block.
 *
 *  The content is hostile and changes meanwhile: each directory is opened within its held parent, no link is followed,
 *  and nothing of another file system is counted. What went away meanwhile takes nothing. */
import { closeSync, constants, fstatSync, lstatSync, opendirSync, openSync, type Stats } from 'node:fs';

export interface TreeUsage {
  /** Blocks that are taken, of hard links once. */
  readonly usedBytes: number;
  /** Files, directories and others, the root included. */
  readonly inodes: number;
}

export interface WalkOptions {
  /** Called after every so many files. */
  readonly onPause: () => void;
}

/** Directories below each other; those deeper down are counted without their content. */
const DEEPEST = 200;
const FILES_A_PAUSE = 500;
const BYTES_A_BLOCK = 512;
const HOLD = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** @throws the system's error for a root that is no directory */
export function measureTree(root: string, { onPause }: WalkOptions): TreeUsage {
  const linked = new Set<number>();
  let usedBytes = 0;
  let inodes = 0;

  function count({ ino, nlink, blocks }: Stats, isDirectory: boolean): void {
    if (nlink > 1 && !isDirectory) {
      if (linked.has(ino)) return;
      linked.add(ino);
    }
    usedBytes += blocks * BYTES_A_BLOCK;
    inodes += 1;
    if (inodes % FILES_A_PAUSE === 0) onPause();
  }

  /** Counts what is in a held directory. Names are bytes, which Latin-1 keeps. */
  function readHeld(fd: number, device: number): readonly string[] {
    const inside: string[] = [];
    using entries = opendirSync(`/proc/self/fd/${fd}`, { encoding: 'latin1', bufferSize: 128 });
    for (let entry = entries.readSync(); entry !== null; entry = entries.readSync()) {
      const stats = lstatSync(below(fd, entry.name), { throwIfNoEntry: false });
      if (stats === undefined || stats.dev !== device) continue;
      if (stats.isDirectory()) inside.push(entry.name);
      else count(stats, false);
    }
    return inside;
  }

  function walk(fd: number, device: number, depth: number): void {
    for (const name of readHeld(fd, device)) {
      const child = hold(below(fd, name));
      if (child === undefined) continue;
      try {
        const stats = fstatSync(child);
        if (stats.dev !== device) continue;
        count(stats, true);
        if (depth < DEEPEST) walk(child, device, depth + 1);
      } finally {
        closeSync(child);
      }
    }
  }

  const top = openSync(root, HOLD);
  try {
    const stats = fstatSync(top);
    count(stats, true);
    walk(top, stats.dev, 1);
  } finally {
    closeSync(top);
  }
  return { usedBytes, inodes };
}

const below = (fd: number, name: string): Buffer => Buffer.from(`/proc/self/fd/${fd}/${name}`, 'latin1');

/** Undefined for what is no directory any more. */
function hold(path: Buffer): number | undefined {
  try {
    return openSync(path, HOLD);
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP') return undefined;
    throw thrown;
  }
}
