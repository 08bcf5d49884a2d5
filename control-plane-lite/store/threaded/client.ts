/** Client of a store that runs in another thread. Requests of one turn of the event loop share a message, and
 *  so do their responses: they share its cost. */
import { type Store, StoreError } from '../contract.ts';
import { fromPlainError } from '../plain-error.ts';
import { RecordReader, readItem } from '../records.ts';
import type { Step, Turn } from './protocol.ts';
import { createSender, type Sender, type SenderDeps } from './sender.ts';
import { createWatches, type Watches } from './watches.ts';

export interface ClientDeps extends SenderDeps, Pick<Store, 'isShared' | 'revisionStep'> {
  /** Terminates the thread. */
  readonly end: () => Promise<void>;
  /** Called when a watch's sink threw; its watch is over. */
  readonly onSinkError: (thrown: unknown) => void;
}

export interface StoreClient {
  readonly store: Store;
  readonly onTurn: (turn: Turn) => void;
  /** The thread has exited: pending and future requests fail. */
  readonly onEnd: (error: StoreError) => void;
}

/** Pending requests, writes and watches of this side. */
interface Listeners extends Pick<Sender, 'writes' | 'requests'> {
  readonly watches: Watches;
}

/** The store on this side, with the handlers of the thread's messages and of its exit. */
export function createStoreClient(deps: ClientDeps): StoreClient {
  const sender = createSender(deps);
  const { writes, requests } = sender;
  const watches = createWatches({
    onSinkError: deps.onSinkError,
    ask(request) {
      requests.send(request);
      sender.sendSoon();
    },
  });
  const listeners: Listeners = { writes, requests, watches };
  let over: StoreError | undefined;
  let closing: Promise<void> | undefined;

  function finish(error: StoreError): void {
    over ??= error;
    writes.failAll(over);
    requests.failAll(over);
    watches.endAll(over);
  }

  async function close(): Promise<void> {
    if (over === undefined) {
      finish(new StoreError('closed', 'the store is closed'));
      sender.sendSoon();
      // If the thread fails instead, there is nothing left to close.
      await requests.run({ kind: 'close' }).catch(() => undefined);
    }
    await deps.end();
  }

  /** Queues work through `queue` and sends it soon, unless the store is closed. */
  function ask<T>(queue: () => Promise<T>): Promise<T> {
    if (over !== undefined) return Promise.reject(over);
    sender.sendSoon();
    return queue();
  }

  const store: Store = {
    isShared: deps.isShared,
    revisionStep: deps.revisionStep,
    currentRevision() {
      const reply = ask(requests.currentRevision);
      // The caller coalesces the queries of many waiters (see `coalesce` of the cache): no need to wait for
      // others.
      sender.sendNow();
      return reply;
    },
    get: (key) => ask(() => requests.get(key)),
    range: (prefix, { revision, after, limit } = {}) =>
      ask(() => requests.range({ kind: 'range', prefix, revision, after, limit })),
    put: (key, value, expected) => ask(() => writes.add(key, value, expected === 'absent' ? 0 : expected)),
    delete: (key, expected) => ask(() => writes.add(key, undefined, expected)),
    compact: (revision) => ask(() => requests.run({ kind: 'compact', revision })),
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

  function onTurn({ records, written, steps }: Turn): void {
    const reader = new RecordReader(records);
    for (const step of steps) giveOut(listeners, step, reader);
    for (let i = 0; i < written.length; i += 2) {
      writes.settle(written[i] ?? 0, { ok: true, revision: written[i + 1] ?? 0 });
    }
    sender.taken(records.length);
  }

  return { store, onTurn, onEnd: finish };
}

/** @param reader positioned before the step's records, and then behind them */
function giveOut({ writes, requests, watches }: Listeners, step: Step, reader: RecordReader): void {
  switch (step.kind) {
    case 'events':
      return watches.onEvents(step.watch, step.count, reader);
    case 'progress':
      return watches.onProgress(step.watch, step.revision);
    case 'ended':
      return watches.onEnd(step.watch, fromPlainError(step.error));
    case 'conflict': {
      const current = step.count === 0 ? undefined : readItem(reader);
      return writes.settle(step.write, { ok: false, current });
    }
    case 'notWritten':
      return writes.fail(step.write, fromPlainError(step.error));
    case 'items':
    case 'revision':
    case 'done':
    case 'failed':
      return requests.onReply(step, reader);
    default:
      step satisfies never;
  }
}
