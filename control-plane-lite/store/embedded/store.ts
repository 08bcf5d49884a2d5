/** Embedded store in an SQLite database on this machine's disk. A thread of its own waits for the disk; this
 *  side tracks requests and watches. Only one process at a time has it open; others can copy it
 *  (`backupStore`). */
import { type Store, StoreError } from '../contract.ts';
import { fromPlainError } from '../plain-error.ts';
import type { ToMain } from './protocol.ts';
import { createRequests, type Requests } from './requests.ts';
import { type DiskThread, startDiskThread } from './thread.ts';
import { createWatches, type Watches } from './watches.ts';
import { createWriteQueue, type WriteQueue } from './write-queue.ts';

export interface EmbeddedStoreOptions {
  /** A folder for the store alone; created if it doesn't exist. */
  readonly dir: string;
  /** Whether to read the whole file and check it for damage before serving it; true unless given. */
  readonly check?: boolean;
  /** Longest value in bytes; 64 MiB unless given. */
  readonly maxValueBytes?: number;
  /** Called when a watch's sink threw. Unless given, the error is rethrown and uncaught. */
  readonly onSinkError?: (thrown: unknown) => void;
  /** The store's thread exited unexpectedly: the store is unusable until the process restarts. */
  readonly onFailure?: (error: StoreError) => void;
}

/** Far above the JSON of any object that is admitted: 1.5 MiB of control characters have 9 MiB of it. */
const MAX_VALUE_BYTES = 64 * 1024 * 1024;

/** While the thread is busy with one batch and has the next at hand, writes are gathered: few large messages
 *  and transactions cost both threads less than many small ones, and no write waits longer for it. */
const MAX_UNDER_WAY = 2;

/** Opens the store; creates it if it doesn't exist.
 *  @throws StoreError: `corrupt`, with advice on how to restore; `unavailable` if another process has it or a
 *  newer version of this program created it; `readOnly`, `noSpace` */
export async function createEmbeddedStore(options: EmbeddedStoreOptions): Promise<Store> {
  const { dir, check = true, maxValueBytes = MAX_VALUE_BYTES, onFailure } = options;
  const state = createState(options.onSinkError ?? throwLater);
  const thread = startDiskThread(
    { task: 'serve', dir, check },
    {
      onMessage: state.onMessage,
      onEnd(error) {
        state.finish(error);
        onFailure?.(error);
      },
    },
  );
  const { revision } = await thread.ready;
  state.begin(thread, revision);
  return toStore(state, maxValueBytes);
}

interface State {
  readonly begin: (thread: DiskThread, revision: number) => void;
  readonly onMessage: (message: ToMain) => void;
  /** Rejects new requests and fails the pending ones. */
  readonly finish: (error: StoreError) => void;
  readonly revision: () => number;
  /** Queues work through `send` and posts it soon, unless the store is closed. */
  readonly request: <T>(send: (queues: Queues) => Promise<T>) => Promise<T>;
  readonly watches: Watches;
  readonly close: () => Promise<void>;
}

interface Queues {
  readonly writes: WriteQueue;
  readonly requests: Requests;
}

function createState(onSinkError: (thrown: unknown) => void): State {
  const writes = createWriteQueue();
  const requests = createRequests();
  let thread: DiskThread | undefined;
  let revision = 0;
  let over: StoreError | undefined;
  let closing: Promise<void> | undefined;
  let flushing = false;

  const watches = createWatches({
    revision: () => revision,
    history(prefix, after, done) {
      if (over !== undefined) return queueMicrotask(() => done(over ?? closedError()));
      requests.history(prefix, after, done);
      scheduleFlush();
    },
    onSinkError,
  });

  /** Guaranteed order: all watches have the event before the writer has its result. */
  function onWritten(outcomes: Float64Array, conflicts: Uint8Array): void {
    const settled = writes.onWritten(outcomes, conflicts);
    if (writes.waiting > 0) scheduleFlush();
    revision = settled.revision ?? revision;
    if (settled.events.length > 0) watches.publish(settled.events);
    settled.resolveAll();
  }

  function scheduleFlush(): void {
    if (flushing) return;
    flushing = true;
    // Includes requests that other connections bring in this turn of the event loop.
    setImmediate(() => {
      flushing = false;
      if (over === undefined) flush();
    });
  }

  function flush(): void {
    const mayWrite = writes.underWay < MAX_UNDER_WAY || closing !== undefined;
    const message = { writes: mayWrite ? writes.take() : undefined, requests: requests.take() };
    if (message.writes !== undefined || message.requests.length > 0) thread?.post(message);
  }

  function onWriteFailed(pieces: number, error: StoreError): void {
    writes.onFailed(pieces, error);
    if (writes.waiting > 0) scheduleFlush();
  }

  function finish(error: StoreError): void {
    if (over !== undefined) return;
    over = error;
    writes.failAll(error);
    requests.failAll(error);
    watches.endAll(error);
  }

  async function close(): Promise<void> {
    if (over === undefined) {
      scheduleFlush();
      // If the thread fails instead, its files are as good as after a crash.
      await requests.run({ kind: 'close' }).catch(() => undefined);
    }
    finish(closedError());
    await thread?.end();
  }

  return {
    begin(started, newest) {
      thread = started;
      revision = newest;
    },
    onMessage(message) {
      if (message.kind === 'written') onWritten(message.outcomes, message.conflicts);
      else if (message.kind === 'writeFailed') onWriteFailed(message.messages, fromPlainError(message.error));
      else requests.onReply(message);
    },
    finish,
    revision: () => revision,
    request(send) {
      if (over !== undefined || closing !== undefined) return Promise.reject(over ?? closedError());
      scheduleFlush();
      return send({ writes, requests });
    },
    watches,
    close() {
      closing ??= close();
      return closing;
    },
  };
}

function toStore(state: State, maxValueBytes: number): Store {
  const { request } = state;
  return {
    isShared: false,
    revisionStep: 1,
    currentRevision: () => request(() => Promise.resolve(state.revision())),
    get: (key) => request(({ requests }) => requests.get(key)),
    range: (prefix, { revision, after, limit } = {}) =>
      request(({ requests }) => requests.range({ kind: 'range', prefix, revision, after, limit })),
    put: (key, value, expected) =>
      value.length > maxValueBytes
        ? Promise.reject(tooLarge(key, value.length, maxValueBytes))
        : request(({ writes }) => writes.add(key, value, expected)),
    delete: (key, expected) => request(({ writes }) => writes.add(key, undefined, expected)),
    watch: (prefix, afterRevision, sink) => state.watches.open(prefix, afterRevision, sink),
    compact: (revision) => request(({ requests }) => requests.run({ kind: 'compact', revision })),
    close: () => state.close(),
  };
}

function closedError(): StoreError {
  return new StoreError('closed', 'the store is closed');
}

function tooLarge(key: string, bytes: number, maxBytes: number): StoreError {
  return new StoreError(
    'tooLarge',
    `the value of ${key} has ${bytes} bytes, more than the limit of ${maxBytes}`,
  );
}

function throwLater(thrown: unknown): void {
  queueMicrotask(() => {
    throw thrown;
  });
}
