/** Writes and requests to the thread: those that wait to be sent, and those whose response is pending. */
import { createTransientMap } from '#api/kit/transient.ts';
import {
  type RangeResult,
  type StoredItem,
  StoreError,
  type StoreEvent,
  type WriteResult,
} from '../contract.ts';
import {
  type PackableRecord,
  type PackedRecords,
  packRecords,
  type RecordReader,
  readItem,
  toEvent,
} from '../records.ts';
import { fromPlainError, type Reply, type Request, type Turn, type WatchRequest } from './protocol.ts';

export interface Writes {
  /** @param value undefined: to be deleted
   *  @param expected the revision, 0 for absent */
  readonly add: (key: string, value: Buffer | undefined, expected: number) => Promise<WriteResult>;
  /** Takes all unsent writes, to be sent; none while as many messages as allowed are in flight.
   *  @param isLast takes them in any case */
  readonly take: (isLast: boolean) => PackedRecords | undefined;
  /** Settles the outcomes of the turn from this index on; returns the index behind them. Events are published
   *  before a writer gets its result. */
  readonly settle: (outcomes: Turn['outcomes'], from: number, count: number, reader: RecordReader) => number;
  readonly fail: (write: number, error: StoreError) => void;
  readonly failAll: (error: StoreError) => void;
  /** Whether `take` would return some. */
  readonly areDue: () => boolean;
}

export interface WritesOptions {
  /** Number of messages with writes in flight, while further writes are gathered. */
  readonly maxInFlight: number;
  /** Receives the events of successful writes, in order. */
  readonly publish: ((events: readonly StoreEvent[]) => void) | undefined;
}

interface Writer extends PackableRecord {
  readonly value: Buffer | undefined;
  readonly resolve: (result: WriteResult) => void;
  readonly reject: (error: StoreError) => void;
}

export function createWrites({ maxInFlight, publish }: WritesOptions): Writes {
  /** By their numbers, which the thread counts as well. */
  const writers = createTransientMap<number, Writer>();
  let unsent: Writer[] = [];
  let lastSent = 0;
  /** Number of the last write of each message in flight, oldest first. */
  let inFlight: number[] = [];

  function taken(write: number): Writer | undefined {
    const writer = writers.get(write);
    writers.delete(write);
    if (write >= (inFlight[0] ?? Number.POSITIVE_INFINITY)) inFlight = inFlight.filter((end) => end > write);
    return writer;
  }

  const areDue = (): boolean => unsent.length > 0 && inFlight.length < maxInFlight;

  return {
    add: (key, value, number) =>
      new Promise((resolve, reject) => {
        unsent.push({ key, value, number, resolve, reject });
      }),
    areDue,
    take(isLast) {
      if (!areDue() && !(isLast && unsent.length > 0)) return undefined;
      for (const writer of unsent) {
        lastSent += 1;
        writers.set(lastSent, writer);
      }
      if (maxInFlight < Number.POSITIVE_INFINITY) inFlight.push(lastSent);
      const packed = packRecords(unsent);
      unsent = [];
      return packed;
    },
    settle(outcomes, from, count, reader) {
      const events: StoreEvent[] = [];
      const settled: (Writer | undefined)[] = [];
      const results: WriteResult[] = [];
      const end = from + 2 * count;
      for (let at = from; at < end; at += 2) {
        const writer = taken(outcomes[at] ?? 0);
        const revision = outcomes[at + 1] ?? 0;
        settled.push(writer);
        if (revision > 0) {
          if (writer !== undefined && publish !== undefined) {
            events.push(toEvent(writer.key, writer.value, revision));
          }
          results.push({ ok: true, revision });
        } else results.push({ ok: false, current: revision === 0 ? undefined : readItem(reader) });
      }
      if (events.length > 0) publish?.(events);
      for (let i = 0; i < count; i += 1) {
        const result = results[i];
        if (result !== undefined) settled[i]?.resolve(result);
      }
      return end;
    },
    fail: (write, error) => taken(write)?.reject(error),
    failAll(error) {
      const all = [...writers.values(), ...unsent];
      writers.clear();
      unsent = [];
      for (const { reject } of all) reject(error);
    },
  };
}

