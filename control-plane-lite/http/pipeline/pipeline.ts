/** Request pipeline: the steps of a request, in order, and the requests in flight. The same for HTTP/1.1, HTTP/2
 *  and upgrades: nothing is written to a connection, and no byte of an upgraded one is passed on, before the
 *  request was authorized. Source: access control, document 2, introduction; audit and limits, document 1 §7. */
import type { Clock } from '#api/kit/clock.ts';
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
    /** Awaited before the first step (`createRequestBatches`). */
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

/** Maximum batch size; a larger batch would take longer than a turn of the event loop may. */
const MOST = 32;
/** Maximum requests of one client in a batch while others have requests too. */
const MOST_OF_ONE = 4;
/** A client counts as one of several for this time after its last request, in ms. */
const RECENT_MS = 10_000;

export interface RequestBatchDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Schedules a task for the end of this turn's arrivals. */
  readonly defer: (task: () => void) => void;
}

/** Requests that arrive in one turn of the event loop take their steps together. The code of a request's path exceeds the
 *  CPU's instruction cache: one after the other, each request loads all of it anew; in a batch, each step runs for all
 *  requests before the next one starts (decision 0066). Clients take turns for the places in a batch, so that one client's
 *  flood delays another's request by a short batch (decision 0147).
 *  @returns a function that each request awaits before its first step; `flow` names its client */
export function createRequestBatches({ clock, defer }: RequestBatchDeps): (flow: string) => Promise<void> {
  // In the order of their turns: a flow that was served moves to the end.
  const flows = new Map<string, (() => void)[]>();
  let lastFlow: string | undefined;
  let sharedUntilMs = Number.NEGATIVE_INFINITY;
  let isDue = false;

  /** Removes the next requests of the flow whose turn it is. */
  function takeTurn(most: number): readonly (() => void)[] {
    const [turn] = flows;
    if (turn === undefined) return [];
    const [flow, waiting] = turn;
    const taken = waiting.splice(0, most);
    flows.delete(flow);
    if (waiting.length > 0) flows.set(flow, waiting);
    return taken;
  }

  function nextBatch(): readonly (() => void)[] {
    const mostOfOne = clock.monotonic() < sharedUntilMs ? MOST_OF_ONE : MOST;
    const batch: (() => void)[] = [];
    for (let turns = flows.size; turns > 0 && batch.length < MOST; turns -= 1) {
      batch.push(...takeTurn(Math.min(mostOfOne, MOST - batch.length)));
    }
    return batch;
  }

  function go(): void {
    const batch = nextBatch();
    isDue = flows.size > 0;
    if (isDue) defer(go);
    for (const start of batch) start();
  }

  return (flow) => {
    if (flow !== lastFlow) {
      if (lastFlow !== undefined) sharedUntilMs = clock.monotonic() + RECENT_MS;
      lastFlow = flow;
    }
    return new Promise((resolve) => {
      const waiting = flows.get(flow);
      if (waiting === undefined) flows.set(flow, [resolve]);
      else waiting.push(resolve);
      if (isDue) return;
      isDue = true;
      defer(go);
    });
  };
}
