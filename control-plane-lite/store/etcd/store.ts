/** Store in an etcd cluster, which several API servers can share. Reads go through the cluster's leader and
 *  quorum.
 *
 *  A write whose response is lost fails as `unavailable` although it may have been performed: it is never
 *  sent twice, or the writer would get a conflict with itself. Revisions are derived from etcd's own (see
 *  `revisions.ts`) and rise with every write of any client. */
import { Buffer } from 'node:buffer';
import type { DecodedMessage } from '#api/codec/protobuf/fields.ts';
import { systemClock } from '#api/kit/clock.ts';
import { StoreError } from '../contract.ts';
import type { ServableStore } from '../thread/serve.ts';
import { toStoreError } from './failure.ts';
import { createKeys } from './keys.ts';
import {
  type Call,
  createMethods,
  headerRevision,
  type Method,
  type Methods,
  messagesIn,
} from './messages.ts';
import { answersInOrder } from './progress.ts';
import { readRange } from './read-range.ts';
import { PLACES, revisionOf, wholeCommitAt } from './revisions.ts';
import { createServers, type EtcdTls } from './servers.ts';
import { type EtcdWatch, startWatch, type WatchDeps } from './watch.ts';
import { createWrites } from './writes.ts';

/** Address and credentials of a cluster. */
export interface EtcdAddress {
  /** `https://host:2379`, `http://…`, or without a scheme: with TLS if `tls` is given. */
  readonly servers: readonly string[];
  readonly tls?: EtcdTls;
  /** Prefix of every key, so that one cluster can serve several; none unless given. */
  readonly prefix?: string;
  /** Timeout of a call, in ms; 10 s unless given. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 10_000;

/** Any key: only the revision of the response, or its error, matters. */
const ANY_KEY = Buffer.from('/');

export interface EtcdStore extends ServableStore {
  /** Uses other credentials for new connections. */
  readonly replaceTls: (tls: EtcdTls) => void;
}

/** Connects in the background: calls wait for a server up to their timeout.
 *  @throws StoreError `unavailable` if an address is invalid */
export function createEtcdStore(address: EtcdAddress): EtcdStore {
  const { prefix = '', timeoutMs = TIMEOUT_MS } = address;
  const methods = createMethods();
  const servers = createServers({ ...address, timeoutMs });
  const watches = new Set<EtcdWatch>();
  const keys = createKeys(prefix);
  let closed = false;
  let areHeld = false;

  /** Replaces failures caused by closing the store. */
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

  const writes = createWrites(call, methods.txn, keys);
  return {
    isShared: true,
    revisionStep: PLACES,
    async currentRevision() {
      const request = { key: ANY_KEY, countOnly: true };
      return revisionOf(headerRevision(await call(methods.range, 'reading the revision', request, true)));
    },
    async get(key) {
      const response = await call(methods.range, `reading ${key}`, { key: keys.toBytes(key) }, true);
      const [kv] = messagesIn(response, 'kvs');
      return kv === undefined ? undefined : keys.toItem(kv);
    },
    range: (from, range = {}) =>
      readRange((request) => call(methods.range, `reading ${from}`, request, true), keys, from, range),
    put: (key, value, expected) => writes.put(key, value, expected),
    delete: (key, expected) => writes.delete(key, expected),
    watch(from, after, sink) {
      const target = { ...keys.range(from), after, keys };
      const deps: Omit<WatchDeps, 'onOver'> = {
        servers,
        method: methods.watch,
        holds: (commit) => holds(call, methods, commit),
        isExact: () => isExact(call, methods),
        clock: systemClock,
        onSinkError: throwLater,
      };
      const watch = startWatch({ ...deps, onOver: () => void watches.delete(watch) }, target, sink, areHeld);
      watches.add(watch);
      if (closed) queueMicrotask(() => watch.end(closedError()));
      return watch;
    },
    holdWatches(isHeld) {
      areHeld = isHeld;
      for (const watch of watches) watch.hold(isHeld);
    },
    async compact(revision) {
      try {
        await call(methods.compact, 'compacting', { revision: wholeCommitAt(revision) }, true);
      } catch (thrown) {
        // Another server compacted first.
        if (!(thrown instanceof StoreError) || thrown.reason !== 'compacted') throw thrown;
      }
    },
    replaceTls(tls) {
      if (!closed) servers.replaceTls(tls);
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

/** Reports whether the state of the commit is available or yet to come. */
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
  const { version } = await call(status, 'reading the version', {}, true);
  return typeof version === 'string' && answersInOrder(version);
}

function closedError(): StoreError {
  return new StoreError('closed', 'the store is closed');
}

function throwLater(thrown: unknown): void {
  queueMicrotask(() => {
    throw thrown;
  });
}
