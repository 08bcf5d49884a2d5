/** Measurement of pods' directories, one after the other. For a thread that may block. */
import { lstatSync, readFileSync, statfsSync } from 'node:fs';
import { deviceNumbers } from './device-numbers.ts';
import { type FsSpace, spaceIn } from './fs-space.ts';
import { findPlaces, type MountTable, type Place, readMountTable } from './places.ts';
import type { FromThread, Measured, MeasureTask } from './protocol.ts';
import { measureTree } from './walk.ts';

export interface MeasureDeps {
  readonly report: (message: FromThread) => void;
  /** Yields CPU and disk to others. */
  readonly rest: () => void;
  readonly readMounts?: () => MountTable;
}

const BYTES_A_SECTOR = 512;

function sizeOfDevice(path: string): number {
  const stats = lstatSync(path);
  if (!stats.isBlockDevice()) throw new Error(`${path} is not a block device`);
  const sectors = readFileSync(`/sys/dev/block/${deviceNumbers(stats.rdev)}/size`, 'utf8');
  return Number(sectors) * BYTES_A_SECTOR;
}

/** Measures one place. Undefined if the thread does not measure it. */
function createMeasure(): (place: Place, onPause: () => void) => Measured | undefined {
  const spaces = new Map<string, FsSpace>();

  /** Reads a file system once for all of its directories. */
  function spaceOf(path: string, device: string): FsSpace {
    const known = spaces.get(device);
    if (known !== undefined) return known;
    const space = spaceIn(statfsSync(path));
    spaces.set(device, space);
    return space;
  }

  return ({ path, way, ...subject }, onPause) => {
    switch (way.kind) {
      case 'walk': {
        const { usedBytes, inodes, device } = measureTree(path, { onPause, without: way.without });
        const space = spaceOf(path, `folder ${device}`);
        return { ...subject, isOwnFs: false, space, usedBytes, inodesUsed: inodes };
      }
      case 'fileSystem': {
        const space = spaceOf(path, way.device);
        const { usedBytes, inodes, inodesFree } = space;
        return { ...subject, isOwnFs: true, space, usedBytes, inodesUsed: inodes - inodesFree };
      }
      case 'device':
        return { ...subject, isOwnFs: true, space: { capacityBytes: sizeOfDevice(path) } };
      case 'apart':
        return undefined;
      default:
        return way satisfies never;
    }
  };
}

/** Reports everything that can be measured here, and the volumes that are measured elsewhere. */
export function measureAll(
  task: MeasureTask,
  { report, rest, readMounts = readMountTable }: MeasureDeps,
): void {
  const measure = createMeasure();
  const places = findPlaces(task, readMounts());
  // First, since measuring them takes time in which the others are measured.
  for (const { way, ...place } of places) {
    if (way.kind !== 'apart') continue;
    const mount = way.mount && { point: way.mount.mountPoint, device: way.mount.device };
    report({ kind: 'apart', volume: { ...place, mount } });
  }
  for (const place of places) {
    const begins = (): void => report({ kind: 'begins', path: place.path });
    begins();
    try {
      const onPause = (): void => {
        begins();
        rest();
      };
      const measured = measure(place, onPause);
      if (measured !== undefined) report({ kind: 'measured', measured });
    } catch {
      // Removed in the meantime, or unreadable: it has no statistics.
    }
  }
  report({ kind: 'done' });
}
