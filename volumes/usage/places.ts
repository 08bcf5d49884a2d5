/** Locations of pods' volumes and logs, and the way in which each is measured: decided from the mount
 *  table, since access to a hanging mount would hang. For a thread that may block. */
import { readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { type MountInfo, parseMountInfo } from '../mount/mountinfo.ts';
import type { MeasureTask, PodFolders, Subject } from './protocol.ts';

/** File systems whose statistics the kernel has available. Others may wait for a server or a program. */
const PROMPT: ReadonlySet<string> = new Set(
  (
    'bcachefs btrfs erofs exfat ext2 ext3 ext4 f2fs hugetlbfs iso9660 jfs ntfs3 overlay ramfs reiserfs squashfs ' +
    'tmpfs udf vfat xfs zfs'
  ).split(' '),
);

export type Way =
  /** A directory of the node: walked, except for these mount points within it. */
  | { readonly kind: 'walk'; readonly without: readonly string[] }
  | { readonly kind: 'fileSystem'; readonly device: string }
  | { readonly kind: 'device' }
  | { readonly kind: 'apart'; readonly mount: MountInfo | undefined };

export interface Place extends Subject {
  readonly path: string;
  readonly way: Way;
}

/** Queries of the mount table. */
export interface MountTable {
  /** Returns the uppermost mount at a path. */
  at(path: string): MountInfo | undefined;
  /** Returns mount points beneath a path. */
  beneath(path: string): readonly string[];
}

export function createMountTable(mounts: readonly MountInfo[]): MountTable {
  const byPoint = new Map(mounts.map((mount) => [mount.mountPoint, mount]));
  const points = [...byPoint.keys()].toSorted();
  return {
    at: (path) => byPoint.get(path),
    beneath(path) {
      const start = firstFrom(points, `${path}/`);
      let end = start;
      while (points[end]?.startsWith(`${path}/`) === true) end += 1;
      return points.slice(start, end);
    },
  };
}

/** Returns the index of the first entry that is not before `text`. */
function firstFrom(sorted: readonly string[], text: string): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? '') < text) low = middle + 1;
    else high = middle;
  }
  return low;
}

export const readMountTable = (): MountTable =>
  createMountTable(parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8')));

interface Inside {
  readonly name: string;
  readonly isDirectory: boolean;
}

/** Returns the entries of a directory without accessing them; empty if it does not exist. */
function inside(path: string): readonly Inside[] {
  try {
    return readdirSync(path, { withFileTypes: true }).flatMap((entry) =>
      // Entries that begin with a dot are incomplete.
      entry.name.startsWith('.') ? [] : [{ name: entry.name, isDirectory: entry.isDirectory() }],
    );
  } catch {
    return [];
  }
}

const foldersIn = (path: string): readonly string[] =>
  inside(path).flatMap(({ name, isDirectory }) => (isDirectory ? [name] : []));

/** Returns the path without links, if it exists. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** Decides how to measure a volume at this path, which has no links; undefined if it is not a volume. Pure.
 *  @param asked the driver of its source reports usage */
export function wayOf(
  path: string,
  isDirectory: boolean,
  mounts: MountTable,
  asked: boolean,
): Way | undefined {
  // Some drivers get a directory within the volume's own.
  const mount = mounts.at(path) ?? mounts.at(`${path}/mount`);
  if (asked) return { kind: 'apart', mount };
  if (mount === undefined)
    return isDirectory
      ? { kind: 'walk', without: mounts.beneath(path).map((point) => point.slice(path.length + 1)) }
      : undefined;
  if (!isDirectory) return { kind: 'device' };
  if (!PROMPT.has(mount.fsType)) return { kind: 'apart', mount };
  return { kind: 'fileSystem', device: mount.device };
}

function volumesIn(
  dir: string,
  podUID: string,
  mounts: MountTable,
  asked: ReadonlySet<string>,
): readonly Place[] {
  // As in the mount table.
  const real = realPath(dir);
  return foldersIn(dir).flatMap((source) => {
    const isAsked = asked.has(source.slice(source.indexOf('~') + 1));
    return inside(join(dir, source)).flatMap(({ name, isDirectory }): readonly Place[] => {
      const path = join(dir, source, name);
      const way = wayOf(join(real, source, name), isDirectory, mounts, isAsked);
      return way === undefined ? [] : [{ podUID, of: 'volume', name, source, path, way }];
    });
  });
}

const logsOf = ({ uid, logsDir }: PodFolders): readonly Place[] =>
  foldersIn(logsDir).map((name) => ({
    podUID: uid,
    of: 'log',
    name,
    source: '',
    path: join(logsDir, name),
    way: { kind: 'walk', without: [] },
  }));

/** Returns everything to measure for the task's pods. */
export function findPlaces({ pods, skipped, asked }: MeasureTask, mounts: MountTable): readonly Place[] {
  const left = new Set(skipped);
  const drivers = new Set(asked);
  return pods
    .flatMap((pod) => [
      ...volumesIn(pod.volumesDir, pod.uid, mounts, drivers),
      // Only the size of a raw device is known.
      ...volumesIn(pod.devicesDir, pod.uid, mounts, new Set()),
      ...logsOf(pod),
    ])
    .filter(({ path }) => !left.has(path));
}
