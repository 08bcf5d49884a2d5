/** Handle step: passes an authorized request to its handler. Writes nothing. */
import type { ApiResponse, BytesResponse, Handler } from '../contract.ts';
import type { ServerRequest } from '../request/server-request.ts';
import { pageNotFound, wrongMethod } from '../response/status-response.ts';
import type { Router } from './router.ts';

export interface HandleDeps {
  readonly router: Router;
  /** Handles all resource paths, below a group and version. */
  readonly resources: Handler;
}

function emptyResponse(headers: Readonly<Record<string, string>>): BytesResponse {
  return { kind: 'bytes', status: 204, contentType: 'text/plain', body: [], headers };
}

/** @throws anything that the handler throws; StatusError MethodNotAllowed */
export function handle(deps: HandleDeps, request: ServerRequest): ApiResponse | Promise<ApiResponse> {
  if (request.info.isResource) return deps.resources(request);
  const route = deps.router(request.method, request.info.path);
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
