/** A request in the pipeline, and the owner of the resources it acquires: its concurrency slot and its audit
 *  record. A slot is acquired only while the request is in progress, and one place releases it: once the last
 *  work on the request has ended and its response is complete, whichever comes later and however either ends.
 *  So no step has to undo anything. */
import type { Auditor, AuditRecord } from '../audit/auditor.ts';
import type { BytesResponse } from '../contract.ts';
import type { InFlight, RequestKind } from '../limits/in-flight.ts';
import type { RequestMetrics } from '../metrics/request-metrics.ts';
import type { RequestState } from '../request/request-state.ts';

export interface InFlightRequest {
  readonly state: RequestState;
  /** The response does not end by itself. */
  long: boolean;
  /** Uncounts a request that does not end by itself. */
  endLong: (() => void) | undefined;
  slot: RequestKind | undefined;
  /** Present while the audit record is open. */
  record: AuditRecord | undefined;
  /** Whether the audit log has seen the request, even if the policy records nothing of it. */
  recorded: boolean;
  /** A step or the handler is running; it may outlast the response. */
  working: boolean;
  finished: boolean;
}

export function createInFlightRequest(state: RequestState): InFlightRequest {
  return {
    state,
    long: false,
    endLong: undefined,
    slot: undefined,
    record: undefined,
    recorded: false,
    working: false,
    finished: false,
  };
}

/** Ends work on an aborted request. Must be called after every await.
 *  @throws the reason of the abort */
export function throwIfAborted({ state }: InFlightRequest): void {
  if (state.abortReason !== undefined) throw state.abortReason;
}

/** Opens the request's audit record, once: also for a request that ends before it is authenticated. */
export function openRecord(request: InFlightRequest, audit: Auditor | undefined): void {
  if (request.recorded) return;
  request.recorded = true;
  request.record = audit?.begin(request.state);
}

/** Members of this group bypass the limits. */
const NEVER_WAITING = 'system:masters';
const READING: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'head', 'options']);
const HEALTH = /^\/(?:healthz|livez|readyz)(?:\/|$)/;

/** Closes the audit record, once: with the response, or without one if it was not completed. */
export function closeRecord(request: InFlightRequest, response: BytesResponse | undefined): void {
  const { record } = request;
  request.record = undefined;
  record?.complete(response);
}

/** Acquires a slot if the request needs one; returns a promise if it has to wait.
 *  The promise rejects with a StatusError TooManyRequests.
 *  @throws Error for a request that is not in progress: nothing would release its slot */
export function acquireSlot(
  request: InFlightRequest,
  inFlight: InFlight,
  metrics: RequestMetrics,
): Promise<void> | undefined {
  const { state } = request;
  const { verb, path, isResource } = state.info;
  throwIfAborted(request);
  if (!request.working || request.slot !== undefined) {
    throw new Error('a concurrency slot can only be acquired once, while the request is in progress');
  }
  if (request.long || (!isResource && HEALTH.test(path))) return undefined;
  const kind: RequestKind = READING.has(verb) ? 'readOnly' : 'mutating';
  if (inFlight.tryEnter(kind)) {
    request.slot = kind;
    return undefined;
  }
  if (state.user.groups.includes(NEVER_WAITING)) return undefined;
  return waitForSlot(request, kind, inFlight, metrics);
}

async function waitForSlot(
  request: InFlightRequest,
  kind: RequestKind,
  inFlight: InFlight,
  metrics: RequestMetrics,
): Promise<void> {
  const { state } = request;
  try {
    await inFlight.enter({ kind, flow: state.user.name, onAbort: state.onAbort });
  } catch (error) {
    metrics.rejected(kind);
    throw error;
  }
  request.slot = kind;
}

/** The only place that releases a slot: once no work on the request is left and its response is complete. */
function releaseSlot(request: InFlightRequest, inFlight: InFlight): void {
  const { slot } = request;
  if (slot === undefined || request.working || !request.finished) return;
  request.slot = undefined;
  inFlight.leave(slot);
}

/** Must be called before the first step. */
export function beginWork(request: InFlightRequest): void {
  request.working = true;
}

/** Must be called when no step and no handler runs any more, however they ended. */
export function endWork(request: InFlightRequest, inFlight: InFlight): void {
  request.working = false;
  releaseSlot(request, inFlight);
}

/** Must be called when the response is complete, or never will be. */
export function endRequest(request: InFlightRequest, inFlight: InFlight): void {
  request.finished = true;
  releaseSlot(request, inFlight);
}
