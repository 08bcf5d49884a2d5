/** Queue of pods' tasks: one at a time per key of a pod, otherwise in parallel, with a way to wait for all
 *  tasks of a pod. */
import { asError } from '#api/kit/errno.ts';
import { createKeyedQueue } from '#api/kit/keyed-queue.ts';

export interface PodTasks {
  /** Runs `task` after earlier ones of the same pod and key. */
  run<T>(podUID: string, key: string, task: () => Promise<T>): Promise<T>;
  /** Resolves when no task of the pod is running or queued. */
  settle(podUID: string): Promise<void>;
}

export function createPodTasks(): PodTasks {
  const queue = createKeyedQueue();
  const underway = new Map<string, Set<Promise<unknown>>>();
  return {
    async run(podUID, key, task) {
      const promise = queue.run(`${podUID}/${key}`, task);
      const tasks = underway.get(podUID) ?? new Set();
      underway.set(podUID, tasks.add(promise));
      try {
        return await promise;
      } finally {
        tasks.delete(promise);
        if (tasks.size === 0 && underway.get(podUID) === tasks) underway.delete(podUID);
      }
    },
    async settle(podUID) {
      for (let tasks = underway.get(podUID); tasks !== undefined; tasks = underway.get(podUID)) {
        await Promise.allSettled(tasks);
      }
    },
  };
}

/** Waits for `work` until the signal fires; the work continues, and its key stays occupied. */
export async function until<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const stop = Promise.withResolvers<never>();
  const onAbort = (): void => stop.reject(asError(signal.reason));
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, stop.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    stop.promise.catch(() => undefined);
    work.catch(() => undefined);
  }
}
