/** Starts the thread of a store. */
import { type ResourceLimits, type Transferable, Worker } from 'node:worker_threads';
import { type Store, StoreError } from '../contract.ts';
import { fromPlainError, type Ready, type Refusal, type ToThread, type Turn } from './protocol.ts';
import { createStoreProxy, type ProxiedStore } from './proxy.ts';

export interface ThreadOptions {
  readonly program: URL;
  /** Its name among the process's threads. */
  readonly name: string;
  readonly data: unknown;
  readonly limits?: ResourceLimits;
  /** Parts of `data` that move to the thread. */
  readonly moved?: readonly Transferable[];
}

/** Observers of the failures of a store in a thread. */
export interface FailureOptions {
  /** Called when a watch's sink threw. Unless given, the error is rethrown and uncaught. */
  readonly onSinkError?: (thrown: unknown) => void;
  /** The thread exited unexpectedly: the store is unusable until the process restarts. */
  readonly onFailure?: (error: StoreError) => void;
}

export interface StartedStore {
  readonly store: Store;
  /** @throws StoreError if the thread cannot open the store */
  readonly ready: Promise<unknown>;
}

/** Starts the thread in the background. Requests to the store wait for it. */
export function startStore(options: ThreadOptions & ProxiedStore & FailureOptions): StartedStore {
  const { onSinkError = throwLater, onFailure } = options;
  const thread = startThread<Ready, Turn, ToThread>(options, {
    onMessage: (turn) => proxy.onTurn(turn),
    onEnd(error) {
      proxy.onEnd(error);
      onFailure?.(error);
    },
  });
  const proxy = createStoreProxy({
    ...options,
    onSinkError,
    defer: setImmediate,
    // The memory of writes is transferred, and detached here.
    post: (message) => thread.post(message, message.writes === undefined ? [] : [message.writes.buffer]),
    end: thread.end,
  });
  thread.ready.catch(proxy.onEnd);
  return { store: proxy.store, ready: thread.ready };
}

/** @typeParam Out messages sent to it */
interface Thread<First, Out> {
  /** Its first message: resolves once the thread has started, or has completed its task.
   *  @throws StoreError */
  readonly ready: Promise<First>;
  /** Messages sent before the thread is ready wait for it. */
  readonly post: (message: Out, transfer: readonly ArrayBuffer[]) => void;
  readonly end: () => Promise<void>;
}

/** @typeParam In its message when it is ready */
interface ThreadListener<In> {
  readonly onMessage: (message: In) => void;
  /** The thread exited unexpectedly after it was ready. */
  readonly onEnd: (error: StoreError) => void;
}

/** Starts it in the background; `ready` resolves once it has started, or rejects with the reason. */
export function startThread<First extends Ready, In extends { readonly kind: string }, Out>(
  { program, name, data, limits, moved = [] }: ThreadOptions,
  listener: ThreadListener<In>,
): Thread<First, Out> {
  const worker = new Worker(program, {
    workerData: data,
    transferList: [...moved],
    name,
    // The program's own options may concern its main file, such as `--eval`.
    execArgv: [],
    ...(limits === undefined ? {} : { resourceLimits: limits }),
  });
  let failure: Error | undefined;
  let ending = false;

  const ready = new Promise<First>((resolve, reject) => {
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
    worker.on('message', (message: First | Refusal | In) => {
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
    post: (message, transfer) => worker.postMessage(message, transfer),
    async end() {
      ending = true;
      await worker.terminate();
    },
  };
}

function isReady<First extends Ready>(message: First | { readonly kind: string }): message is First {
  return message.kind === 'ready';
}

function isRefusal(message: { readonly kind: string }): message is Refusal {
  return message.kind === 'refused';
}

function throwLater(thrown: unknown): void {
  queueMicrotask(() => {
    throw thrown;
  });
}
