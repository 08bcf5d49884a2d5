/** Store in an etcd cluster, with a thread of its own for the cost of calls to the cluster. */
import type { Store, StoreError } from '../contract.ts';
import { type Ready, startThread } from '../thread.ts';
import { createStoreClient } from '../threaded/client.ts';
import type { Turn } from '../threaded/protocol.ts';
import { parseAddress } from './address.ts';
import { PLACES } from './revisions.ts';
import type { EtcdTls } from './servers.ts';
import type { EtcdAddress } from './store.ts';
import type { ToEtcdThread } from './to-thread.ts';

export interface ThreadedEtcdOptions extends EtcdAddress {
  /** Called when a watch's sink threw. Unless given, the error is rethrown and uncaught. */
  readonly onSinkError?: (thrown: unknown) => void;
  /** The thread exited unexpectedly: the store is unusable until the process restarts. */
  readonly onFailure?: (error: StoreError) => void;
  /** Calls the listener with changed credentials. */
  readonly followTls?: (listener: (tls: EtcdTls) => void) => void;
}

/** Its live data is small. The process's own settings would give it as much memory as the thread that serves
 *  requests. */
const LIMITS = { maxYoungGenerationSizeMb: 16 };

/** Starts and connects in the background: calls wait for the thread, and then for a server, up to their
 *  timeout.
 *  @throws StoreError `unavailable` if an address is invalid */
export function createThreadedEtcdStore(options: ThreadedEtcdOptions): Store {
  const { onSinkError = throwLater, onFailure, followTls, ...address } = options;
  for (const server of address.servers) parseAddress(server, address.tls !== undefined);
  const thread = startThread<Ready, Turn, ToEtcdThread>(
    { program: programOf(import.meta.url), name: 'store etcd', data: address, limits: LIMITS },
    { onMessage: (turn) => client.onTurn(turn), onEnd: fail },
  );
  const client = createStoreClient({
    isShared: true,
    revisionStep: PLACES,
    post: thread.post,
    end: thread.end,
    onSinkError,
    defer: setImmediate,
  });

  function fail(error: StoreError): void {
    client.onEnd(error);
    onFailure?.(error);
  }

  thread.ready.catch(fail);
  followTls?.((tls) => thread.post({ writes: undefined, requests: [], takenBytes: 0, tls }));
  return client.store;
}

/** Sources run unbundled; a bundle has the thread's program as a file of its own. */
function programOf(url: string): URL {
  return new URL(url.endsWith('.ts') ? './worker.ts' : './etcd-worker.js', url);
}

function throwLater(thrown: unknown): void {
  queueMicrotask(() => {
    throw thrown;
  });
}
