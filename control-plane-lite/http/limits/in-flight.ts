/** Limits on requests in flight, separate for read-only and mutating requests, shared fairly among clients.
 *  Excess requests wait for a bounded time, each client in a queue of its own. */
import type { Clock, Timer } from '#api/kit/clock.ts';
import { tooManyRequests } from '#api/meta/status-errors.ts';
import type { RequestMetrics } from '../metrics/request-metrics.ts';
import type { ServerRequest } from '../request/server-request.ts';
import { createFairQueue, type FairQueue } from './fair-queue.ts';

export type RequestKind = 'readOnly' | 'mutating';

export interface InFlightOptions {
  /** `--max-requests-inflight`. Default 400. */
  readonly readOnly?: number;
  /** `--max-mutating-requests-inflight`. Default 200. */
  readonly mutating?: number;
  /** Longest wait for a slot, in ms. Default 15 s. */
  readonly maxWaitMs?: number;
  /** Waiting requests of one client. Default 500. */
  readonly maxPerFlow?: number;
  /** Waiting requests of one kind. Default 5,000. */
  readonly maxWaiting?: number;
}

export interface SlotRequest {
  readonly kind: RequestKind;
  /** The client of the request. */
  readonly flow: string;
  /** Receives the function that cancels waiting. */
  readonly onAbort: (giveUp: (error: Error) => void) => void;
}

export interface InFlight {
  /** `undefined`: the slot was acquired immediately. A promise: acquired once it resolves; it rejects with
   *  TooManyRequests. */
  enter(request: SlotRequest): Promise<void> | undefined;
  /** Acquires a slot if one is free, for callers that never wait. */
  tryEnter(kind: RequestKind): boolean;
  /** Releases the slot. */
  leave(kind: RequestKind): void;
  count(kind: RequestKind): number;
  waiting(kind: RequestKind): number;
}

interface Waiter {
  readonly grant: () => void;
  readonly refuse: (error: Error) => void;
}

const refusal = (): Error => tooManyRequests('Too many requests, please try again later.', 1);

export function createInFlight(deps: { readonly clock: Clock }, options: InFlightOptions = {}): InFlight {
  const { maxWaitMs = 15_000, maxPerFlow = 500, maxWaiting = 5000 } = options;
  const queueOf = (slots: number): FairQueue<Waiter> => createFairQueue({ slots, maxPerFlow, maxWaiting });
  const queues = { readOnly: queueOf(options.readOnly ?? 400), mutating: queueOf(options.mutating ?? 200) };

  function wait(queue: FairQueue<Waiter>, request: SlotRequest): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      let timer: Timer | undefined;
      const waiter: Waiter = {
        grant: () => {
          timer?.cancel();
          resolve();
        },
        refuse: (error) => {
          timer?.cancel();
          reject(error);
        },
      };
      const giveUp = (error: Error): void => {
        if (queue.remove(request.flow, waiter)) waiter.refuse(error);
      };
      const arrival = queue.arrive(request.flow, waiter);
      if (arrival.kind === 'rejected') return reject(refusal());
      arrival.evicted?.refuse(refusal());
      timer = deps.clock.setTimer(() => giveUp(refusal()), maxWaitMs);
      request.onAbort(giveUp);
    });
  }

  return {
    enter(request) {
      const queue = queues[request.kind];
      return queue.admit() ? undefined : wait(queue, request);
    },
    tryEnter: (kind) => queues[kind].admit(),
    leave: (kind) => queues[kind].leave()?.grant(),
    count: (kind) => queues[kind].inside,
    waiting: (kind) => queues[kind].waiting,
  };
}

export interface LimitDeps {
  readonly inFlight: InFlight;
  readonly metrics: RequestMetrics;
}

/** Members of this group bypass the limits. */
const NEVER_WAITING = 'system:masters';
const READING: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'head', 'options']);
const HEALTH = /^\/(?:healthz|livez|readyz)(?:\/|$)/;

/** Acquires a slot if the request needs one; returns a promise if it has to wait.
 *  The promise rejects with a StatusError TooManyRequests.
 *  @throws Error for a request that is not in progress: nothing would release its slot */
export function limit(deps: LimitDeps, request: ServerRequest): Promise<void> | undefined {
  const { verb, path, isResource } = request.info;
  if (!request.isWorking || request.slot !== undefined) {
    throw new Error('a concurrency slot can only be acquired once, while the request is in progress');
  }
  if (request.isLong || (!isResource && HEALTH.test(path))) return undefined;
  const kind: RequestKind = READING.has(verb) ? 'readOnly' : 'mutating';
  if (deps.inFlight.tryEnter(kind)) {
    request.slot = kind;
    return undefined;
  }
  if (request.user.groups.includes(NEVER_WAITING)) return undefined;
  return waitForSlot(deps, request, kind);
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
  if (slot === undefined || request.isWorking || !request.isFinished) return;
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
