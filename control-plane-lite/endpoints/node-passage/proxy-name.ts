/** Names of what a request is passed to: `web`, `web:8080`, `https:web:8443`. Pure.
 *  Source: document 1, 4.2; upstream's proxy subresources. */

export interface ProxyName {
  /** `undefined` if the request leaves it open. */
  readonly scheme: 'http' | 'https' | undefined;
  readonly name: string;
  /** A number, or the name of a service's port; empty if the request leaves it open. */
  readonly port: string;
}

/** `undefined` if the text is no such name. */
export function parseProxyName(text: string): ProxyName | undefined {
  const parts = text.split(':');
  const [first = '', second = '', third = ''] = parts;
  if (parts.length > 3) return undefined;
  if (parts.length < 3) return first === '' ? undefined : { scheme: undefined, name: first, port: second };
  if (second === '') return undefined;
  if (first !== '' && first !== 'http' && first !== 'https') return undefined;
  return { scheme: first === '' ? undefined : first, name: second, port: third };
}

/** The number of a port; `undefined` if the text is none. */
export function parsePort(text: string): number | undefined {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return port >= 1 && port <= 65_535 ? port : undefined;
}
