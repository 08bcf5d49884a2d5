/** Times of containers' first instructions, from the time stamps of the files to which they append. */
import { type FSWatcher, watch } from 'node:fs';
import { stat } from 'node:fs/promises';
import { startedFile } from './pod.ts';

export interface StartedWatch extends Disposable {
  /** Resolves with the wall time (ms with fractions) of the pod's first write at or after `sinceMs`.
   *  @throws Error on timeout */
  at(podName: string, sinceMs: number, timeoutMs?: number): Promise<number>;
}

const DEFAULT_TIMEOUT_MS = 30_000;
/** Maximum lag of the kernel's file clock. */
const FILE_CLOCK_LAG_MS = 10;

export function watchStarted(outDir: string): StartedWatch {
  const waiting = new Set<() => void>();
  const watcher: FSWatcher = watch(outDir, () => {
    for (const recheck of waiting) recheck();
  });

  return {
    at(podName, sinceMs, timeoutMs = DEFAULT_TIMEOUT_MS) {
      const path = startedFile(outDir, podName);
      return new Promise((resolve, reject) => {
        const end = (): void => {
          waiting.delete(recheck);
          clearTimeout(timer);
        };
        const timer = setTimeout(() => {
          end();
          reject(new Error(`no container of pod ${podName} started within ${timeoutMs} ms`));
        }, timeoutMs);
        const check = async (): Promise<void> => {
          const writtenMs = await modifiedMs(path);
          if (writtenMs < sinceMs - FILE_CLOCK_LAG_MS) return;
          end();
          resolve(writtenMs);
        };
        const recheck = (): void => void check();
        waiting.add(recheck);
        recheck();
      });
    },
    [Symbol.dispose]: () => watcher.close(),
  };
}

async function modifiedMs(path: string): Promise<number> {
  try {
    const { mtimeNs, size } = await stat(path, { bigint: true });
    return size === 0n ? 0 : Number(mtimeNs) / 1e6;
  } catch {
    // Does not exist yet.
    return 0;
  }
}
