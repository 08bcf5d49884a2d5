/** Starts the thread that does a store's work. */
import { type ResourceLimits, Worker } from 'node:worker_threads';
import { StoreError } from './contract.ts';
import { fromPlainError, type PlainStoreError } from './plain-error.ts';
import type { PackedRecords } from './records.ts';

/** It is under way, or has done what it was started for. */
export interface Ready {
  readonly kind: 'ready';
}

/** It could not begin, and ends. */
export interface Refusal {
  readonly kind: 'refused';
  readonly error: PlainStoreError;
}

interface Outgoing {
  readonly writes: PackedRecords | undefined;
}

/** @typeParam Out what is sent to it */
export interface Thread<Word, Out> {
  /** Its first word: resolves once the thread is under way, or has done what it was started for.
   *  @throws StoreError */
  readonly ready: Promise<Word>;
  /** What is sent before the thread is ready waits for it. The memory of writes is handed over, and gone here. */
  readonly post: (message: Out) => void;
  readonly end: () => Promise<void>;
}

export interface ThreadOptions {
  readonly program: URL;
  /** What it is called among the process's threads. */
  readonly name: string;
  readonly data: unknown;
  readonly limits?: ResourceLimits;
}

/** @typeParam In what it sends when it is ready */
export interface ThreadListener<In> {
  readonly onMessage: (message: In) => void;
  /** The thread ended by itself after it was ready, which it never should. */
  readonly onEnd: (error: StoreError) => void;
}

/** Starts it in the background; `ready` tells when it is there, or why it is not. */
export function startThread<Word extends Ready, In extends { readonly kind: string }, Out extends Outgoing>(
  { program, name, data, limits }: ThreadOptions,
  listener: ThreadListener<In>,
): Thread<Word, Out> {
  const worker = new Worker(program, {
    workerData: data,
    name,
    // The program's own options may be about its main file, such as `--eval`.
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
      const error = new StoreError('unavailable', `the store's thread ended${detail}`, { cause: failure });
      reject(error);
      if (isUnderWay) listener.onEnd(error);
    });
    worker.on('message', (message: Word | Refusal | In) => {
      if (isReady(message)) {
        isUnderWay = true;
        resolve(message);
      } else if (isRefusal(message)) {
        ending = true;
        // Not before the thread is gone, and with it what it had open: whoever is refused may open it himself.
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
