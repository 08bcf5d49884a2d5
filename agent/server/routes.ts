/** Route table and the lookup of a route for a request. Pure. */

export type Method = 'GET' | 'POST' | 'DELETE';

export interface RouteRequest {
  /** Decoded path parameters by name. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The body as text. @throws StatusError when it is too large */
  readonly body: () => Promise<string>;
  /** Fires when the client has disconnected. */
  readonly signal: AbortSignal;
}

export type RouteResult =
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'text'; readonly text: string; readonly status?: number }
  | { readonly kind: 'stream'; readonly chunks: AsyncIterable<Uint8Array>; readonly contentType: string };

export interface Route {
  readonly method: Method;
  /** `/pods/:namespace/:name` */
  readonly path: string;
  readonly handle: (request: RouteRequest) => Promise<RouteResult> | RouteResult;
}

export interface Match {
  readonly kind: 'found';
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

export function matchRoute(
  routes: readonly Route[],
  method: string,
  path: string,
): Match | { readonly kind: 'wrong-method' } | { readonly kind: 'none' } {
  let pathKnown = false;
  for (const route of routes) {
    const params = matchPath(route.path, path);
    if (params === undefined) continue;
    if (route.method === method) return { kind: 'found', route, params };
    pathKnown = true;
  }
  return { kind: pathKnown ? 'wrong-method' : 'none' };
}

function matchPath(pattern: string, path: string): Readonly<Record<string, string>> | undefined {
  const wanted = pattern.split('/');
  const given = path.split('/');
  if (wanted.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = decodePart(given[index] ?? '');
    if (part.startsWith(':')) {
      if (value === undefined || value === '') return undefined;
      params[part.slice(1)] = value;
    } else if (part !== value) {
      return undefined;
    }
  }
  return params;
}

function decodePart(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
