/** Thread of a store on etcd: performs the calls to the cluster and encodes and decodes their messages. */
import { parentPort, workerData } from 'node:worker_threads';
import { serveThread } from '../thread/serve.ts';
import { createEtcdStore, type EtcdAddress } from './store.ts';

function isAddress(data: unknown): data is EtcdAddress {
  return typeof data === 'object' && data !== null && 'servers' in data;
}

if (parentPort !== null && isAddress(workerData)) {
  const address = workerData;
  serveThread(parentPort, () => createEtcdStore(address));
}
