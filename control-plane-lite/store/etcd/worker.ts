/** Thread of a store on etcd: performs the calls to the cluster and encodes and decodes their messages. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { toPlainError } from '../plain-error.ts';
import type { Ready, Refusal } from '../thread.ts';
import type { Turn } from '../threaded/protocol.ts';
import { serveStore } from '../threaded/server.ts';
import { createEtcdStore, type EtcdAddress, type EtcdStore } from './store.ts';
import type { ToEtcdThread } from './to-thread.ts';

function send(port: MessagePort, message: Ready | Refusal | Turn): void {
  const records = message.kind === 'turn' ? message.records : undefined;
  port.postMessage(message, records === undefined || records.length === 0 ? [] : [records.buffer]);
}

function run(port: MessagePort, address: EtcdAddress): void {
  let store: EtcdStore;
  try {
    store = createEtcdStore(address);
  } catch (thrown) {
    return send(port, { kind: 'refused', error: toPlainError(thrown) });
  }
  const serve = serveStore(store, { send: (turn) => send(port, turn), defer: setImmediate });
  port.on('message', (message: ToEtcdThread) => {
    if (message.tls === undefined) serve(message);
    else store.replaceTls(message.tls);
  });
  send(port, { kind: 'ready' });
}

function isAddress(data: unknown): data is EtcdAddress {
  return typeof data === 'object' && data !== null && 'servers' in data;
}

if (parentPort !== null && isAddress(workerData)) run(parentPort, workerData);
