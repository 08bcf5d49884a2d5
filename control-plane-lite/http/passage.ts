/** A request on its way through the pipeline: what has to be undone or reported at its end. */
import type { AuditRecord } from './audit/auditor.ts';
import type { InFlight, RequestKind } from './in-flight.ts';
import type { RequestMetrics } from './request-metrics.ts';
import type { RequestState } from './request-state.ts';

export interface Passage {
  readonly state: RequestState;
  /** It has no end of its own. */
  long: boolean;
  seat: RequestKind | undefined;
  record: AuditRecord | undefined;
  /** The handler is at work; it may still be when the request has been answered. */
  handling: boolean;
  finished: boolean;
}

export function createPassage(state: RequestState): Passage {
  return { state, long: false, seat: undefined, record: undefined, handling: false, finished: false };
}

/** Members are never made to wait. */
const NEVER_WAITING = 'system:masters';
const READING: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'head', 'options']);
const HEALTH = /^\/(?:healthz|livez|readyz)(?:\/|$)/;

/** Takes the seat that a request needs, if it needs one; a promise if it has to be waited for.
 *  The promise rejects with a StatusError TooManyRequests. */
export function takeSeat(
  passage: Passage,
  inFlight: InFlight,
  metrics: RequestMetrics,
): Promise<void> | undefined {
  const { state } = passage;
  const { verb, path, isResource } = state.info;
  if (passage.long || (!isResource && HEALTH.test(path))) return undefined;
  const kind: RequestKind = READING.has(verb) ? 'readOnly' : 'mutating';
  if (inFlight.tryEnter(kind)) {
    passage.seat = kind;
    return undefined;
  }
  if (state.user.groups.includes(NEVER_WAITING)) return undefined;
  return waitForSeat(passage, kind, inFlight, metrics);
}

async function waitForSeat(
  passage: Passage,
  kind: RequestKind,
  inFlight: InFlight,
  metrics: RequestMetrics,
): Promise<void> {
  const { state } = passage;
  try {
    await inFlight.enter({ kind, flow: state.user.name, onAbort: state.onAbort });
  } catch (error) {
    metrics.rejected(kind);
    throw error;
  }
  passage.seat = kind;
}

/** Gives the seat back as soon as nobody works on the request any more. */
export function leaveSeat(passage: Passage, inFlight: InFlight): void {
  if (passage.seat === undefined || passage.handling || !passage.finished) return;
  inFlight.leave(passage.seat);
  passage.seat = undefined;
}
