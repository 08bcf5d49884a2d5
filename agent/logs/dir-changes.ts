/** Tells when anything in a directory changed, without asking again and again. */
import { type FSWatcher, watch } from 'node:fs';

export interface DirChanges {
  /** Resolves at the next change, or at once when there was one since the last call, or when a signal fires. */
  next(): Promise<void>;
  close(): void;
}

/** Watches one directory, not what lies below it. Each of `wakers` also ends a wait.
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
      for (const signal of wakers) signal.removeEventListener('abort', wake);
    },
  };
}