type NumberedRequest = Exclude<Request, WatchRequest>;
/** A request before it is numbered. */
type NewRequest = NumberedRequest extends infer R
  ? R extends NumberedRequest
    ? Omit<R, 'id'>
    : never
  : never;

export interface PendingRequests {
  readonly currentRevision: () => Promise<number>;
  readonly get: (key: string) => Promise<StoredItem | undefined>;
  readonly range: (request: Extract<NewRequest, { kind: 'range' }>) => Promise<RangeResult>;
  readonly run: (request: Extract<NewRequest, { kind: 'compact' | 'close' }>) => Promise<void>;
  /** Queues a watch request, which gets no response. */
  readonly send: (request: WatchRequest) => void;
  /** Takes all unsent requests, to be sent. */
  readonly take: () => readonly Request[];
  readonly onReply: (reply: Reply, reader: RecordReader) => void;
  readonly failAll: (error: StoreError) => void;
}

interface PendingRequest {
  readonly onReply: (reply: Reply, reader: RecordReader) => void;
  readonly reject: (error: StoreError) => void;
}

export function createPendingRequests(): PendingRequests {
  const pending = createTransientMap<number, PendingRequest>();
  let waiting: Request[] = [];
  let last = 0;

  /** @param read converts the response; returns undefined if another one continues it */
  function submit<T>(
    unnumbered: NewRequest,
    read: (reply: Reply, reader: RecordReader) => { readonly value: T } | undefined,
  ): Promise<T> {
    last += 1;
    const id = last;
    waiting.push({ ...unnumbered, id });
    return new Promise((resolve, reject) => {
      pending.set(id, {
        onReply(reply, reader) {
          const result = read(reply, reader);
          if (result === undefined) return;
          pending.delete(id);
          resolve(result.value);
        },
        reject,
      });
    });
  }

  return {
    currentRevision: () =>
      submit({ kind: 'currentRevision' }, (reply) => ({ value: replyOf(reply, 'revision').revision })),
    get: (key) =>
      submit({ kind: 'get', key }, (reply, reader) => ({
        value: replyOf(reply, 'items').count === 0 ? undefined : readItem(reader),
      })),
    range(request) {
      const items: StoredItem[] = [];
      return submit(request, (reply, reader) => {
        const { count, revision, more, isLast } = replyOf(reply, 'items');
        for (let i = 0; i < count; i += 1) {
          const item = readItem(reader);
          if (item !== undefined) items.push(item);
        }
        return isLast ? { value: { revision, items, more } } : undefined;
      });
    },
    run: (request) =>
      submit(request, (reply) => {
        replyOf(reply, 'done');
        return { value: undefined };
      }),
    send: (request) => void waiting.push(request),
    take() {
      const taken = waiting;
      waiting = [];
      return taken;
    },
    onReply(reply, reader) {
      const request = pending.get(reply.id);
      if (reply.kind !== 'failed') return request?.onReply(reply, reader);
      pending.delete(reply.id);
      request?.reject(fromPlainError(reply.error));
    },
    failAll(error) {
      const all = [...pending.values()];
      pending.clear();
      waiting = [];
      for (const { reject } of all) reject(error);
    },
  };
}

function replyOf<K extends Reply['kind']>(reply: Reply, kind: K): Extract<Reply, { kind: K }> {
  if (isOf(reply, kind)) return reply;
  throw new StoreError(
    'unavailable',
    `the store thread returned an unexpected response of kind ${reply.kind}`,
  );
}

function isOf<K extends Reply['kind']>(reply: Reply, kind: K): reply is Extract<Reply, { kind: K }> {
  return reply.kind === kind;
}
