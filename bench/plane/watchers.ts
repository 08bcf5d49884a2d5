/** Watchers in a separate thread, so that decryption does not delay the creating clients. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Target } from './http-client.ts';

export interface WatchersOptions {
  readonly target: Target;
  /** Path of the resource. */
  readonly path: string;
  readonly count: number;
  /** Number of events that each must receive. */
  readonly expected: number;
}

export interface WatchersSeen {
  /** Error in the events. */
  readonly error: string | undefined;
  /** Object names and arrival times of their events, in ms of wall time. */
  readonly arrivals: readonly (readonly [name: string, atMs: number])[];
}

export interface Watchers {
  /** Waits for the last event and closes the streams. */
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
