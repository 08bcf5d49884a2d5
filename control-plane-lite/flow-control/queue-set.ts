/** Fair queuing of the requests of one priority level by virtual time. Each queue gets an equal share of the
 *  level's seats; a request advances its queue's virtual time by the seats that it occupies and the time that it
 *  occupies them, and the queue that is furthest behind is served next. Reads no clock and calls nothing but
 *  `onBlocked`. Source: upstream's queueset package of release 1.24. */

import { ASSUMED_S, finalWorkOf, Queue, type QueueItem, seatsOf, workOf } from './queue.ts';

/** Virtual time is wound back at this value, so that small increments remain exact. */
const HIGH = 2 ** 30;

export interface QueueSetOptions {
  /** Seats of the level. */
  readonly seats: number;
  /** 0: requests beyond the seats are rejected. */
  readonly queues: number;
  /** Maximum number of requests in a queue while no seat is free. */
  readonly queueLengthLimit: number;
}

export type Arrival = 'executing' | 'waiting' | 'rejected';

/** Virtual times at the last dispatch from a queue, in seat-seconds, for metrics. */
export interface DispatchTimes {
  readonly r: number;
  readonly s: number;
  readonly minS: number;
  readonly maxS: number;
  readonly minDiscountedS: number;
  readonly maxDiscountedS: number;
}

export class QueueSet<Item extends QueueItem<Item>> {
  waiting = 0;
  executing = 0;
  seatsInUse = 0;
  /** Virtual time, in seat-seconds per queue. */
  currentR = 0;
  epochs = 0;
  lastDispatch: DispatchTimes | undefined;
  #options: QueueSetOptions;
  /** By index, created on first use. */
  readonly #queues: Queue<Item>[] = [];
  /** Queues with waiting requests, in no order. */
  readonly #busy: Queue<Item>[] = [];
  readonly #onBlocked: (item: Item) => void;
  /** Number of active queues, and the seats that all queues request or use. */
  #activeQueues = 0;
  #queueSeats = 0;
  #syncedMs: number;
  #enqueued = 0;
  /** Index of the queue that was served last. */
  #robin = -1;

  /** `onBlocked`: the next request needs more seats than are free. */
  constructor(options: QueueSetOptions, nowMs: number, onBlocked: (item: Item) => void) {
    this.#options = options;
    this.#syncedMs = nowMs;
    this.#onBlocked = onBlocked;
  }

  get options(): QueueSetOptions {
    return this.#options;
  }

  get isIdle(): boolean {
    return this.waiting === 0 && this.executing === 0;
  }

  /** Queues that were used, by index. */
  get queues(): readonly (Queue<Item> | undefined)[] {
    return this.#queues;
  }

  /** Requests of queues that exist no more are served like all others. The caller dispatches afterwards. */
  configure(options: QueueSetOptions, nowMs: number): void {
    this.#sync(nowMs);
    this.#options = options;
  }

  /** Starts a request, queues it or rejects it. After `waiting` the caller dispatches, which may start it.
   *  @param hand indexes of its flow's queues; not empty if there are queues */
  arrive(item: Item, hand: readonly number[], nowMs: number): Arrival {
    this.#sync(nowMs);
    const { place } = item;
    place.arrivedMs = nowMs;
    place.arrivalR = this.currentR;
    if (this.#options.queues === 0) {
      if (!this.#fits(seatsOf(item))) return 'rejected';
      this.#start(item, undefined, nowMs);
      return 'executing';
    }
    const queue = this.#choose(hand);
    const { seats, queueLengthLimit } = this.#options;
    if (this.seatsInUse >= seats && queue.length >= queueLengthLimit) return 'rejected';
    if (queue.length === 0 && queue.executing === 0) queue.nextR = this.currentR;
    if (this.waiting === 0 && this.seatsInUse < seats && this.#fits(seatsOf(item))) {
      this.#limitFinalSeats(item);
      this.#start(item, queue, nowMs);
      queue.nextR += workOf(item);
      return 'executing';
    }
    this.#enqueue(item, queue);
    return 'waiting';
  }

  /** Starts the next waiting request; `undefined`: none can start now. */
  dispatch(nowMs: number): Item | undefined {
    if (this.waiting === 0 || this.seatsInUse >= this.#options.seats) return undefined;
    this.#sync(nowMs);
    const queue = this.#furthestBehind();
    const item = queue.first;
    if (item === undefined) throw new Error('an empty queue is among those with waiting requests');
    if (!this.#fits(seatsOf(item))) {
      this.#onBlocked(item);
      return undefined;
    }
    this.lastDispatch = this.#dispatchTimes(queue);
    this.#robin = queue.index;
    this.#dequeue(item, queue);
    this.#limitFinalSeats(item);
    this.#start(item, queue, nowMs);
    queue.nextR += workOf(item);
    queue.bound();
    return item;
  }

  /** Ends the execution of a request. Its seats remain occupied until `release`, which the caller calls after
   *  its `finalMs`, and dispatches. */
  finish(item: Item, nowMs: number): void {
    this.#sync(nowMs);
    this.executing -= 1;
    const { queue, startedMs } = item.place;
    if (queue === undefined) return;
    queue.executing -= 1;
    // The queue was charged for the assumed duration.
    queue.nextR -= item.initialSeats * (ASSUMED_S - (nowMs - startedMs) / 1000);
    queue.bound();
    this.#settle(queue);
  }

  /** Releases the seats of a finished request. */
  release(item: Item, nowMs: number): void {
    this.#sync(nowMs);
    const seats = seatsOf(item);
    this.seatsInUse -= seats;
    const { queue } = item.place;
    if (queue === undefined) return;
    queue.seatsInUse -= seats;
    this.#queueSeats -= seats;
  }

  /** Removes a waiting request. Returns false if it does not wait. The caller dispatches afterwards. */
  cancel(item: Item, nowMs: number): boolean {
    const { queue, isQueued } = item.place;
    if (queue === undefined || !isQueued) return false;
    this.#sync(nowMs);
    this.#dequeue(item, queue);
    queue.bound();
    this.#settle(queue);
    return true;
  }

  /** Advances virtual time by the state since the last call. */
  #sync(nowMs: number): void {
    const elapsedS = (nowMs - this.#syncedMs) / 1000;
    this.#syncedMs = nowMs;
    if (this.#activeQueues === 0 || elapsedS <= 0) return;
    this.currentR += (Math.min(this.#queueSeats, this.#options.seats) / this.#activeQueues) * elapsedS;
    if (this.currentR >= HIGH) this.#windBack();
  }

  #windBack(): void {
    const by = this.currentR - HIGH / 2;
    this.currentR -= by;
    this.epochs += 1;
    for (const queue of this.#queues) {
      if (queue === undefined) continue;
      queue.nextR -= by;
      for (let item = queue.first; item !== undefined; item = item.place.next) item.place.arrivalR -= by;
    }
  }

  /** A request with more seats than the level has runs alone. */
  #fits(seats: number): boolean {
    const limit = this.#options.seats;
    return seats > limit ? this.executing === 0 : this.seatsInUse + seats <= limit;
  }

  /** Returns the queue of a hand with the least waiting work; among equal ones each has its turn. */
  #choose(hand: readonly number[]): Queue<Item> {
    const offset = this.#enqueued % hand.length;
    this.#enqueued += 1;
    let chosen: Queue<Item> | undefined;
    for (let turn = 0; turn < hand.length; turn += 1) {
      const queue = this.#queueAt(hand[(offset + turn) % hand.length] ?? 0);
      if (chosen === undefined || queue.waitingWork < chosen.waitingWork) chosen = queue;
      if (chosen.length === 0) break;
    }
    return chosen ?? this.#queueAt(0);
  }

  #queueAt(index: number): Queue<Item> {
    this.#queues[index] ??= new Queue(index);
    return this.#queues[index];
  }

  #start(item: Item, queue: Queue<Item> | undefined, nowMs: number): void {
    const seats = seatsOf(item);
    item.place.queue = queue;
    item.place.startedMs = nowMs;
    this.executing += 1;
    this.seatsInUse += seats;
    if (queue === undefined) return;
    this.#activate(queue);
    queue.executing += 1;
    queue.seatsInUse += seats;
    this.#queueSeats += seats;
  }

