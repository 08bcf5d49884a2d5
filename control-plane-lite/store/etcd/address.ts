/** Parses addresses of etcd servers. */
import { StoreError } from '../contract.ts';

export interface ServerAddress {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  /** Host and port, as given. */
  readonly target: string;
}

/** @param server `https://host:2379`, `http://…`, or without a scheme
 *  @param isSecure meaning of a missing scheme
 *  @throws StoreError `unavailable` if it is invalid */
export function parseAddress(server: string, isSecure: boolean): ServerAddress {
  const [, scheme, target = ''] = /^(?:(https?):\/\/)?([^/]+)\/?$/.exec(server) ?? [];
  if (target === '') {
    throw new StoreError(
      'unavailable',
      `"${server}" is not the address of an etcd server; use one such as https://10.0.0.1:2379`,
    );
  }
  const host = target.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  const isPlain = scheme === undefined ? !isSecure : scheme === 'http';
  return { scheme: isPlain ? 'http' : 'https', host, target };
}
