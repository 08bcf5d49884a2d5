/** A store in an etcd cluster, which several API servers can share. Reads go through the cluster's leader and quorum.
 *
 *  A write whose answer is lost fails as `unavailable` though it may have been done: it is never sent twice, or the
 *  writer would be told of a conflict with itself. Revisions are etcd's own and rise with every write of anyone. */
import { Buffer } from 'node:buffer';
import type { DecodedMessage } from '#api/codec/protobuf/fields.ts';
import { type Clock, systemClock } from '#api/kit/clock.ts';
import {
  type Expected,
  type RangeOptions,
  type RangeResult,
  type Store,
  type StoredItem,
  StoreError,
  type WriteResult,
} from '../contract.ts';
import { prefixEnd } from '../keys.ts';
import { toStoreError } from './failure.ts';
import {
  bytesIn,
  createMethods,
  headerRevision,
  type Method,
  type Methods,
  messageIn,
  messagesIn,
  numberIn,
} from './messages.ts';
import { answersInOrder } from './progress.ts';
import { createServers, type EtcdTls } from './servers.ts';
import { type EtcdWatch, startWatch, type WatchDeps } from './watch.ts';

export interface EtcdStoreOptions {
  /** `https://host:2379`, `http://…`, or without a scheme: with TLS if `tls` is given. */
  readonly servers: readonly string[];
  readonly tls?: EtcdTls;
  /** Stands before every key, so that one cluster can serve several; none unless given. */
  readonly prefix?: string;
  /** Longest time for a call, in ms; 10 s unless given. */
  readonly timeoutMs?: number;
  readonly clock?: Clock;
  /** Told of a watch's sink that threw. Unless given, it is thrown again, where nobody catches it. */
  readonly onSinkError?: (thrown: unknown) => void;
}

const TIMEOUT_MS = 10_000;

/** Where the answer's revision is what is asked for. */
const ANY_KEY = Buffer.from('/');

/** Connects in the background: calls wait for a server for as long as they may take.
 *  @throws StoreError `unavailable` if an address can't be used */
export function createEtcdStore(options: EtcdStoreOptions): Store {
  const { prefix = '', timeoutMs = TIMEOUT_MS, clock = systemClock, onSinkError = throwLater } = options;
  const methods = createMethods();
  const servers = createServers({ ...options, timeoutMs });
  const watches = new Set<EtcdWatch>();
  const keys = createKeys(prefix);
  let closed = false;

  /** Everything that fails because the store was closed says so. */
  async function call(
    method: Method,
    action: string,
    request: object,
    repeat: boolean,
  ): Promise<DecodedMessage> {
    if (closed) throw closedError();
    try {
      return await servers.call(method, request, repeat);
    } catch (thrown) {
      throw closed ? closedError() : toStoreError(thrown, action);
    }
  }

  return {
    async currentRevision() {
      const request = { key: ANY_KEY, countOnly: true };
      return headerRevision(await call(methods.range, 'reading the revision', request, true));
    },
    async get(key) {
      const response = await call(methods.range, `reading ${key}`, { key: keys.toBytes(key) }, true);
      const [kv] = messagesIn(response, 'kvs');
      return kv === undefined ? undefined : keys.toItem(kv);
    },
    range: (from, range = {}) =>
      readRange((request) => call(methods.range, `reading ${from}`, request, true), keys, from, range),
    put: (key, value, expected) => {
      const operation = { requestPut: { key: keys.toBytes(key), value } };
      return write(call, methods, keys, { key, expected }, operation);
    },
    delete: (key, expected) => {
      const operation = { requestDeleteRange: { key: keys.toBytes(key) } };
      return write(call, methods, keys, { key, expected }, operation);
    },
    watch(from, after, sink) {
      const target = { ...keys.range(from), after, keyOf: keys.fromBytes };
      const deps: Omit<WatchDeps, 'onOver'> = {
        servers,
        method: methods.watch,
        holds: (revision) => holds(call, methods, revision),
        isExact: () => isExact(call, methods),
        clock,
        onSinkError,
      };
      const watch = startWatch({ ...deps, onOver: () => void watches.delete(watch) }, target, sink);
      watches.add(watch);
      if (closed) queueMicrotask(() => watch.end(closedError()));
      return watch;
    },
    async compact(revision) {
      try {
        await call(methods.compact, 'compacting', { revision }, true);
      } catch (thrown) {
        // Another server was faster.
        if (!(thrown instanceof StoreError) || thrown.reason !== 'compacted') throw thrown;
      }
    },
    close() {
      if (!closed) {
        closed = true;
        for (const watch of watches) watch.end(closedError());
        servers.close();
      }
      return Promise.resolve();
    },
  };
}

