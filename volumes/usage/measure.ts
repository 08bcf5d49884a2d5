/** Measures the folders of pods, one after the other. For a thread that may block. */
import { lstatSync, readdirSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { spaceIn } from './fs-space.ts';
import type { FromThread, Measured, MeasureTask, PodFolders } from './protocol.ts';
import { measureTree } from './walk.ts';

export interface MeasureDeps {
  readonly tell: (message: FromThread) => void;
  /** Lets others have the processor and the disk. */
  readonly rest: () => void;
}

/** Sources whose volumes are folders of the node's; others are file systems, or are bound from elsewhere. */
const IN_PLACE = /~(?:empty-dir|configmap|secret|downward-api|projected)$/;

interface Place extends Pick<Measured, 'podUID' | 'of' | 'name' | 'source'> {
  readonly path: string;
  /** Device of the folder above. */
  readonly device: number;
}

/** What is not there has nothing in it. */
function foldersIn(path: string): readonly string[] {
  try {
    return readdirSync(path, { withFileTypes: true }).flatMap((entry) =>
      // Those that begin with a dot are being made.
      entry.isDirectory() && !entry.name.startsWith('.') ? [entry.name] : [],
    );
  } catch {
    return [];
  }
}

const deviceOf = (path: string): number => lstatSync(path, { throwIfNoEntry: false })?.dev ?? -1;

function placesOf({ uid: podUID, volumesDir, logsDir }: PodFolders): readonly Place[] {
  const volumes = foldersIn(volumesDir).flatMap((source) => {
    const above = join(volumesDir, source);
    const device = deviceOf(above);
    return foldersIn(above).map(
      (name): Place => ({ podUID, of: 'volume', name, source, path: join(above, name), device }),
    );
  });
  const device = deviceOf(logsDir);
  const logs = foldersIn(logsDir).map(
    (name): Place => ({ podUID, of: 'log', name, source: '', path: join(logsDir, name), device }),
  );
  return [...volumes, ...logs];
}

function measure({ path, device, ...place }: Place, onPause: () => void): Measured {
  const isElsewhere = place.of === 'volume' && !IN_PLACE.test(place.source);
  const isOwnFs = isElsewhere || deviceOf(path) !== device;
  const space = spaceIn(statfsSync(path));
  if (isOwnFs) {
    const { usedBytes, inodes, inodesFree } = space;
    return { ...place, isOwnFs, space, usedBytes, inodesUsed: inodes - inodesFree };
  }
  const { usedBytes, inodes } = measureTree(path, { onPause });
  return { ...place, isOwnFs, space, usedBytes, inodesUsed: inodes };
}

export function measureAll({ pods, skipped }: MeasureTask, { tell, rest }: MeasureDeps): void {
  const left = new Set(skipped);
  for (const place of pods.flatMap(placesOf)) {
    const { path } = place;
    if (left.has(path)) continue;
    const begins = (): void => tell({ kind: 'begins', path });
    begins();
    try {
      const onPause = (): void => {
        begins();
        rest();
      };
      tell({ kind: 'measured', measured: measure(place, onPause) });
    } catch {
      // Gone meanwhile, or not to be read: then there is no number.
    }
  }
  tell({ kind: 'done' });
}
