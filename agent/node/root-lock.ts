/** Only one agent works on a root directory: two would each remove what the other one made. */
import { chmod, type FileHandle, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import koffi from 'koffi';
import { makeFolder } from '#api/kit/make-folder.ts';

const LOCK_EX = 2;
const LOCK_NB = 4;

/** Another agent holds the root directory. */
export class RootLockedError extends Error {
  constructor(path: string) {
    super(`another agent works on this root directory: it holds ${path}`);
    this.name = 'RootLockedError';
  }
}

/** Takes away what others may do with a folder that somebody else created: what is below belongs to pods and holds
 *  their secrets. */
async function shut(folder: string): Promise<void> {
  const mode = (await stat(folder)).mode & 0o7777;
  if ((mode & 0o027) !== 0) await chmod(folder, mode & ~0o027);
}

/** Takes the lock for as long as the process lives; the kernel frees it however the process ends.
 *  @throws RootLockedError */
export async function lockRoot(rootDir: string): Promise<FileHandle> {
  await makeFolder(rootDir, 0o750);
  await shut(rootDir);
  const path = join(rootDir, 'agent.lock');
  const file = await open(path, 'a', 0o600);
  const flock: (fd: number, operation: number) => number = koffi
    .load('libc.so.6')
    .func('int flock(int, int)');
  if (flock(file.fd, LOCK_EX | LOCK_NB) === 0) return file;
  await file.close();
  throw new RootLockedError(path);
}
