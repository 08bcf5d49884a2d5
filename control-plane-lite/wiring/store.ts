/** The store that the configuration asks for. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '#api/kit/logger.ts';
import type { ServerConfig } from '../config/settings.ts';
import type { Store } from '../store/contract.ts';

/** @throws StoreError, or Error that names a file which can't be read */
export async function openStore(
  config: ServerConfig,
  log: Logger,
  onFailure: (error: Error) => void,
): Promise<Store> {
  if (config.etcdServers.length === 0) {
    const { createEmbeddedStore } = await import('../store/embedded/store.ts');
    return createEmbeddedStore({
      dir: join(config.dataDir, 'store'),
      onSinkError: (err) => log.error({ err }, 'Watch of the store failed'),
      onFailure,
    });
  }
  const { createEtcdStore } = await import('../store/etcd/store.ts');
  const read = (file: string): Promise<Buffer | undefined> =>
    file === '' ? Promise.resolve(undefined) : readFile(file);
  const [ca, cert, key] = await Promise.all([
    read(config.etcdCafile),
    read(config.etcdCertfile),
    read(config.etcdKeyfile),
  ]);
  const tls = {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
  return createEtcdStore({
    servers: config.etcdServers,
    prefix: config.etcdPrefix,
    onSinkError: (err) => log.error({ err }, 'Watch of the store failed'),
    ...(Object.keys(tls).length === 0 ? {} : { tls }),
  });
}
