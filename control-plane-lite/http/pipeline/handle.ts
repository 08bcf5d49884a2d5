/** Request pipeline up to the response: authenticate, impersonate, authorize, route. Writes nothing. */
import { ANONYMOUS } from '../../authn/users.ts';
import type { UserInfo } from '../../resources/contract.ts';
import type { Auditor } from '../audit/auditor.ts';
import type { ApiRequest, ApiResponse, BytesResponse, Handler } from '../contract.ts';
import type { InFlight } from '../limits/in-flight.ts';
import type { RequestMetrics } from '../metrics/request-metrics.ts';
import type { RequestState } from '../request/request-state.ts';
import { pageNotFound, wrongMethod } from '../response/status-response.ts';
import { type Authenticate, authenticationRequest, requireUser } from './authenticate.ts';
import { type Authorize, attributesOf, refusalOf } from './authorize.ts';
import {
  acquireSlot,
  beginWork,
  endWork,
  type InFlightRequest,
  openRecord,
  throwIfAborted,
} from './in-flight-request.ts';
import type { Router } from './router.ts';

export interface HandleDeps {
  /** Awaited before the first step. */
  readonly joinBatch: () => Promise<void>;
  readonly authenticate: Authenticate;
  readonly authorize: Authorize;
  /** Returns the impersonated user if the headers name one. @throws StatusError Forbidden */
  readonly impersonate?: (request: ApiRequest) => UserInfo | Promise<UserInfo>;
  readonly inFlight: InFlight;
  readonly metrics: RequestMetrics;
  readonly audit?: Auditor;
  readonly router: Router;
  /** Handles all resource paths, below a group and version. */
  readonly resources: Handler;
  /** Domain of the API groups in the server's vocabulary. */
  readonly domain: string;
}

function emptyResponse(headers: Readonly<Record<string, string>>): BytesResponse {
  return { kind: 'bytes', status: 204, contentType: 'text/plain', body: [], headers };
}

async function identify(deps: HandleDeps, state: RequestState): Promise<void> {
  const { exchange, headers } = state;
  const isUpgrade = exchange.upgrade !== undefined;
  const credentials = authenticationRequest(headers, exchange.connection, deps.domain, isUpgrade);
  const result = deps.authenticate(credentials);
  state.user = requireUser(result instanceof Promise ? await result : result);
  if (!exchange.connection.proven && state.user.name !== ANONYMOUS.name) exchange.connection.prove();
  state.originalUser = state.user;
}

/** Fast path: most requests impersonate nobody and wait for nothing here. */
function impersonate(deps: HandleDeps, state: RequestState): Promise<void> | undefined {
  const user = deps.impersonate?.(state) ?? state.user;
  if (user instanceof Promise) return become(state, user);
  state.user = user;
  return undefined;
}

async function become(state: RequestState, user: Promise<UserInfo>): Promise<void> {
  state.user = await user;
}

async function permit(deps: HandleDeps, { state, record }: InFlightRequest): Promise<void> {
  const attributes = attributesOf(state.info, state.user);
  const authorized = deps.authorize(attributes);
  const decision = authorized instanceof Promise ? await authorized : authorized;
  const allowed = decision.effect === 'allow';
  if (record !== undefined) {
    state.annotate(`authorization.${deps.domain}/decision`, allowed ? 'allow' : 'forbid');
    state.annotate(`authorization.${deps.domain}/reason`, decision.reason);
  }
  if (!allowed) throw refusalOf(attributes, decision.reason);
}

function routeTo(deps: HandleDeps, state: RequestState): ApiResponse | Promise<ApiResponse> {
  if (state.info.isResource) return deps.resources(state);
  const route = deps.router(state.method, state.info.path);
  switch (route.kind) {
    case 'handler':
      return route.handler(state);
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

/** Returns the response to a request. After each await it checks whether the request is still active.
 *  @throws StatusError if it is rejected; anything that its handler throws */
export async function handle(deps: HandleDeps, request: InFlightRequest): Promise<ApiResponse> {
  beginWork(request);
  try {
    await deps.joinBatch();
    throwIfAborted(request);
    await identify(deps, request.state);
    throwIfAborted(request);
    const becoming = impersonate(deps, request.state);
    if (becoming !== undefined) await becoming;
    throwIfAborted(request);
    openRecord(request, deps.audit);
    const waiting = acquireSlot(request, deps.inFlight, deps.metrics);
    if (waiting !== undefined) await waiting;
    throwIfAborted(request);
    await permit(deps, request);
    throwIfAborted(request);
    return await routeTo(deps, request.state);
  } finally {
    endWork(request, deps.inFlight);
  }
}
