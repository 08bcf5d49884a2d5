/** Addresses of etcd servers, as they are given. */
import { StoreError } from '../contract.ts';

export interface ServerAddress {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  /** Host and port, as they were given. */
  readonly target: string;
}

/** @param server `https://host:2379`, `http://…`, or without a scheme
 *  @param isSecure what no scheme means
 *  @throws StoreError `unavailable` if it can't be used */
export function parseAddress(server: string, isSecure: boolean): ServerAddress {
  const [, scheme, target = ''] = /^(?:(https?):\/\/)?([^/]+)\/?$/.exec(server) ?? [];
  if (target === '') {
    throw new StoreError(
      'unavailable',
      `"${server}" is no address of an etcd server, such as https://10.0.0.1:2379`,
    );
  }
  const host = target.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  const isPlain = scheme === undefined ? !isSecure : scheme === 'http';
  return { scheme: isPlain ? 'http' : 'https', host, target };
}
