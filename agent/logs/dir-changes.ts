/** Waits for changes of a directory, without polling. */
import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';

export interface DirChanges {
  /** Resolves at the next change, immediately if there was one since the last call, or when a signal fires. */
  next(): Promise<void>;
  close(): void;
}

/** Watches one directory, without its subdirectories, and its removal. Each of `wakers` also ends a wait.
 *  @throws the system error when the directory cannot be watched */
export function watchDir(dir: string, wakers: readonly AbortSignal[]): DirChanges {
  let isDirty = false;
  let notify: (() => void) | undefined;
  const wake = (): void => {
    isDirty = true;
    notify?.();
  };
  const watcher: FSWatcher = watch(dir);
  watcher.on('change', wake);
  // The directory was removed: the reader detects it on its next check.
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

/** The directory reports no removal while a file from it is open.
 *  @throws the system error when its parent cannot be watched; the watcher of the directory is closed then */
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
