/** Thread for one round of measurement: started for the round and terminated with it, so that it retains
 *  no memory. A directory on which it hangs, or that crashes it, is reported instead of awaited. */
import { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '#api/kit/clock.ts';
import type { Apart, FromThread, Measured, MeasureTask } from './protocol.ts';

export interface MeasuringDeps {
  readonly clock: Clock;
  readonly onMeasured: (measured: Measured) => void;
  /** Called for each volume that the thread does not measure. */
  readonly onApart: (volume: Apart) => void;
}

/** Resolves when everything has been measured, with the directory that ended it early if any. */
export type MeasureRound = (
  deps: MeasuringDeps,
  task: MeasureTask,
  signal: AbortSignal,
) => Promise<{ readonly stuckAt: string | undefined }>;

/** A longer system call is assumed to hang. */
const SILENCE_TIMEOUT_MS = 60_000;
const HEAP_MIB = 64;

/** Sources run directly; a bundle has the thread's program as a separate file. */
const programOf = (url: string): URL =>
  new URL(url.endsWith('.ts') ? './worker.ts' : './usage-worker.js', url);

export const measureInThread: MeasureRound = ({ clock, onMeasured, onApart }, task, signal) => {
  signal.throwIfAborted();
  const worker = new Worker(programOf(import.meta.url), {
    workerData: task,
    name: 'disk usage',
    // The program's own options may refer to its main file, such as `--eval`.
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
  });
  worker.unref();
  const { promise, resolve, reject } = Promise.withResolvers<{ readonly stuckAt: string | undefined }>();
  let path: string | undefined;
  let silence: Timer | undefined;

  function listen(): void {
    silence?.cancel();
    silence = clock.setTimer(() => resolve({ stuckAt: path }), SILENCE_TIMEOUT_MS);
  }
  const stop = (): void => reject(new Error('the measurement was aborted', { cause: signal.reason }));
  signal.addEventListener('abort', stop, { once: true });
  worker.on('message', (message: FromThread) => {
    listen();
    if (message.kind === 'begins') ({ path } = message);
    else if (message.kind === 'measured') onMeasured(message.measured);
    else if (message.kind === 'apart') onApart(message.volume);
    else resolve({ stuckAt: undefined });
  });
  worker.on('error', (error: Error) => (path === undefined ? reject(error) : resolve({ stuckAt: path })));
  worker.on('exit', () => reject(new Error('the measuring thread exited')));
  listen();
  return promise.finally(() => {
    silence?.cancel();
    signal.removeEventListener('abort', stop);
    // A thread that hangs in a system call exits when the call returns; do not wait for it.
    void worker.terminate();
  });
};
