/** Messages to the thread of a store on etcd. */
import type { ToThread } from '../threaded/protocol.ts';
import type { EtcdTls } from './servers.ts';

export interface ToEtcdThread extends ToThread {
  /** Credentials for new connections; a message with them has nothing else. */
  readonly tls?: EtcdTls;
}
