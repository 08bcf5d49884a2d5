/** Limits on requests in flight, separate for read-only and mutating requests, shared fairly among clients.
 *  Excess requests wait for a bounded time, each client in a queue of its own. A slot is acquired only while the
 *  request is in progress, and one place releases it: once the last work on the request has ended and its response is
 *  complete, whichever comes later and however either ends. So no step has to undo anything. */
import type { Clock, Timer } from '#api/kit/clock.ts';
import { tooManyRequests } from '#api/meta/status-errors.ts';
import type { FlowAdmission, FlowControl } from '../../flow-control/flow-control.ts';
import type { RequestKind } from '../contract.ts';
import type { ServerRequest } from '../request/server-request.ts';

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
  /** API priority and fairness; absent: `inFlight` limits requests instead. */
  readonly flowControl?: FlowControl;
  /** Counts rejected requests. */
  readonly metrics: { rejected(kind: RequestKind): void };
}

/** Members of this group bypass the limits. */
const NEVER_WAITING = 'system:masters';
const READING: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'head', 'options']);
const HEALTH = /^\/(?:healthz|livez|readyz)(?:\/|$)/;

/** Limit step: acquires a slot, or the seats of its priority level, if the request needs one; returns a promise if it
 *  has to wait.
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
      throw refusal();
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

export interface FairQueueOptions {
  /** Maximum number of items inside at once. */
  readonly slots: number;
  /** Maximum number of waiting items per flow. */
  readonly maxPerFlow: number;
  /** Maximum number of waiting items in total. */
  readonly maxWaiting: number;
}

export type Arrival<Item> =
  /** `evicted`: an item of another flow that was evicted to free a place. */
  { readonly kind: 'waiting'; readonly evicted?: Item } | { readonly kind: 'rejected' };

export interface FairQueue<Item> {
  readonly inside: number;
  readonly waiting: number;
  /** Acquires a slot if one is free. */
  admit(): boolean;
  /** Queues an item that was not admitted. */
  arrive(flow: string, item: Item): Arrival<Item>;
  /** Releases the slot of an item; returns the waiting item that acquires it. */
  leave(): Item | undefined;
  /** Removes a waiting item. Returns false if it was not waiting. */
  remove(flow: string, item: Item): boolean;
}

/** Decides which of many items enters next through a gate of limited width. Items of one flow (one client) wait in a
 *  queue of their own; the queues are served round-robin, one item each, so a flow with a thousand items delays one
 *  with a single item by one turn. Never reads a clock and calls nothing. */
export function createFairQueue<Item>(options: FairQueueOptions): FairQueue<Item> {
  const { slots, maxPerFlow, maxWaiting } = options;
  // In round-robin order: the first is served next and then moves to the end.
  const flows = new Map<string, Item[]>();
  let inside = 0;
  let waiting = 0;

  /** Removes the newest item of the longest queue if that has more than one. */
  function evict(): Item | undefined {
    let longest: Item[] | undefined;
    for (const queue of flows.values()) {
      if (queue.length > (longest?.length ?? 1)) longest = queue;
    }
    if (longest !== undefined) waiting -= 1;
    return longest?.pop();
  }

  function append(flow: string, item: Item): void {
    const queue = flows.get(flow);
    if (queue === undefined) flows.set(flow, [item]);
    else queue.push(item);
    waiting += 1;
  }

  return {
    get inside() {
      return inside;
    },
    get waiting() {
      return waiting;
    },
    admit() {
      // While items wait no slot is free: a released slot passes directly to the next item.
      if (inside >= slots) return false;
      inside += 1;
      return true;
    },
    arrive(flow, item) {
      const queued = flows.get(flow)?.length ?? 0;
      if (queued >= maxPerFlow) return { kind: 'rejected' };
      if (waiting < maxWaiting) {
        append(flow, item);
        return { kind: 'waiting' };
      }
      // Full: the flow with the most waiting items loses one to a flow with none.
      const evicted = queued === 0 ? evict() : undefined;
      if (evicted === undefined) return { kind: 'rejected' };
      append(flow, item);
      return { kind: 'waiting', evicted };
    },
    leave() {
      const first = flows.entries().next();
      if (first.done === true) {
        inside -= 1;
        return undefined;
      }
      const [flow, queue] = first.value;
      const item = queue.shift();
      waiting -= 1;
      flows.delete(flow);
      if (queue.length > 0) flows.set(flow, queue);
      return item;
    },
    remove(flow, item) {
      const queue = flows.get(flow);
      const index = queue?.indexOf(item) ?? -1;
      if (queue === undefined || index < 0) return false;
      queue.splice(index, 1);
      waiting -= 1;
      if (queue.length === 0) flows.delete(flow);
      return true;
    },
  };
}