/** Calls a method of the cluster. */
type Call = (method: Method, action: string, request: object, repeat: boolean) => Promise<DecodedMessage>;

async function write(
  call: Call,
  { txn }: Methods,
  keys: Keys,
  condition: { readonly key: string; readonly expected: Expected },
  operation: object,
): Promise<WriteResult> {
  const { key, expected } = condition;
  const name = keys.toBytes(key);
  const modRevision = expected === 'absent' ? 0 : expected;
  const request = {
    compare: [{ result: 'EQUAL', target: 'MOD', key: name, modRevision }],
    success: [operation],
    failure: [{ requestRange: { key: name } }],
  };
  const response = await call(txn, `writing ${key}`, request, false);
  if (response['succeeded'] === true) return { ok: true, revision: headerRevision(response) };
  const [found] = messagesIn(response, 'responses');
  const [kv] = messagesIn(messageIn(found ?? {}, 'responseRange'), 'kvs');
  return { ok: false, current: kv === undefined ? undefined : keys.toItem(kv) };
}

/** Whether the cluster still has the state of the revision, or is yet to have it. */
async function holds(call: Call, { range }: Methods, revision: number): Promise<boolean> {
  try {
    await call(range, 'looking for history', { key: ANY_KEY, countOnly: true, revision }, true);
    return true;
  } catch (thrown) {
    if (!(thrown instanceof StoreError)) throw thrown;
    if (thrown.reason === 'compacted') return false;
    if (thrown.reason === 'future') return true;
    throw thrown;
  }
}

async function isExact(call: Call, { status }: Methods): Promise<boolean> {
  const { version } = await call(status, 'asking for the version', {}, true);
  return typeof version === 'string' && answersInOrder(version);
}

/** The names that keys have in the cluster. */
interface Keys {
  readonly toBytes: (key: string) => Buffer;
  readonly fromBytes: (bytes: Buffer) => string;
  readonly toItem: (kv: DecodedMessage) => StoredItem;
  readonly range: (prefix: string) => { readonly from: Buffer; readonly end: Buffer };
}

function createKeys(prefix: string): Keys {
  const skip = Buffer.byteLength(prefix);
  const fromBytes = (bytes: Buffer): string => bytes.toString('utf8', skip);
  return {
    toBytes: (key) => Buffer.from(prefix + key),
    fromBytes,
    toItem: (kv) => ({
      key: fromBytes(bytesIn(kv, 'key')),
      value: bytesIn(kv, 'value'),
      revision: numberIn(kv, 'modRevision'),
    }),
    range(keysPrefix) {
      // An empty key would mean a key of its own; no key is before this one.
      const from = Buffer.from(prefix + keysPrefix || '\0');
      return { from, end: prefixEnd(prefix + keysPrefix) };
    },
  };
}

/** Bytes that a page should have, and items at most and at first: values can be large. */
const PAGE_BYTES = 4 * 1024 * 1024;
const LONGEST_PAGE = 2000;
const FIRST_PAGE = 100;

async function readRange(
  call: (request: object) => Promise<DecodedMessage>,
  keys: Keys,
  prefix: string,
  { revision: wanted, after, limit }: RangeOptions,
): Promise<RangeResult> {
  const { from: start, end } = keys.range(prefix);
  const next = after === undefined ? start : keys.toBytes(`${after}\0`);
  let from = Buffer.compare(next, start) > 0 ? next : start;
  const items: StoredItem[] = [];
  let revision = wanted ?? 0;
  let pageSize = FIRST_PAGE;
  for (;;) {
    const left = limit === undefined ? pageSize : Math.min(pageSize, limit - items.length);
    const response = await call({ key: from, rangeEnd: end, limit: left, revision });
    if (revision === 0) revision = headerRevision(response);
    const page = messagesIn(response, 'kvs').map((kv) => keys.toItem(kv));
    for (const item of page) items.push(item);
    const last = page.at(-1);
    const more = response['more'] === true && last !== undefined;
    if (!more || (limit !== undefined && items.length >= limit)) return { revision, items, more };
    from = keys.toBytes(`${last.key}\0`);
    const bytes = page.reduce((sum, { value }) => sum + value.length, page.length);
    pageSize = Math.max(1, Math.min(LONGEST_PAGE, Math.floor((PAGE_BYTES / bytes) * page.length)));
  }
}

function closedError(): StoreError {
  return new StoreError('closed', 'the store is closed');
}

function throwLater(thrown: unknown): void {
  queueMicrotask(() => {
    throw thrown;
  });
}
