/** Starts the thread of a store. */
import { type ResourceLimits, Worker } from 'node:worker_threads';
import { StoreError } from './contract.ts';
import { fromPlainError, type PlainStoreError } from './plain-error.ts';
import type { PackedRecords } from './records.ts';

/** It has started, or has completed its task. */
export interface Ready {
  readonly kind: 'ready';
}

/** It failed to start, and exits. */
export interface Refusal {
  readonly kind: 'refused';
  readonly error: PlainStoreError;
}

interface Outgoing {
  readonly writes: PackedRecords | undefined;
}

/** @typeParam Out messages sent to it */
export interface Thread<Word, Out> {
  /** Its first message: resolves once the thread has started, or has completed its task.
   *  @throws StoreError */
  readonly ready: Promise<Word>;
  /** Messages sent before the thread is ready wait for it. The memory of writes is transferred, and detached
   *  here. */
  readonly post: (message: Out) => void;
  readonly end: () => Promise<void>;
}

export interface ThreadOptions {
  readonly program: URL;
  /** Its name among the process's threads. */
  readonly name: string;
  readonly data: unknown;
  readonly limits?: ResourceLimits;
}

/** @typeParam In its message when it is ready */
export interface ThreadListener<In> {
  readonly onMessage: (message: In) => void;
  /** The thread exited unexpectedly after it was ready. */
  readonly onEnd: (error: StoreError) => void;
}

/** Starts it in the background; `ready` resolves once it has started, or rejects with the reason. */
export function startThread<Word extends Ready, In extends { readonly kind: string }, Out extends Outgoing>(
  { program, name, data, limits }: ThreadOptions,
  listener: ThreadListener<In>,
): Thread<Word, Out> {
  const worker = new Worker(program, {
    workerData: data,
    name,
    // The program's own options may concern its main file, such as `--eval`.
    execArgv: [],
    ...(limits === undefined ? {} : { resourceLimits: limits }),
  });
  let failure: Error | undefined;
  let ending = false;

  const ready = new Promise<Word>((resolve, reject) => {
    let isUnderWay = false;
    worker.on('error', (error: Error) => {
      failure = error;
    });
    worker.on('exit', () => {
      if (ending) return;
      const detail = failure === undefined ? '' : `: ${failure.message}`;
      const error = new StoreError('unavailable', `the store thread exited${detail}`, { cause: failure });
      reject(error);
      if (isUnderWay) listener.onEnd(error);
    });
    worker.on('message', (message: Word | Refusal | In) => {
      if (isReady(message)) {
        isUnderWay = true;
        resolve(message);
      } else if (isRefusal(message)) {
        ending = true;
        // Only once the thread has exited and closed its files: the caller may then open them itself.
        worker.once('exit', () => reject(fromPlainError(message.error)));
        void worker.terminate();
      } else {
        listener.onMessage(message);
      }
    });
  });

  return {
    ready,
    post: (message) =>
      worker.postMessage(message, message.writes === undefined ? [] : [message.writes.buffer]),
    async end() {
      ending = true;
      await worker.terminate();
    },
  };
}

function isReady<Word extends Ready>(message: Word | { readonly kind: string }): message is Word {
  return message.kind === 'ready';
}

function isRefusal(message: { readonly kind: string }): message is Refusal {
  return message.kind === 'refused';
}
