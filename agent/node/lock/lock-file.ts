/** Lock file of the administrator (`--lock-file`): only one agent of all that are given the same file runs. */
import { type FileHandle, open } from 'node:fs/promises';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { StartError } from '../start-fault.ts';
import { watchContention } from './contention.ts';
import { tryLock, waitForLock } from './flock.ts';

export interface LockFileOptions {
  /** Empty for no lock. */
  readonly lockFile: string;
  readonly exitOnLockContention: boolean;
}

/** Acquires the lock, after waiting for its holder, for as long as the result lives.
 *  @param contended called when another process requests the lock, if the options say so
 *  @throws StartError; the reason of the signal */
export async function acquireLockFile(
  { lockFile: path, exitOnLockContention }: LockFileOptions,
  log: Logger,
  signal: AbortSignal,
  contended: () => void,
): Promise<AsyncDisposable> {
  if (path === '') return { [Symbol.asyncDispose]: () => Promise.resolve() };
  const file = await openLock(path);
  try {
    if (!tryLock(file.fd)) {
      log.info({ path }, 'Lock file held by another process; waiting');
      await waitForLock(file.fd, signal);
    }
    const end = exitOnLockContention ? watchContention(path, log, contended) : undefined;
    log.debug({ path }, 'Lock file acquired');
    return {
      async [Symbol.asyncDispose]() {
        end?.();
        await file.close();
      },
    };
  } catch (thrown) {
    await file.close();
    throw thrown;
  }
}

async function openLock(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'a+', 0o600);
  } catch (thrown) {
    throw new StartError(`--lock-file: ${path} cannot be opened: ${asError(thrown).message}`, {
      cause: thrown,
    });
  }
}