  #enqueue(item: Item, queue: Queue<Item>): void {
    item.place.queue = queue;
    this.#activate(queue);
    if (queue.length === 0) queue.busyAt = this.#busy.push(queue) - 1;
    queue.push(item);
    queue.bound();
    this.waiting += 1;
    this.#queueSeats += seatsOf(item);
  }

  /** The caller starts the request or calls `#settle`. */
  #dequeue(item: Item, queue: Queue<Item>): void {
    queue.remove(item);
    this.waiting -= 1;
    this.#queueSeats -= seatsOf(item);
    if (queue.length > 0) return;
    const last = this.#busy.pop();
    if (last !== undefined && last !== queue) {
      this.#busy[queue.busyAt] = last;
      last.busyAt = queue.busyAt;
    }
    queue.busyAt = -1;
  }

  #activate(queue: Queue<Item>): void {
    if (queue.isActive) return;
    queue.isActive = true;
    this.#activeQueues += 1;
  }

  #settle(queue: Queue<Item>): void {
    if (!queue.isActive || queue.length > 0 || queue.executing > 0) return;
    queue.isActive = false;
    this.#activeQueues -= 1;
  }

  /** The final work of a request that is wider than the level is done in more time on fewer seats. */
  #limitFinalSeats(item: Item): void {
    const { seats } = this.#options;
    if (item.finalSeats <= seats) return;
    item.finalMs = (finalWorkOf(item) * 1000) / seats;
    item.finalSeats = seats;
  }

  /** Turns until a queue is next in order; breaks ties. */
  #turnsUntil(queue: Queue<Item>): number {
    const count = Math.max(this.#options.queues, this.#queues.length);
    return (queue.index - this.#robin - 1 + 2 * count) % count;
  }

  /** Returns the queue whose first request has the earliest virtual end. */
  #furthestBehind(): Queue<Item> {
    const [first] = this.#busy;
    if (first === undefined) throw new Error('no queue has waiting requests');
    let behind = first;
    let end = Number.POSITIVE_INFINITY;
    for (const queue of this.#busy) {
      const itsEnd = queue.nextR + (queue.first === undefined ? 0 : workOf(queue.first));
      if (itsEnd < end || (itsEnd === end && this.#turnsUntil(queue) < this.#turnsUntil(behind))) {
        behind = queue;
        end = itsEnd;
      }
    }
    return behind;
  }

  #dispatchTimes(served: Queue<Item>): DispatchTimes {
    let [minS, maxS, minDiscountedS, maxDiscountedS] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const { nextR, seatsInUse } of this.#busy) {
      const discounted = nextR - seatsInUse * ASSUMED_S;
      minS = Math.min(minS, nextR);
      maxS = Math.max(maxS, nextR);
      minDiscountedS = Math.min(minDiscountedS, discounted);
      maxDiscountedS = Math.max(maxDiscountedS, discounted);
    }
    return { r: this.currentR, s: served.nextR, minS, maxS, minDiscountedS, maxDiscountedS };
  }
}
