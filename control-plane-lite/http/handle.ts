/** From a request to its answer: who asks, may he, who answers. Writes nothing. */
import { ANONYMOUS } from '../authn/users.ts';
import type { UserInfo } from '../resources/contract.ts';
import type { Auditor } from './audit/auditor.ts';
import { type Authenticate, authenticationRequest, requireUser } from './authentication.ts';
import { type Authorize, attributesOf, refusalOf } from './authorization.ts';
import type { ApiRequest, ApiResponse, BytesResponse, Handler } from './contract.ts';
import type { InFlight } from './in-flight.ts';
import { beginWork, endWork, goOn, openRecord, type Passage, takeSeat } from './passage.ts';
import type { RequestMetrics } from './request-metrics.ts';
import type { RequestState } from './request-state.ts';
import type { Router } from './router.ts';
import { pageNotFound, wrongMethod } from './status-response.ts';

export interface HandleDeps {
  /** To be awaited before the first step. */
  readonly sideBySide: () => Promise<void>;
  readonly authenticate: Authenticate;
  readonly authorize: Authorize;
  /** Whom the request is made for, where its headers name somebody else. @throws StatusError Forbidden */
  readonly impersonate?: (request: ApiRequest) => UserInfo | Promise<UserInfo>;
  readonly inFlight: InFlight;
  readonly metrics: RequestMetrics;
  readonly audit?: Auditor;
  readonly router: Router;
  /** Everything below a group's version. */
  readonly resources: Handler;
  /** Domain of the API groups in the server's vocabulary. */
  readonly domain: string;
}

function emptyAnswer(headers: Readonly<Record<string, string>>): BytesResponse {
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

/** Most requests are made for the user's own sake, and wait for nothing here. */
function impersonate(deps: HandleDeps, state: RequestState): Promise<void> | undefined {
  const user = deps.impersonate?.(state) ?? state.user;
  if (user instanceof Promise) return become(state, user);
  state.user = user;
  return undefined;
}

async function become(state: RequestState, user: Promise<UserInfo>): Promise<void> {
  state.user = await user;
}

async function permit(deps: HandleDeps, { state, record }: Passage): Promise<void> {
  const attributes = attributesOf(state.info, state.user);
  const answer = deps.authorize(attributes);
  const decision = answer instanceof Promise ? await answer : answer;
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
      return emptyAnswer({ Allow: route.allowed.join(', ') });
    case 'wrongMethod':
      throw wrongMethod(route.allowed);
    default:
      return route satisfies never;
  }
}

/** The answer to a request. After whatever is waited for it is looked whether the request is still to be answered.
 *  @throws StatusError where it is refused; whatever its handler throws */
export async function handle(deps: HandleDeps, passage: Passage): Promise<ApiResponse> {
  beginWork(passage);
  try {
    await deps.sideBySide();
    goOn(passage);
    await identify(deps, passage.state);
    goOn(passage);
    const becoming = impersonate(deps, passage.state);
    if (becoming !== undefined) await becoming;
    goOn(passage);
    openRecord(passage, deps.audit);
    const waiting = takeSeat(passage, deps.inFlight, deps.metrics);
    if (waiting !== undefined) await waiting;
    goOn(passage);
    await permit(deps, passage);
    goOn(passage);
    return await routeTo(deps, passage.state);
  } finally {
    endWork(passage, deps.inFlight);
  }
}
