/** Names of proxy targets: `web`, `web:8080`, `https:web:8443`. Pure.
 *  Source: proxy subresources, document 1 §4.2; upstream's proxy subresources. */

export interface ProxyName {
  /** `undefined` if the request does not specify it. */
  readonly scheme: 'http' | 'https' | undefined;
  readonly name: string;
  /** A number, or the name of a service's port; empty if the request does not specify it. */
  readonly port: string;
}

/** Returns `undefined` for an invalid name. */
export function parseProxyName(text: string): ProxyName | undefined {
  const parts = text.split(':');
  const [first = '', second = '', third = ''] = parts;
  if (parts.length > 3) return undefined;
  if (parts.length < 3) return first === '' ? undefined : { scheme: undefined, name: first, port: second };
  if (second === '') return undefined;
  if (first !== '' && first !== 'http' && first !== 'https') return undefined;
  return { scheme: first === '' ? undefined : first, name: second, port: third };
}

/** Returns the number of a port; `undefined` if it is invalid. */
export function parsePort(text: string): number | undefined {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return port >= 1 && port <= 65_535 ? port : undefined;
}
