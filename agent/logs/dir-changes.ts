/** Tells when anything in a directory changed, without asking again and again. */
import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';

export interface DirChanges {
  /** Resolves at the next change, or at once when there was one since the last call, or when a signal fires. */
  next(): Promise<void>;
  close(): void;
}

/** Watches one directory, not what lies below it, and its removal. Each of `wakers` also ends a wait.
 * @throws the system's error when the directory cannot be watched. */
export function watchDir(dir: string, wakers: readonly AbortSignal[]): DirChanges {
  let isDirty = false;
  let notify: (() => void) | undefined;
  const wake = (): void => {
    isDirty = true;
    notify?.();
  };
  const watcher: FSWatcher = watch(dir);
  watcher.on('change', wake);
  // The directory went away: the reader looks and finds out.
  watcher.on('error', wake);
  const above = watchParent(dir, watcher, wake);
  for (const signal of wakers) signal.addEventListener('abort', wake, { once: true });
  return {
    async next() {
      if (!isDirty && !wakers.some((signal) => signal.aborted)) {
        await new Promise<void>((resolve) => {
          notify = resolve;
        });
      }
      notify = undefined;
      isDirty = false;
    },
    close() {
      watcher.close();
      above.close();
      for (const signal of wakers) signal.removeEventListener('abort', wake);
    },
  };
}

/** The directory itself says nothing of its removal as long as somebody has a file open that was in it.
 * @throws the system's error when its parent cannot be watched; the directory's watcher is closed then. */
function watchParent(dir: string, watcher: FSWatcher, wake: () => void): FSWatcher {
  try {
    const parent = watch(dirname(dir));
    const name = basename(dir);
    parent.on('change', (_, changed) => {
      if (changed === name) wake();
    });
    return parent.on('error', wake);
  } catch (thrown) {
    watcher.close();
    throw thrown;
  }
}
