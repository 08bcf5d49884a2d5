/** Limits on requests in flight, separate for read-only and mutating requests, shared fairly among clients.
 *  Excess requests wait for a bounded time, each client in a queue of its own. */
import type { Clock, Timer } from '#api/kit/clock.ts';
import { tooManyRequests } from '#api/meta/status-errors.ts';
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
