/** Only one agent works on a root directory: two would each remove what the other one made. */
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import koffi from 'koffi';

const LOCK_EX = 2;
const LOCK_NB = 4;

/** Another agent holds the root directory. */
export class RootLockedError extends Error {
  constructor(path: string) {
    super(`another agent works on this root directory: it holds ${path}`);
    this.name = 'RootLockedError';
  }
}

/** Takes the lock for as long as the process lives; the kernel frees it however the process ends.
 *  @throws RootLockedError */
export async function lockRoot(rootDir: string): Promise<FileHandle> {
  await mkdir(rootDir, { recursive: true, mode: 0o750 });
  const path = join(rootDir, 'agent.lock');
  const file = await open(path, 'a', 0o600);
  const flock: (fd: number, operation: number) => number = koffi
    .load('libc.so.6')
    .func('int flock(int, int)');
  if (flock(file.fd, LOCK_EX | LOCK_NB) === 0) return file;
  await file.close();
  throw new RootLockedError(path);
}
