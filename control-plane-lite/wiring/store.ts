/** Opens the configured store. */
import { join } from 'node:path';
import type { Logger } from '#api/kit/logger.ts';
import type { ServerConfig } from '../config/settings.ts';
import type { Store } from '../store/contract.ts';
import { followEtcdTls } from './certificates/etcd-tls.ts';
import type { Follow } from './certificates/follow.ts';

/** Display name. */
export const storeName = ({ etcdServers, dataDir }: ServerConfig): string =>
  etcdServers.length === 0 ? `store in ${dataDir}` : `etcd at ${etcdServers.join(', ')}`;

/** @throws StoreError, or Error that names an unreadable file */
export async function openStore(
  config: ServerConfig,
  log: Logger,
  follow: Follow,
  onFailure: (error: Error) => void,
): Promise<Store> {
  if (config.etcdServers.length === 0) {
    const { createEmbeddedStore } = await import('../store/embedded/store.ts');
    return createEmbeddedStore({
      dir: join(config.dataDir, 'store'),
      onSinkError: (err) => log.error({ err }, 'Store watch failed'),
      onFailure,
    });
  }
  const { createThreadedEtcdStore } = await import('../store/etcd/thread.ts');
  const tls = await followEtcdTls(config, follow);
  return createThreadedEtcdStore({
    servers: config.etcdServers,
    prefix: config.etcdPrefix,
    onSinkError: (err) => log.error({ err }, 'Store watch failed'),
    onFailure,
    ...(tls === undefined
      ? {}
      : {
          tls: tls.current(),
          followTls: (listener) => void tls.onChange(() => listener(tls.current())),
        }),
  });
}
