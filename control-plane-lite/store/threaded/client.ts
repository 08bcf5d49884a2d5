/** A store that lives in another thread, as it is used on this side. Requests of one turn of the event loop share a
 *  message, and so do the answers: its cost is theirs together. */
import { type Store, StoreError } from '../contract.ts';
import { fromPlainError } from '../plain-error.ts';
import { RecordReader, readItem } from '../records.ts';
import type { Step, Turn } from './protocol.ts';
import { createSender, type Sender, type SenderDeps } from './sender.ts';
import { createWatches, type Watches } from './watches.ts';

export interface ClientDeps extends SenderDeps, Pick<Store, 'isShared' | 'revisionStep'> {
  /** Ends the thread. */
  readonly end: () => Promise<void>;
  /** Told of a watch's sink that threw; its watch is over. */
  readonly onSinkError: (thrown: unknown) => void;
}

export interface StoreClient {
  readonly store: Store;
  readonly onTurn: (turn: Turn) => void;
  /** The thread has ended: what is awaited fails, and all that is asked from now on. */
  readonly onEnd: (error: StoreError) => void;
}

/** Those on this side who may be waiting. */
interface Listeners extends Pick<Sender, 'writes' | 'questions'> {
  readonly watches: Watches;
}

/** The store as this side sees it, and what is to be told of the thread's messages and of its end. */
export function createStoreClient(deps: ClientDeps): StoreClient {
  const sender = createSender(deps);
  const { writes, questions } = sender;
  const watches = createWatches({
    onSinkError: deps.onSinkError,
    ask(request) {
      questions.tell(request);
      sender.sendSoon();
    },
  });
  const listeners: Listeners = { writes, questions, watches };
  let over: StoreError | undefined;
  let closing: Promise<void> | undefined;

  function finish(error: StoreError): void {
    over ??= error;
    writes.failAll(over);
    questions.failAll(over);
    watches.endAll(over);
  }

  async function close(): Promise<void> {
    if (over === undefined) {
      finish(new StoreError('closed', 'the store is closed'));
      sender.sendSoon();
      // If the thread fails instead, there is nothing left to close.
      await questions.run({ kind: 'close' }).catch(() => undefined);
    }
    await deps.end();
  }

  /** Has `queue` put something in a queue and sends it soon, unless the store is over. */
  function ask<T>(queue: () => Promise<T>): Promise<T> {
    if (over !== undefined) return Promise.reject(over);
    sender.sendSoon();
    return queue();
  }

  const store: Store = {
    isShared: deps.isShared,
    revisionStep: deps.revisionStep,
    currentRevision() {
      const answer = ask(questions.currentRevision);
      // Whoever asks asks for many who wait (see `shareQuestion` of the cache): nobody else is waited for.
      sender.sendNow();
      return answer;
    },
    get: (key) => ask(() => questions.get(key)),
    range: (prefix, { revision, after, limit } = {}) =>
      ask(() => questions.range({ kind: 'range', prefix, revision, after, limit })),
    put: (key, value, expected) => ask(() => writes.add(key, value, expected === 'absent' ? 0 : expected)),
    delete: (key, expected) => ask(() => writes.add(key, undefined, expected)),
    compact: (revision) => ask(() => questions.run({ kind: 'compact', revision })),
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

/** @param reader stands before the step's records, and then behind them */
function giveOut({ writes, questions, watches }: Listeners, step: Step, reader: RecordReader): void {
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
      return questions.onAnswer(step, reader);
    default:
      step satisfies never;
  }
}
