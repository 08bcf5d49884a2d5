/** Thread of a store on etcd: performs the calls to the cluster and encodes and decodes their messages. */
import { MessagePort, parentPort, workerData } from 'node:worker_threads';
import { isObject } from '#api/kit/object.ts';
import { serveThread } from '../thread/serve.ts';
import type { EtcdTls } from './servers.ts';
import { createEtcdStore, type EtcdAddress } from './store.ts';

interface ThreadData {
  readonly address: EtcdAddress;
  /** Receives changed credentials. */
  readonly credentials: MessagePort;
}

function isThreadData(data: unknown): data is ThreadData {
  return isObject(data) && isObject(data['address']) && data['credentials'] instanceof MessagePort;
}

if (parentPort !== null && isThreadData(workerData)) {
  const { address, credentials } = workerData;
  serveThread(parentPort, () => {
    const store = createEtcdStore(address);
    credentials.on('message', (tls: EtcdTls) => store.replaceTls(tls));
    return store;
  });
}
