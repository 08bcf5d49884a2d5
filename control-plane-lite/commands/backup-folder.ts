/** Folder of scheduled backups: names by time, and retention. Removes only files that it has named. */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

const NAME = /^control-plane-lite-\d{8}T\d{6}Z\.backup$/;

/** Returns a name that sorts by time: `control-plane-lite-20260102T030405Z.backup`. */
export const backupName = (nowMs: number): string =>
  `control-plane-lite-${new Date(nowMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z.backup`;

/** Returns the backups to remove, so that the newest `retain` remain. Pure. */
export const excessBackups = (names: readonly string[], retain: number): readonly string[] =>
  names
    .filter((name) => NAME.test(name))
    .toSorted()
    .toReversed()
    .slice(retain);

/** Returns the names of the removed backups. */
export async function pruneBackups(dir: string, retain: number): Promise<readonly string[]> {
  const excess = excessBackups(await readdir(dir), retain);
  for (const name of excess) await rm(join(dir, name), { force: true });
  return excess;
}
