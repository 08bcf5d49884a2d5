/** Disk usage of a directory tree. For a thread that may block.
 *
 *  The content is hostile and changes concurrently: each directory is opened within its held parent, no
 *  link is followed, and other file systems are not counted. Vanished entries count as zero. */

import { closeSync, constants, fstatSync, lstatSync, opendirSync, openSync, type Stats } from 'node:fs';
import { hasCode } from '#api/kit/errno.ts';

export interface TreeUsage {
  /** Allocated blocks; hard links count once. */
  readonly usedBytes: number;
  /** Number of files, directories and others, including the root. */
  readonly inodes: number;
}

/** Also contains the device number. */
export interface WalkedTree extends TreeUsage {
  readonly device: number;
}

export interface WalkOptions {
  /** Called periodically after a number of files. */
  readonly onPause: () => void;
  /** Paths within the root that must not be accessed. */
  readonly without?: readonly string[];
}

/** Maximum depth of held directories. Deeper ones wait until those above are finished. */
const MAX_DEPTH = 100;
/** Maximum number of waiting directories; the content of others is not counted. */
const MAX_WAITING = 400;
const FILES_A_PAUSE = 500;
const BYTES_A_BLOCK = 512;
const HOLD = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** @throws the system's error for a root that is not a directory */
export function measureTree(root: string, { onPause, without = [] }: WalkOptions): WalkedTree {
  const linked = new Set<number>();
  const left = new Set(without.map((path) => Buffer.from(path).toString('latin1')));
  let usedBytes = 0;
  let inodes = 0;
  const later: Held[] = [];

  function count({ ino, nlink, blocks }: Stats, isDirectory: boolean): void {
    if (nlink > 1 && !isDirectory) {
      if (linked.has(ino)) return;
      linked.add(ino);
    }
    usedBytes += blocks * BYTES_A_BLOCK;
    inodes += 1;
    if (inodes % FILES_A_PAUSE === 0) onPause();
  }

  /** Counts the entries of a held directory. Names are bytes, which Latin-1 preserves. */
  function readHeld({ fd, path }: Held, device: number): readonly string[] {
    const inside: string[] = [];
    using entries = opendirSync(`/proc/self/fd/${fd}`, { encoding: 'latin1', bufferSize: 128 });
    for (let entry = entries.readSync(); entry !== null; entry = entries.readSync()) {
      if (left.size > 0 && left.has(path + entry.name)) continue;
      const stats = lstatSync(below(fd, entry.name), { throwIfNoEntry: false });
      if (stats === undefined || stats.dev !== device) continue;
      if (stats.isDirectory()) inside.push(entry.name);
      else count(stats, false);
    }
    return inside;
  }

  function walk(held: Held, device: number, depth: number): void {
    for (const name of readHeld(held, device)) {
      const fd = hold(below(held.fd, name));
      if (fd === undefined) continue;
      const child = { fd, path: `${held.path}${name}/` };
      let isLeft = false;
      try {
        const stats = fstatSync(fd);
        if (stats.dev !== device) continue;
        count(stats, true);
        if (depth < MAX_DEPTH) walk(child, device, depth + 1);
        else isLeft = later.length < MAX_WAITING && later.push(child) > 0;
      } finally {
        if (!isLeft) closeSync(fd);
      }
    }
  }

  function walkAll(top: Held): number {
    const stats = fstatSync(top.fd);
    count(stats, true);
    walk(top, stats.dev, 1);
    for (let held = later.pop(); held !== undefined; held = later.pop()) {
      try {
        walk(held, stats.dev, 1);
      } finally {
        closeSync(held.fd);
      }
    }
    return stats.dev;
  }

  const fd = openSync(root, HOLD);
  try {
    const device = walkAll({ fd, path: '' });
    return { usedBytes, inodes, device };
  } finally {
    closeSync(fd);
    for (const held of later) closeSync(held.fd);
  }
}

/** An open directory. Its path from the root, in Latin-1 with a slash, serves only to detect mount points. */
interface Held {
  readonly fd: number;
  readonly path: string;
}

const below = (fd: number, name: string): Buffer => Buffer.from(`/proc/self/fd/${fd}/${name}`, 'latin1');

/** Undefined if it is no longer a directory. */
function hold(path: Buffer): number | undefined {
  try {
    return openSync(path, HOLD);
  } catch (thrown) {
    if (hasCode(thrown, 'ENOENT', 'ENOTDIR', 'ELOOP')) return undefined;
    throw thrown;
  }
}
