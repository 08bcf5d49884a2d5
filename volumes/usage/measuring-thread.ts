/** A thread for one round of measuring: it is started for it and ends with it, so that nothing of it stays in
 *  memory. A folder that it hangs on, or that is too much for it, is told instead of waited for. */
import { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '#api/kit/clock.ts';
import type { Apart, FromThread, Measured, MeasureTask } from './protocol.ts';

export interface MeasuringDeps {
  readonly clock: Clock;
  readonly onMeasured: (measured: Measured) => void;
  /** Called for each volume that the thread leaves to others. */
  readonly onApart: (volume: Apart) => void;
}

/** Resolves when everything was measured, with the folder that ended it early if one did. */
export type MeasureRound = (
  deps: MeasuringDeps,
  task: MeasureTask,
  signal: AbortSignal,
) => Promise<{ readonly stuckAt: string | undefined }>;

/** A system call that takes longer than that is taken for one that never ends. */
const LONGEST_SILENCE_MS = 60_000;
const HEAP_MIB = 64;

/** Sources run as they are; a bundle has the thread's program as a file beside it. */
const programOf = (url: string): URL =>
  new URL(url.endsWith('.ts') ? './worker.ts' : './usage-worker.js', url);

export const measureInThread: MeasureRound = ({ clock, onMeasured, onApart }, task, signal) => {
  signal.throwIfAborted();
  const worker = new Worker(programOf(import.meta.url), {
    workerData: task,
    name: 'disk usage',
    // The program's own options may be about its main file, such as `--eval`.
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
  });
  worker.unref();
  const { promise, resolve, reject } = Promise.withResolvers<{ readonly stuckAt: string | undefined }>();
  let path: string | undefined;
  let silence: Timer | undefined;

  function listen(): void {
    silence?.cancel();
    silence = clock.setTimer(() => resolve({ stuckAt: path }), LONGEST_SILENCE_MS);
  }
  const stop = (): void => reject(new Error('measuring was broken off', { cause: signal.reason }));
  signal.addEventListener('abort', stop, { once: true });
  worker.on('message', (message: FromThread) => {
    listen();
    if (message.kind === 'begins') ({ path } = message);
    else if (message.kind === 'measured') onMeasured(message.measured);
    else if (message.kind === 'apart') onApart(message.volume);
    else resolve({ stuckAt: undefined });
  });
  worker.on('error', (error: Error) => (path === undefined ? reject(error) : resolve({ stuckAt: path })));
  worker.on('exit', () => reject(new Error('the measuring thread ended')));
  listen();
  return promise.finally(() => {
    silence?.cancel();
    signal.removeEventListener('abort', stop);
    // One that hangs in a system call ends when that does; nobody waits for it.
    void worker.terminate();
  });
};
