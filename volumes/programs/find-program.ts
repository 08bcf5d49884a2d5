/** Lookup of programs: only in system directories, never in PATH, because the program runs as root. */
import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';

export const PROGRAM_FOLDERS: readonly string[] = [
  '/usr/local/sbin',
  '/usr/local/bin',
  '/usr/sbin',
  '/usr/bin',
  '/sbin',
  '/bin',
];

/** Returns the path of a program; undefined when it is not installed. */
export async function findProgram(
  program: string,
  folders: readonly string[] = PROGRAM_FOLDERS,
): Promise<string | undefined> {
  for (const folder of folders) {
    const path = join(folder, program);
    try {
      await access(path, constants.X_OK);
      return path;
    } catch {
      // Not in this directory.
    }
  }
  return undefined;
}
