/** Limit step: acquires the concurrency slot of a request. A slot is acquired only while the request is in progress,
 *  and one place releases it: once the last work on the request has ended and its response is complete,
 *  whichever comes later and however either ends. So no step has to undo anything. */
import { tooManyRequests } from '#api/meta/status-errors.ts';
import type { FlowAdmission, FlowControl } from '../../flow-control/flow-control.ts';
import type { InFlight, RequestKind } from '../limits/in-flight.ts';
import type { RequestMetrics } from '../metrics/request-metrics.ts';
import type { ServerRequest } from '../request/server-request.ts';

export interface LimitDeps {
  readonly inFlight: InFlight;
  /** API priority and fairness; absent: `inFlight` limits requests instead. */
  readonly flowControl?: FlowControl;
  readonly metrics: RequestMetrics;
}

/** Members of this group bypass the limits. */
const NEVER_WAITING = 'system:masters';
const READING: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'head', 'options']);
const HEALTH = /^\/(?:healthz|livez|readyz)(?:\/|$)/;

/** Acquires a slot, or the seats of its priority level, if the request needs one; returns a promise if it has to wait.
 *  The promise rejects with a StatusError TooManyRequests.
 *  @throws Error for a request that is not in progress: nothing would release its slot */
export function limit(deps: LimitDeps, request: ServerRequest): Promise<void> | undefined {
  const { verb, path, isResource } = request.info;
  if (!request.isWorking || request.slot !== undefined || request.admission !== undefined) {
    throw new Error('a concurrency slot can only be acquired once, while the request is in progress');
  }
  if (deps.flowControl !== undefined) return enterFlow(deps, deps.flowControl, request);
  if (request.isLong || (!isResource && HEALTH.test(path))) return undefined;
  const kind: RequestKind = READING.has(verb) ? 'readOnly' : 'mutating';
  if (deps.inFlight.tryEnter(kind)) {
    request.slot = kind;
    return undefined;
  }
  if (request.user.groups.includes(NEVER_WAITING)) return undefined;
  return waitForSlot(deps, request, kind);
}

/** Of the requests that do not end by themselves, only a watch occupies a seat, until it is initialized.
 *  @throws StatusError TooManyRequests */
function enterFlow(
  deps: LimitDeps,
  flowControl: FlowControl,
  request: ServerRequest,
): Promise<void> | undefined {
  if (request.isLong && request.info.verb !== 'watch') return undefined;
  const admission = flowControl.arrive(request);
  request.admission = admission;
  switch (admission.state) {
    case 'executing':
      return undefined;
    case 'waiting':
      return waitForSeats(deps, flowControl, request, admission);
    case 'rejected':
    case 'over':
      deps.metrics.rejected(admission.kind);
      throw tooManyRequests('Too many requests, please try again later.', 1);
    default:
      return admission.state satisfies never;
  }
}

async function waitForSeats(
  deps: LimitDeps,
  flowControl: FlowControl,
  request: ServerRequest,
  admission: FlowAdmission,
): Promise<void> {
  try {
    await flowControl.wait(admission, request.onAbort);
  } catch (error) {
    deps.metrics.rejected(admission.kind);
    throw error;
  }
}

async function waitForSlot(deps: LimitDeps, request: ServerRequest, kind: RequestKind): Promise<void> {
  try {
    await deps.inFlight.enter({ kind, flow: request.user.name, onAbort: request.onAbort });
  } catch (error) {
    deps.metrics.rejected(kind);
    throw error;
  }
  request.slot = kind;
}

/** The only place that releases a slot: once no work on the request is left and its response is complete. */
function releaseSlot(request: ServerRequest, inFlight: InFlight): void {
  const { slot } = request;
  if (request.isWorking || !request.isFinished) return;
  request.admission?.end();
  if (slot === undefined) return;
  request.slot = undefined;
  inFlight.leave(slot);
}

/** Must be called when no step and no handler runs any more, however they ended. */
export function endWork(request: ServerRequest, inFlight: InFlight): void {
  request.isWorking = false;
  releaseSlot(request, inFlight);
}

/** Must be called when the response is complete, or never will be. */
export function endRequest(request: ServerRequest, inFlight: InFlight): void {
  request.isFinished = true;
  releaseSlot(request, inFlight);
}
