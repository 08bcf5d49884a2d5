/** One queue of a priority level: its waiting requests in order of arrival, and sums over them. Pure. */

/** Assumed duration of a request until it is known, in s. */
export const ASSUMED_S = 0.003;

/** A request in a queue set, which owns the mutable members. */
export interface QueueItem<Item extends QueueItem<Item>> {
  /** Seats that it occupies until its end. */
  readonly initialSeats: number;
  /** Seats that it occupies for `finalMs` after its end. */
  finalSeats: number;
  finalMs: number;
  /** Owned by the queue set. */
  readonly place: QueuePlace<Item>;
}

/** The position of a request. Times in ms. */
export class QueuePlace<Item extends QueueItem<Item>> {
  queue: Queue<Item> | undefined;
  previous: Item | undefined;
  next: Item | undefined;
  isQueued = false;
  arrivedMs = 0;
  startedMs = 0;
  arrivalR = 0;
}

type Width = Pick<QueueItem<never>, 'initialSeats' | 'finalSeats' | 'finalMs'>;

export const seatsOf = (item: Width): number => Math.max(item.initialSeats, item.finalSeats);
/** In seat-seconds. */
export const finalWorkOf = (item: Width): number => (item.finalSeats * item.finalMs) / 1000;
export const workOf = (item: Width): number => item.initialSeats * ASSUMED_S + finalWorkOf(item);

/** First in, first out. Members are sums over the waiting requests, or over the executing ones. */
export class Queue<Item extends QueueItem<Item>> {
  readonly index: number;
  first: Item | undefined;
  last: Item | undefined;
  length = 0;
  waitingInitialSeats = 0;
  waitingSeats = 0;
  waitingWork = 0;
  executing = 0;
  seatsInUse = 0;
  /** Requests wait or execute. */
  isActive = false;
  /** Virtual time at which the next request starts. */
  nextR = 0;
  /** Position among the queues with waiting requests. */
  busyAt = -1;

  constructor(index: number) {
    this.index = index;
  }

  push(item: Item): void {
    const { place } = item;
    place.previous = this.last;
    place.next = undefined;
    place.isQueued = true;
    if (this.last === undefined) this.first = item;
    else this.last.place.next = item;
    this.last = item;
    this.#count(item, 1);
  }

  remove(item: Item): void {
    const { place } = item;
    if (place.previous === undefined) this.first = place.next;
    else place.previous.place.next = place.next;
    if (place.next === undefined) this.last = place.previous;
    else place.next.place.previous = place.previous;
    place.previous = undefined;
    place.next = undefined;
    place.isQueued = false;
    this.#count(item, -1);
  }

  #count(item: Item, by: 1 | -1): void {
    this.length += by;
    this.waitingInitialSeats += by * item.initialSeats;
    this.waitingSeats += by * seatsOf(item);
    this.waitingWork = this.length === 0 ? 0 : this.waitingWork + by * workOf(item);
  }

  /** A queue with waiting requests gains no credit from the time before they arrived. */
  bound(): void {
    const arrivalR = this.first?.place.arrivalR ?? this.nextR;
    if (this.nextR < arrivalR) this.nextR = arrivalR;
  }
}
