/** Starts the thread that does the work of a store on disk. */
import { Worker } from 'node:worker_threads';
import { StoreError } from '../contract.ts';
import { fromPlainError, type ToMain, type ToWorker, type WorkerTask } from './protocol.ts';

export interface Thread {
  /** Of the store when the thread was ready; for a task that ends, its result. */
  readonly revision: number;
  readonly post: (message: ToWorker) => void;
  readonly end: () => Promise<void>;
}

export interface ThreadListener {
  readonly onMessage: (message: ToMain) => void;
  /** The thread ended by itself, which it never should once it is ready. */
  readonly onEnd: (error: StoreError) => void;
}

/** Sources run as they are; a bundle has the thread's program as a file of its own. */
function programOf(url: string): URL {
  return new URL(url.endsWith('.ts') ? './worker.ts' : './store-worker.js', url);
}

/** Resolves once the thread is ready, or has done what it was started for.
 *  @throws StoreError */
export function startThread(task: WorkerTask, listener: ThreadListener): Promise<Thread> {
  const worker = new Worker(programOf(import.meta.url), {
    workerData: task,
    name: `store ${task.task}`,
    // The program's own options may be about its main file, such as `--eval`.
    execArgv: [],
  });
  let failure: Error | undefined;
  let ending = false;

  return new Promise((resolve, reject) => {
    let isReady = false;
    worker.on('error', (error: Error) => {
      failure = error;
    });
    worker.on('exit', () => {
      if (ending) return;
      const detail = failure === undefined ? '' : `: ${failure.message}`;
      const error = new StoreError('unavailable', `the store's thread ended${detail}`, { cause: failure });
      reject(error);
      if (isReady) listener.onEnd(error);
    });
    worker.on('message', (message: ToMain) => {
      if (message.kind === 'ready') {
        isReady = true;
        resolve({ revision: message.revision, post, end });
      } else if (message.kind === 'refused') {
        ending = true;
        // Not before the thread is gone, and with it what it had open: whoever is refused may go on with the folder.
        worker.once('exit', () => reject(fromPlainError(message.error)));
        void worker.terminate();
      } else {
        listener.onMessage(message);
      }
    });
  });

  function post(message: ToWorker): void {
    worker.postMessage(message, message.writes === undefined ? [] : [message.writes.buffer]);
  }

  async function end(): Promise<void> {
    ending = true;
    await worker.terminate();
  }
}
