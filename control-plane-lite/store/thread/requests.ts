/** Requests to the thread and their pending responses. */
import { createTransientMap } from '#api/kit/transient.ts';
import { type RangeResult, type StoredItem, StoreError } from '../contract.ts';
import { type RecordReader, readItem } from '../records.ts';
import { fromPlainError, type Reply, type Request, type WatchRequest } from './protocol.ts';

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
