/** Routes requests to paths other than those of resources. */
import type { ApiResponse, BytesResponse, Handler, PathRoute } from '../contract.ts';
import type { ServerRequest } from '../request/server-request.ts';
import { pageNotFound, wrongMethod } from '../response/status-response.ts';

export type Route =
  | { readonly kind: 'handler'; readonly handler: Handler }
  | { readonly kind: 'wrongMethod'; readonly allowed: readonly string[] }
  | { readonly kind: 'options'; readonly allowed: readonly string[] }
  | { readonly kind: 'none' };

export type Router = (method: string, path: string) => Route;

const trimmed = (path: string): string => (path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path);

function candidates(
  exact: ReadonlyMap<string, readonly PathRoute[]>,
  below: ReadonlyMap<string, readonly PathRoute[]>,
  path: string,
  longestBelow: number,
): readonly PathRoute[] {
  const found = exact.get(path);
  if (found !== undefined || below.size === 0) return found ?? [];
  // Skips lookups of prefixes longer than every route: a path may have thousands of slashes.
  for (
    let end = path.lastIndexOf('/', longestBelow);
    end >= 0;
    end = end > 0 ? path.lastIndexOf('/', end - 1) : -1
  ) {
    const routes = below.get(end === 0 ? '/' : path.slice(0, end));
    if (routes !== undefined) return routes;
  }
  return [];
}

/** The most specific path wins; of routes with the same path, the first that has the method. */
export function createRouter(routes: readonly PathRoute[]): Router {
  const exact = new Map<string, PathRoute[]>();
  const below = new Map<string, PathRoute[]>();
  for (const route of routes) {
    const path = trimmed(route.path);
    exact.set(path, [...(exact.get(path) ?? []), route]);
    if (route.below === true) below.set(path, [...(below.get(path) ?? []), route]);
  }
  const longestBelow = Math.max(0, ...[...below.keys()].map(({ length }) => length));
  return (method, requested) => {
    const found = candidates(exact, below, trimmed(requested), longestBelow);
    if (found.length === 0) return { kind: 'none' };
    const effective = method === 'HEAD' ? 'GET' : method;
    for (const route of found) {
      if (route.methods.includes(effective)) return { kind: 'handler', handler: route.handler };
    }
    const methods = found.flatMap((route) => route.methods);
    const allowed = [...new Set([...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'])];
    return method === 'OPTIONS' ? { kind: 'options', allowed } : { kind: 'wrongMethod', allowed };
  };
}

function emptyResponse(headers: Readonly<Record<string, string>>): BytesResponse {
  return { kind: 'bytes', status: 204, contentType: 'text/plain', body: [], headers };
}

export interface HandlePathDeps {
  readonly router: Router;
}

/** Handles a request to a path other than a resource's.
 *  @throws anything that the handler throws; StatusError MethodNotAllowed */
export function handlePath(
  { router }: HandlePathDeps,
  request: ServerRequest,
): ApiResponse | Promise<ApiResponse> {
  const route = router(request.method, request.info.path);
  switch (route.kind) {
    case 'handler':
      return route.handler(request);
    case 'none':
      return pageNotFound();
    case 'options':
      return emptyResponse({ Allow: route.allowed.join(', ') });
    case 'wrongMethod':
      throw wrongMethod(route.allowed);
    default:
      return route satisfies never;
  }
}
