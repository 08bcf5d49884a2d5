/** flock(2), which Node lacks. A lock belongs to the open file: the kernel releases it when the last descriptor
 *  of it is closed, at any exit of the process. */
import { spawn } from 'node:child_process';
import koffi from 'koffi';

const LOCK_EX = 2;
const LOCK_NB = 4;

/** The lock could not be awaited. */
class FlockError extends Error {
  constructor(cause: unknown) {
    super('cannot wait for a file lock with the program flock', { cause });
    this.name = 'FlockError';
  }
}

/** Acquires the exclusive lock unless another open file holds it. Returns whether it was acquired. */
export function tryLock(fd: number): boolean {
  const flock: (fd: number, operation: number) => number = koffi
    .load('libc.so.6')
    .func('int flock(int, int)');
  return flock(fd, LOCK_EX | LOCK_NB) === 0;
}

/** Waits for the exclusive lock. The wait is in another process, which shares the open file: a call that blocks
 *  in this one would occupy a pool thread and delay its exit.
 *  @throws FlockError; the reason of the signal */
export async function waitForLock(fd: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const child = spawn('/usr/bin/flock', ['--exclusive', '3'], { stdio: ['ignore', 'ignore', 'ignore', fd] });
  const end = (): void => void child.kill('SIGKILL');
  signal.addEventListener('abort', end, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code, name) =>
        code === 0 ? resolve() : reject(new Error(`it ended with ${name ?? `exit code ${code}`}`)),
      );
    });
  } catch (thrown) {
    signal.throwIfAborted();
    throw new FlockError(thrown);
  } finally {
    signal.removeEventListener('abort', end);
  }
}
