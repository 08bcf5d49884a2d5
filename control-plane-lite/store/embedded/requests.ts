/** Requests to the store's thread and their pending replies. */
import { callListener } from '#api/kit/listeners.ts';
import { createTransientMap } from '#api/kit/transient.ts';
import { type RangeResult, type StoredItem, StoreError } from '../contract.ts';
import { fromPlainError } from '../plain-error.ts';
import { RecordReader, readEvent, readItem } from '../records.ts';
import type { Request, ToMain } from './protocol.ts';
import type { HistoryPiece } from './watches.ts';

/** A reply, or the error instead of it. */
type Reply = Extract<ToMain, { readonly id: number }> | StoreError;

/** A request before it is numbered. */
type NewRequest = Request extends infer R ? (R extends Request ? Omit<R, 'id'> : never) : never;

export interface Requests {
  readonly get: (key: string) => Promise<StoredItem | undefined>;
  readonly range: (request: Extract<NewRequest, { kind: 'range' }>) => Promise<RangeResult>;
  readonly history: (prefix: string, after: number, done: (piece: HistoryPiece | StoreError) => void) => void;
  readonly run: (request: Extract<NewRequest, { kind: 'compact' | 'close' }>) => Promise<void>;
  /** Takes all unsent requests, to be sent. */
  readonly take: () => readonly Request[];
  readonly onReply: (reply: Exclude<Reply, StoreError>) => void;
  readonly failAll: (error: StoreError) => void;
}

export function createRequests(): Requests {
  const awaited = createTransientMap<number, (reply: Reply) => void>();
  let waiting: Request[] = [];
  let lastId = 0;

  /** Calls `onReply` with each reply, of which there can be several. */
  function ask(request: NewRequest, onReply: (reply: Reply) => void): void {
    lastId += 1;
    awaited.set(lastId, onReply);
    waiting.push({ ...request, id: lastId });
  }

  return {
    get: (key) =>
      new Promise((resolve, reject) => {
        ask({ kind: 'get', key }, (reply) => {
          if (isReply(reply, 'items')) resolve(readItem(new RecordReader(reply.items)));
          else reject(errorOf(reply));
        });
      }),
    range: (request) =>
      new Promise((resolve, reject) => {
        const { limit } = request;
        const items: StoredItem[] = [];
        // One more than requested reveals whether there are more.
        ask({ ...request, limit: limit === undefined ? undefined : limit + 1 }, (reply) => {
          if (!isReply(reply, 'items')) return reject(errorOf(reply));
          readItems(reply.items, items);
          if (!reply.done) return;
          const more = limit !== undefined && items.length > limit;
          resolve({ revision: reply.revision, items: more ? items.slice(0, limit) : items, more });
        });
      }),
    history(prefix, after, done) {
      ask({ kind: 'history', prefix, after }, (reply) => {
        done(
          isReply(reply, 'history') ? { events: readEvents(reply.events), upTo: reply.upTo } : errorOf(reply),
        );
      });
    },
    run: (request) =>
      new Promise((resolve, reject) => {
        ask(request, (reply) => {
          if (isReply(reply, 'done')) resolve();
          else reject(errorOf(reply));
        });
      }),
    take() {
      const taken = waiting;
      waiting = [];
      return taken;
    },
    onReply(reply) {
      const callback = awaited.get(reply.id);
      if (reply.kind !== 'items' || reply.done) awaited.delete(reply.id);
      callback?.(reply);
    },
    failAll(error) {
      const callbacks = [...awaited.values()];
      awaited.clear();
      waiting = [];
      for (const callback of callbacks) callListener('store request', callback, error);
    },
  };
}

function isReply<K extends Exclude<Reply, StoreError>['kind']>(
  reply: Reply,
  kind: K,
): reply is Extract<Reply, { readonly kind: K }> {
  return !(reply instanceof StoreError) && reply.kind === kind;
}

function errorOf(reply: Reply): StoreError {
  if (reply instanceof StoreError) return reply;
  if (reply.kind === 'failed') return fromPlainError(reply.error);
  return new StoreError(
    'unavailable',
    `the store thread returned an unexpected response of kind ${reply.kind}`,
  );
}

function readItems(packed: Uint8Array, into: StoredItem[]): void {
  const reader = new RecordReader(packed);
  for (let item = readItem(reader); item !== undefined; item = readItem(reader)) into.push(item);
}

function readEvents(packed: Uint8Array): HistoryPiece['events'] {
  const reader = new RecordReader(packed);
  const events: HistoryPiece['events'][number][] = [];
  for (let event = readEvent(reader); event !== undefined; event = readEvent(reader)) events.push(event);
  return events;
}
