/** Lock of the root directory: two agents on one root would remove each other's objects. */
import { chmod, type FileHandle, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createDir } from '#api/kit/files/create-dir.ts';
import { tryLock } from './flock.ts';

/** Another agent holds the lock. */
export class RootLockedError extends Error {
  constructor(path: string) {
    super(`another agent uses this root directory: it holds ${path}`);
    this.name = 'RootLockedError';
  }
}

/** Removes the access of others from an existing directory: its content belongs to pods and includes their
 *  secrets. */
async function shut(folder: string): Promise<void> {
  const mode = (await stat(folder)).mode & 0o7777;
  if ((mode & 0o027) !== 0) await chmod(folder, mode & ~0o027);
}

/** Acquires the lock for the lifetime of the process; the kernel releases it at any exit.
 *  @throws RootLockedError */
export async function lockRoot(rootDir: string): Promise<FileHandle> {
  await createDir(rootDir, 0o750);
  await shut(rootDir);
  const path = join(rootDir, 'agent.lock');
  const file = await open(path, 'a', 0o600);
  if (tryLock(file.fd)) return file;
  await file.close();
  throw new RootLockedError(path);
}
