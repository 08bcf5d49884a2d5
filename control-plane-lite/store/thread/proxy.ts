/** Proxy of a store that runs in another thread. Requests of one turn of the event loop share a message, and
 *  so do their responses: they share its cost. */
import { type Store, StoreError, type StoreEvent } from '../contract.ts';
import { RecordReader } from '../records.ts';
import { fromPlainError, type Reply, type Step, type ToThread, type Turn } from './protocol.ts';
import { createPendingRequests, createWrites, type PendingRequests, type Writes } from './requests.ts';
import { createWatches, type Watches } from './watches.ts';

/** The store in the thread. */
export interface ProxiedStore extends Pick<Store, 'isShared' | 'revisionStep'> {
  /** Number of messages with writes in flight, while further writes are gathered; unlimited unless given. */
  readonly maxInFlight?: number;
}

export interface ProxyDeps extends ProxiedStore {
  readonly post: (message: ToThread) => void;
  /** Runs the work at the end of this turn's arrivals. */
  readonly defer: (work: () => void) => void;
  /** Terminates the thread. */
  readonly end: () => Promise<void>;
  /** Called when a watch's sink threw; its watch is over. */
  readonly onSinkError: (thrown: unknown) => void;
}

export interface StoreProxy {
  readonly store: Store;
  readonly onTurn: (turn: Turn) => void;
  /** The thread has exited: pending and future requests fail. */
  readonly onEnd: (error: StoreError) => void;
}

/** Bytes delivered and not yet reported to the thread; beyond it they are reported soon. */
const TAKEN_BYTES = 1024 * 1024;

/** The store on this side, with the handlers of the thread's messages and of its exit. */
export function createStoreProxy(deps: ProxyDeps): StoreProxy {
  const { isShared, revisionStep, maxInFlight = Number.POSITIVE_INFINITY } = deps;
  const watches = createWatches({
    onSinkError: deps.onSinkError,
    request(request) {
      requests.send(request);
      sender.sendSoon();
    },
  });
  // The events of writes to a shared store come from the store, together with those of other processes.
  const writes = createWrites({ maxInFlight, publish: isShared ? undefined : publish });
  const requests = createPendingRequests();
  const sender = createSender(deps, writes, requests);
  /** Of a store that is not shared, once it is known: only the writes from here change it. */
  let newest: number | undefined;
  let over: StoreError | undefined;
  let closing: Promise<void> | undefined;

  function publish(events: readonly StoreEvent[]): void {
    newest = events.at(-1)?.revision ?? newest;
    watches.publish(events);
  }

  async function readRevision(): Promise<number> {
    const revision = await requests.currentRevision();
    // A write may have been acknowledged since the response arrived.
    if (!isShared) newest = Math.max(revision, newest ?? 0);
    return revision;
  }

  function finish(error: StoreError): void {
    over ??= error;
    writes.failAll(over);
    requests.failAll(over);
    watches.endAll(over);
  }

  async function close(): Promise<void> {
    if (over === undefined) {
      sender.close();
      // If the thread fails instead, there is nothing left to close.
      await requests.run({ kind: 'close' }).catch(() => undefined);
      finish(closedError());
    }
    await deps.end();
  }

  /** Queues work through `queue` and sends it soon, unless the store is closed. */
  function submit<T>(queue: () => Promise<T>): Promise<T> {
    if (over !== undefined || closing !== undefined) return Promise.reject(over ?? closedError());
    sender.sendSoon();
    return queue();
  }

  const store: Store = {
    isShared,
    revisionStep,
    currentRevision() {
      const known = newest;
      const reply = submit(known === undefined ? readRevision : () => Promise.resolve(known));
      if (known !== undefined) return reply;
      // The caller coalesces the queries of many waiters (see `coalesce` of the cache): no need to wait for
      // others.
      sender.sendNow();
      return reply;
    },
    get: (key) => submit(() => requests.get(key)),
    range: (prefix, { revision, after, limit } = {}) =>
      submit(() => requests.range({ kind: 'range', prefix, revision, after, limit })),
    put: (key, value, expected) => submit(() => writes.add(key, value, expected === 'absent' ? 0 : expected)),
    delete: (key, expected) => submit(() => writes.add(key, undefined, expected)),
    compact: (revision) => submit(() => requests.run({ kind: 'compact', revision })),
    watch(prefix, after, sink) {
      const watch = watches.open(prefix, after, sink);
      const error = over;
      if (error !== undefined) queueMicrotask(() => watches.endAll(error));
      return watch;
    },
    close() {
      closing ??= close();
      return closing;
    },
  };

  return {
    store,
    onTurn(turn) {
      takeSteps({ writes, requests, watches }, turn);
      sender.taken(turn.records.length);
    },
    onEnd: finish,
  };
}

interface Sender {
  /** Sends everything that comes up until the end of this turn of the event loop. */
  readonly sendSoon: () => void;
  readonly sendNow: () => void;
  /** This many bytes of records were delivered. */
  readonly taken: (bytes: number) => void;
  /** From now on, writes do not wait for others in flight. */
  readonly close: () => void;
}

function createSender({ post, defer }: ProxyDeps, writes: Writes, requests: PendingRequests): Sender {
  let isDue = false;
  let isClosing = false;
  let takenBytes = 0;

  function sendNow(): void {
    isDue = false;
    const message = { writes: writes.take(isClosing), requests: requests.take(), takenBytes };
    takenBytes = 0;
    if (message.writes === undefined && message.requests.length === 0 && message.takenBytes === 0) return;
    post(message);
  }

  function sendSoon(): void {
    if (isDue) return;
    isDue = true;
    defer(sendNow);
  }

  return {
    sendSoon,
    sendNow,
    taken(bytes) {
      takenBytes += bytes;
      if (takenBytes > TAKEN_BYTES || writes.areDue()) sendSoon();
    },
    close() {
      isClosing = true;
      sendSoon();
    },
  };
}

interface Parts {
  readonly writes: Writes;
  readonly requests: PendingRequests;
  readonly watches: Watches;
}

/** Takes the steps of a message in order. */
function takeSteps({ writes, requests, watches }: Parts, { records, outcomes, steps }: Turn): void {
  const reader = new RecordReader(records);
  let at = 0;
  for (const step of steps) {
    if (step.kind === 'written') at = writes.settle(outcomes, at, step.count, reader);
    else if (step.kind === 'notWritten') writes.fail(step.write, fromPlainError(step.error));
    else if ('id' in step) requests.onReply(step, reader);
    else followStep(watches, step, reader);
  }
}

type WatchStep = Exclude<Step, Reply | { readonly kind: 'written' | 'notWritten' }>;

function followStep(watches: Watches, step: WatchStep, reader: RecordReader): void {
  switch (step.kind) {
    case 'events':
      return watches.onEvents(step.watch, step.count, reader);
    case 'live':
      return watches.onLive(step.watch, step.revision);
    case 'progress':
      return watches.onProgress(step.watch, step.revision);
    case 'ended':
      return watches.onEnd(step.watch, fromPlainError(step.error));
    default:
      step satisfies never;
  }
}

function closedError(): StoreError {
  return new StoreError('closed', 'the store is closed');
}
