/** A store in an etcd cluster, with a thread of its own for what the calls to the cluster cost. */
import type { Store, StoreError } from '../contract.ts';
import { type Ready, startThread } from '../thread.ts';
import { createStoreClient } from '../threaded/client.ts';
import type { ToThread, Turn } from '../threaded/protocol.ts';
import { parseAddress } from './address.ts';
import { PLACES } from './revisions.ts';
import type { EtcdAddress } from './store.ts';

export interface ThreadedEtcdOptions extends EtcdAddress {
  /** Told of a watch's sink that threw. Unless given, it is thrown again, where nobody catches it. */
  readonly onSinkError?: (thrown: unknown) => void;
  /** The thread ended by itself: nothing works any more until the process is started again. */
  readonly onFailure?: (error: StoreError) => void;
}

/** What it has to keep is little. The process's own settings would give it as much as those who serve requests. */
const LIMITS = { maxYoungGenerationSizeMb: 16 };

/** The thread starts, and connects, in the background: calls wait for it, and then for a server for as long as they may
 *  take.
 *  @throws StoreError `unavailable` if an address can't be used */
export function createThreadedEtcdStore(options: ThreadedEtcdOptions): Store {
  const { onSinkError = throwLater, onFailure, ...address } = options;
  for (const server of address.servers) parseAddress(server, address.tls !== undefined);
  const thread = startThread<Ready, Turn, ToThread>(
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
  return client.store;
}

/** Sources run as they are; a bundle has the thread's program as a file of its own. */
function programOf(url: string): URL {
  return new URL(url.endsWith('.ts') ? './worker.ts' : './etcd-worker.js', url);
}

function throwLater(thrown: unknown): void {
  queueMicrotask(() => {
    throw thrown;
  });
}
