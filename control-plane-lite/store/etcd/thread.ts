/** Store in an etcd cluster, with a thread of its own for the cost of calls to the cluster. */
import { MessageChannel } from 'node:worker_threads';
import type { Store, StoreError } from '../contract.ts';
import { type FailureOptions, startStore } from '../thread/start.ts';
import { parseAddress } from './address.ts';
import { PLACES } from './revisions.ts';
import type { EtcdTls } from './servers.ts';
import type { EtcdAddress } from './store.ts';

export interface ThreadedEtcdOptions extends EtcdAddress, FailureOptions {
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
  const { onSinkError, onFailure, followTls, ...address } = options;
  for (const server of address.servers) parseAddress(server, address.tls !== undefined);
  // Credentials have a channel of their own: the protocol of stores does not know them.
  const { port1: credentials, port2: received } = new MessageChannel();
  credentials.unref();
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port between threads
  followTls?.((tls) => credentials.postMessage(tls));
  const { store, ready } = startStore({
    program: programOf(import.meta.url),
    name: 'store etcd',
    data: { address, credentials: received },
    moved: [received],
    limits: LIMITS,
    isShared: true,
    revisionStep: PLACES,
    ...(onSinkError === undefined ? {} : { onSinkError }),
    ...(onFailure === undefined ? {} : { onFailure }),
  });
  ready.catch((error: StoreError) => onFailure?.(error));
  return store;
}

/** Sources run unbundled; a bundle has the thread's program as a file of its own. */
function programOf(url: string): URL {
  return new URL(url.endsWith('.ts') ? './worker.ts' : './etcd-worker.js', url);
}
