/** Watchers in a thread of their own: what they decrypt must not hold up the clients that create. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Target } from './http-client.ts';

export interface WatchersOptions {
  readonly target: Target;
  /** Of the resource. */
  readonly path: string;
  readonly count: number;
  /** Events that each is to get. */
  readonly expected: number;
}

export interface WatchersSeen {
  /** What was wrong with the events. */
  readonly fault: string | undefined;
  /** Names of objects and when their event came, in ms of the wall clock. */
  readonly arrivals: readonly (readonly [name: string, atMs: number])[];
}

export interface Watchers {
  /** Waits for the last event and closes. */
  readonly end: () => Promise<WatchersSeen>;
}

/** Resolves when all of them watch. */
export async function startWatchers(options: WatchersOptions): Promise<Watchers> {
  const worker = new Worker(new URL('watchers-thread.ts', import.meta.url), { workerData: options });
  await once(worker, 'message');
  return {
    async end() {
      const seen = once(worker, 'message');
      worker.postMessage('end', []);
      const [message] = (await seen) as [WatchersSeen];
      await worker.terminate();
      return message;
    },
  };
}
