/** Request pipeline: authenticate, impersonate, acquire a slot, authorize, route, handle, respond. The same
 *  for HTTP/1.1, HTTP/2 and upgrades: nothing is written to a connection, and no byte of an upgraded one is
 *  passed on, before the request was authorized. Source: access control, document 2, introduction; audit and
 *  limits, document 1 §7. */
import { asError } from '#api/kit/clock.ts';
import { createTransientSet } from '#api/kit/transient.ts';
import { ClientGoneError, type Exchange } from '../connection/exchange.ts';
import type { ApiResponse } from '../contract.ts';
import { isLongRunning, requestTimeoutMs } from '../limits/timeouts.ts';
import { auditId } from '../request/request-id.ts';
import { parseRequestInfo, splitTarget } from '../request/request-info.ts';
import { RequestState } from '../request/request-state.ts';
import { shuttingDown, timedOut } from '../response/status-response.ts';
import { type HandleDeps, handle } from './handle.ts';
import {
  closeRecord,
  createInFlightRequest,
  endRequest,
  type InFlightRequest,
  openRecord,
} from './in-flight-request.ts';
import { type RespondDeps, respond, respondFailure } from './respond.ts';

export type PipelineDeps = HandleDeps & RespondDeps;

export interface PipelineOptions {
  readonly requestTimeoutMs: number;
  readonly bodyLimitBytes: number;
}

export interface Pipeline {
  serve(exchange: Exchange): void;
  /** Number of requests whose response is incomplete. */
  readonly active: number;
  /** Resolves once no request is left. */
  whenIdle(): Promise<void>;
  /** Aborts the requests in flight: all of them, or those that do not end by themselves. */
  abort(which: 'all' | 'longRunning'): void;
}

/** Parses the request; returns its timeout.
 *  @throws StatusError BadRequest */
function readTarget(request: InFlightRequest, longestMs: number): number {
  const { state } = request;
  const { path, query } = splitTarget(state.exchange.target);
  const parsed = query === '' ? undefined : new URLSearchParams(query);
  state.setQuery(parsed);
  state.info = parseRequestInfo(state.method, path, parsed);
  request.long = isLongRunning(state.info);
  return request.long ? Number.POSITIVE_INFINITY : requestTimeoutMs(parsed, longestMs);
}

export function createPipeline(deps: PipelineDeps, options: PipelineOptions): Pipeline {
  const { clock, inFlight, metrics, log } = deps;
  const requests = createTransientSet<InFlightRequest>();
  let onIdle: (() => void)[] = [];

  /** Returns the handler's response, unless the request times out or the client leaves before. */
  async function withinTime(request: InFlightRequest, ms: number): Promise<ApiResponse> {
    const { state } = request;
    const timer = Number.isFinite(ms) ? clock.setTimer(() => state.abort(timedOut()), ms) : undefined;
    const givenUp = new Promise<never>((_resolve, reject) => state.onAbort(reject));
    try {
      return await Promise.race([handle(deps, request), givenUp]);
    } finally {
      timer?.cancel();
      // Also records a request that ended before it was authenticated.
      openRecord(request, deps.audit);
    }
  }

  async function run(request: InFlightRequest): Promise<void> {
    try {
      const ms = readTarget(request, options.requestTimeoutMs);
      if (request.long) request.endLong = metrics.longRunning(request.state);
      await respond(deps, request, await withinTime(request, ms));
    } catch (thrown) {
      const error = asError(thrown);
      // Aborts work on a response that will not be sent.
      request.state.abort(error);
      await respondFailure(deps, request, error);
    } finally {
      closeRecord(request, undefined);
    }
  }

  function finish(request: InFlightRequest): void {
    const { state } = request;
    requests.delete(request);
    endRequest(request, inFlight);
    request.endLong?.();
    metrics.finished(state, (clock.monotonic() - state.startedMs) / 1000);
    if (requests.size > 0 || onIdle.length === 0) return;
    for (const resolve of onIdle) resolve();
    onIdle = [];
  }

  function serve(exchange: Exchange): void {
    const state = new RequestState({
      id: auditId(exchange.headers['audit-id']),
      exchange,
      receivedMs: clock.now(),
      startedMs: clock.monotonic(),
      bodyLimitBytes: options.bodyLimitBytes,
    });
    const request = createInFlightRequest(state);
    requests.add(request);
    exchange.onClose(() => {
      if (!request.finished) state.abort(new ClientGoneError());
    });
    run(request).then(
      () => finish(request),
      (error: unknown) => {
        log.error({ err: asError(error), auditID: state.id }, 'Failed to respond');
        exchange.destroy();
        state.abort(asError(error));
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
      for (const { state, long } of requests.values())
        if (long || which === 'all') state.abort(shuttingDown());
    },
  };
}
