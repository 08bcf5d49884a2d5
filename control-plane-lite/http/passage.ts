/** A request on its way through the pipeline, and the owner of what it acquires: its concurrency slot and its audit
 *  record. A slot is taken only while the request is being worked on, and there is one place that gives it back: when
 *  the last work on the request has ended and it has been answered, whichever comes later and however either ends. So
 *  no step has to undo anything. */
import type { Auditor, AuditRecord } from './audit/auditor.ts';
import type { BytesResponse } from './contract.ts';
import type { InFlight, RequestKind } from './in-flight.ts';
import type { RequestMetrics } from './request-metrics.ts';
import type { RequestState } from './request-state.ts';

export interface Passage {
  readonly state: RequestState;
  /** It has no end of its own. */
  long: boolean;
  /** Takes it out of the count of such requests. */
  endLong: (() => void) | undefined;
  seat: RequestKind | undefined;
  /** While it is open. */
  record: AuditRecord | undefined;
  /** Whether the audit log knows of the request, be it only as one that is not to be recorded. */
  recorded: boolean;
  /** A step or the handler is at work; it may still be when the request has been answered. */
  working: boolean;
  finished: boolean;
}

export function createPassage(state: RequestState): Passage {
  return {
    state,
    long: false,
    endLong: undefined,
    seat: undefined,
    record: undefined,
    recorded: false,
    working: false,
    finished: false,
  };
}

/** Work on a request that was given up goes no further. To be called after whatever was waited for.
 *  @throws the reason why nothing more is to be done for the request */
export function goOn({ state }: Passage): void {
  if (state.abortReason !== undefined) throw state.abortReason;
}

/** Opens the request's audit record, once: also for one that ends before it is known whose it is. */
export function openRecord(passage: Passage, audit: Auditor | undefined): void {
  if (passage.recorded) return;
  passage.recorded = true;
  passage.record = audit?.begin(passage.state);
}

/** Members are never made to wait. */
const NEVER_WAITING = 'system:masters';
const READING: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'head', 'options']);
const HEALTH = /^\/(?:healthz|livez|readyz)(?:\/|$)/;

/** Closes the audit record, once: with the answer, or without where there was none to its end. */
export function closeRecord(passage: Passage, response: BytesResponse | undefined): void {
  const { record } = passage;
  passage.record = undefined;
  record?.complete(response);
}

/** Takes the seat that a request needs, if it needs one; a promise if it has to be waited for.
 *  The promise rejects with a StatusError TooManyRequests.
 *  @throws Error for a request that nobody works on: nobody would give the seat back */
export function takeSeat(
  passage: Passage,
  inFlight: InFlight,
  metrics: RequestMetrics,
): Promise<void> | undefined {
  const { state } = passage;
  const { verb, path, isResource } = state.info;
  goOn(passage);
  if (!passage.working || passage.seat !== undefined) {
    throw new Error('a concurrency slot can only be taken once, while the request is being worked on');
  }
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

/** The only place that gives a seat back: once nobody works on the request any more and it has been answered. */
function leaveSeat(passage: Passage, inFlight: InFlight): void {
  const { seat } = passage;
  if (seat === undefined || passage.working || !passage.finished) return;
  passage.seat = undefined;
  inFlight.leave(seat);
}

/** To be called before the first step. */
export function beginWork(passage: Passage): void {
  passage.working = true;
}

/** To be called when no step and no handler is at work any more, however they ended. */
export function endWork(passage: Passage, inFlight: InFlight): void {
  passage.working = false;
  leaveSeat(passage, inFlight);
}

/** To be called when the request has been answered, or never will be. */
export function endPassage(passage: Passage, inFlight: InFlight): void {
  passage.finished = true;
  leaveSeat(passage, inFlight);
}
