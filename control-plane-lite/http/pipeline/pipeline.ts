/** Request pipeline: the steps of a request, in order, and the requests in flight. The same for HTTP/1.1, HTTP/2
 *  and upgrades: nothing is written to a connection, and no byte of an upgraded one is passed on, before the
 *  request was authorized. Source: access control, document 2, introduction; audit and limits, document 1 §7. */
import { asError } from '#api/kit/errno.ts';
import { createTransientSet } from '#api/kit/transient.ts';
import { ANONYMOUS } from '../../authn/users.ts';
import { ClientGoneError, type Exchange } from '../connection/exchange.ts';
import type { ApiResponse, Handler } from '../contract.ts';
import { endRequest, endWork, type LimitDeps, limit } from '../limits/in-flight.ts';
import type { RequestMetrics } from '../metrics/request-metrics.ts';
import { isLongRunning, parseRequestInfo, requestTimeoutMs, splitTarget } from '../request/request-info.ts';
import { type Auditor, ServerRequest } from '../request/server-request.ts';
import { shuttingDown, timedOut } from '../response/status-response.ts';
import { type AuthenticateDeps, authenticate } from './authenticate.ts';
import { type AuthorizeDeps, authorize } from './authorize.ts';
import { type BrowserDeps, greetBrowser } from './browser.ts';
import { type ImpersonateDeps, impersonate } from './impersonate.ts';
import { type RespondDeps, respond, respondFailure } from './respond.ts';
import { type HandlePathDeps, handlePath } from './router.ts';

export type PipelineDeps = AuthenticateDeps &
  ImpersonateDeps &
  LimitDeps &
  AuthorizeDeps &
  HandlePathDeps &
  BrowserDeps &
  RespondDeps & {
    readonly audit?: Auditor;
    readonly metrics: RequestMetrics;
    /** Handles all resource paths, below a group and version. */
    readonly resources: Handler;
    /** Awaited before the first step (`limits/request-batches.ts`). */
    readonly joinBatch: (flow: string) => Promise<void>;
  };

/** Throws if it rejects the request. */
type Step = (deps: PipelineDeps, request: ServerRequest) => Promise<void> | undefined;

/** Notes whose requests the connection carries, for the turns of the next ones. */
function nameFlow(_deps: PipelineDeps, { exchange, user }: ServerRequest): undefined {
  const { connection } = exchange;
  connection.flow = user.name === ANONYMOUS.name ? connection.unknownFlow : user.name;
}

/** Steps before the handler. The requests of a batch take them together (decision 0066). */
const STEPS: readonly Step[] = [
  ({ joinBatch }, { exchange }) => joinBatch(exchange.connection.flow),
  authenticate,
  impersonate,
  nameFlow,
  ({ audit }, request) => request.openRecord(audit),
  limit,
  authorize,
];

/** Parses the request; returns its timeout.
 *  @throws StatusError BadRequest */
function readTarget(request: ServerRequest, longestMs: number): number {
  const { path, query } = splitTarget(request.exchange.target);
  const parsed = query === '' ? undefined : new URLSearchParams(query);
  request.setQuery(parsed);
  request.info = parseRequestInfo(request.method, path, parsed);
  request.isLong = isLongRunning(request.info);
  return request.isLong ? Number.POSITIVE_INFINITY : requestTimeoutMs(parsed, longestMs);
}

/** Returns the handler's response.
 *  @throws StatusError if a step rejects the request; anything that its handler throws */
async function takeSteps(deps: PipelineDeps, request: ServerRequest): Promise<ApiResponse> {
  request.isWorking = true;
  try {
    for (const step of STEPS) {
      const pending = step(deps, request);
      if (pending !== undefined) await pending;
      request.throwIfAborted();
    }
    return await (request.info.isResource ? deps.resources(request) : handlePath(deps, request));
  } finally {
    endWork(request, deps.inFlight);
  }
}

/** Returns the handler's response, unless the request times out or the client leaves before. */
async function withinTime(deps: PipelineDeps, request: ServerRequest, ms: number): Promise<ApiResponse> {
  const timer = Number.isFinite(ms) ? deps.clock.setTimer(() => request.abort(timedOut()), ms) : undefined;
  const givenUp = new Promise<never>((_resolve, reject) => request.onAbort(reject));
  try {
    return await Promise.race([takeSteps(deps, request), givenUp]);
  } finally {
    timer?.cancel();
    // Also records a request that ended before it was authenticated. It has failed already.
    request.openRecord(deps.audit)?.catch(() => undefined);
  }
}

async function run(deps: PipelineDeps, request: ServerRequest, longestMs: number): Promise<void> {
  try {
    const preflight = deps.browser === undefined ? undefined : greetBrowser(deps.browser, request);
    const ms = readTarget(request, longestMs);
    if (preflight !== undefined) return await respond(deps, request, preflight);
    if (request.isLong) request.endLong = deps.metrics.longRunning(request);
    await respond(deps, request, await withinTime(deps, request, ms));
  } catch (thrown) {
    const error = asError(thrown);
    // Aborts work on a response that will not be sent.
    request.abort(error);
    await respondFailure(deps, request, error);
  } finally {
    request.closeRecord(undefined);
  }
}

export interface PipelineOptions {
  readonly requestTimeoutMs: number;
  readonly bodyLimitBytes: number;
}

export interface Pipeline {
  readonly serve: (exchange: Exchange) => void;
  /** Number of requests whose response is incomplete. */
  readonly active: number;
  /** Resolves once no request is left. */
  whenIdle(): Promise<void>;
  /** Aborts the requests in flight: all of them, or those that do not end by themselves. */
  abort(which: 'all' | 'longRunning'): void;
}

export function createPipeline(deps: PipelineDeps, options: PipelineOptions): Pipeline {
  const { clock, inFlight, metrics, log } = deps;
  const requests = createTransientSet<ServerRequest>();
  let onIdle: (() => void)[] = [];

  function finish(request: ServerRequest): void {
    requests.delete(request);
    endRequest(request, inFlight);
    request.endLong?.();
    metrics.finished(request, (clock.monotonic() - request.startedMs) / 1000);
    if (requests.size > 0 || onIdle.length === 0) return;
    for (const resolve of onIdle) resolve();
    onIdle = [];
  }

  function serve(exchange: Exchange): void {
    const request = new ServerRequest({
      exchange,
      receivedMs: clock.now(),
      startedMs: clock.monotonic(),
      bodyLimitBytes: options.bodyLimitBytes,
    });
    requests.add(request);
    exchange.onClose(() => {
      if (!request.isFinished) request.abort(new ClientGoneError());
    });
    run(deps, request, options.requestTimeoutMs).then(
      () => finish(request),
      (error: unknown) => {
        log.error({ err: asError(error), auditID: request.id }, 'Failed to respond');
        exchange.destroy();
        request.abort(asError(error));
        finish(request);
      },
    );
  }

  return {
    serve,
    get active() {
      return requests.size;
    },
    whenIdle: () =>
      requests.size === 0 ? Promise.resolve() : new Promise((resolve) => void onIdle.push(resolve)),
    abort(which) {
      for (const request of requests.values())
        if (request.isLong || which === 'all') request.abort(shuttingDown());
    },
  };
}
