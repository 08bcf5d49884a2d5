/** A priority level in operation: seats and queues of its requests, and their metrics. */
import type { PriorityLevelConfiguration } from '#api/gen/flowcontrol-apiserver-v1beta2.ts';
import type { Clock, Timer } from '#api/kit/clock.ts';
import { tooManyRequests } from '#api/meta/status-errors.ts';
import type { Admission, AdmissionFlow, AdmissionLevel } from './admission.ts';
import type { OnAbort } from './contract.ts';
import type { FlowMetrics, FlowSeries, LevelSeries } from './flow-metrics.ts';
import type { KindCounts } from './kind-counts.ts';
import { type LevelPlan, nameOf } from './plan.ts';
import { seatsOf } from './queue.ts';
import { QueueSet, type QueueSetOptions } from './queue-set.ts';
import { dealHand, flowHash } from './shuffle-shard.ts';
import type { WatchCounts } from './watch-counts.ts';

/** Maximum number of flows whose hands are cached. */
const MOST_HANDS = 5000;
const NO_HAND: readonly number[] = [];

export const tooMany = (): Error => tooManyRequests('Too many requests, please try again later.', 1);

/** State that all levels share. */
export interface LevelContext {
  readonly clock: Clock;
  readonly metrics: FlowMetrics;
  readonly counts: KindCounts;
  readonly watches: WatchCounts;
  /** Longest wait in a queue, in ms. */
  readonly maxWaitMs: number;
  /** Names of the response headers with the UIDs of the FlowSchema and the level. */
  readonly uidHeaders: UidHeaders;
  /** A quiescing level has no requests left. */
  readonly onDrained: () => void;
}

export interface UidHeaders {
  readonly schema: string;
  readonly level: string;
}

/** A FlowSchema in operation. */
export class Flow implements AdmissionFlow {
  readonly name: string;
  readonly uid: string;
  readonly level: Level;
  readonly distinguisher: 'ByUser' | 'ByNamespace' | undefined;
  readonly #context: Pick<LevelContext, 'metrics' | 'uidHeaders'>;
  readonly #hands = new Map<string, readonly number[]>();
  #series: FlowSeries | undefined;
  #headers: readonly string[] | undefined;

  constructor(
    schema: { readonly name: string; readonly uid: string; readonly distinguisher: Flow['distinguisher'] },
    level: Level,
    context: Pick<LevelContext, 'metrics' | 'uidHeaders'>,
  ) {
    this.name = schema.name;
    this.uid = schema.uid;
    this.distinguisher = schema.distinguisher;
    this.level = level;
    this.#context = context;
  }

  get series(): FlowSeries {
    this.#series ??= this.#context.metrics.flow(this.level.name, this.name);
    return this.#series;
  }

  /** Headers of the responses, as a flat list. They carry UIDs, because names would show clients how they are
   *  classified. */
  get headers(): readonly string[] {
    const { schema, level } = this.#context.uidHeaders;
    this.#headers ??= [schema, this.uid, level, this.level.uid];
    return this.#headers;
  }

  /** Returns the queues of a flow. */
  hand(distinguisher: string): readonly number[] {
    const { queues, handSize } = this.level;
    if (queues === 0) return NO_HAND;
    const known = this.#hands.get(distinguisher);
    if (known !== undefined) return known;
    const hand = dealHand(flowHash(this.name, distinguisher), queues, handSize);
    if (this.#hands.size >= MOST_HANDS) this.#hands.clear();
    this.#hands.set(distinguisher, hand);
    return hand;
  }
}

export class Level implements AdmissionLevel {
  readonly name: string;
  object: PriorityLevelConfiguration;
  uid: string;
  queues = 0;
  handSize = 0;
  quiescing = false;
  /** `undefined`: requests are exempt from limits. */
  readonly set: QueueSet<Admission> | undefined;
  readonly #context: LevelContext;
  readonly #series: LevelSeries | undefined;

  constructor(plan: LevelPlan, context: LevelContext) {
    const nowMs = context.clock.monotonic();
    this.#context = context;
    this.object = plan.object;
    this.name = nameOf(plan.object);
    this.uid = plan.object.metadata?.uid ?? '';
    if (plan.seats === undefined) return;
    this.set = new QueueSet(queueOptions(plan, plan.seats), nowMs, ({ flow }) => flow.series.blocked.inc());
    this.#series = context.metrics.level(this.name, nowMs);
  }

  get isIdle(): boolean {
    return this.set?.isIdle !== false;
  }

  configure(plan: LevelPlan): void {
    this.object = plan.object;
    this.uid = plan.object.metadata?.uid ?? '';
    this.quiescing = plan.quiescing;
    this.queues = plan.queuing?.queues ?? 0;
    this.handSize = plan.queuing?.handSize ?? 0;
    const { seats } = plan;
    if (this.set === undefined || this.#series === undefined || seats === undefined) return;
    const { clock, metrics } = this.#context;
    const nowMs = clock.monotonic();
    this.set.configure(queueOptions(plan, seats), nowMs);
    metrics.limit(this.name, seats);
    this.#series.waiting.denominator = Math.max(1, plan.queuing?.queueLengthLimit ?? 1);
    this.#series.executing.denominator = seats;
    this.#series.seats.denominator = seats;
    this.#dispatch(this.set, nowMs);
  }

  /** Starts, queues or rejects a request; its state is set. */
  arrive(admission: Admission): void {
    const nowMs = this.#context.clock.monotonic();
    const { flow } = admission;
    if (this.set === undefined) {
      admission.place.startedMs = nowMs;
      return this.#begin(admission);
    }
    const { series } = flow;
    series.estimatedSeats.observe(seatsOf(admission));
    admission.state = this.set.arrive(admission, flow.hand(admission.distinguisher), nowMs);
    switch (admission.state) {
      case 'executing':
        if (this.queues > 0) series.queueLength.observe(1);
        return this.#started(this.set, admission, nowMs);
      case 'waiting':
        series.waiting.add(1);
        series.queueLength.observe(admission.place.queue?.length ?? 0);
        this.#context.counts.waits(admission.kind, 1, nowMs);
        this.#sample(this.set, nowMs);
        return this.#dispatch(this.set, nowMs);
      case 'rejected':
        series.rejected(this.queues === 0 ? 'concurrency-limit' : 'queue-full');
        return series.waitedInVain.observe(0);
      default:
        return admission.state satisfies never;
    }
  }

  /** Resolves once a waiting request has its seats.
   *  @throws StatusError TooManyRequests, or the reason of an abort */
  async wait(admission: Admission, onAbort: OnAbort): Promise<void> {
    if (admission.state === 'executing') return;
    if (admission.state !== 'waiting') throw tooMany();
    const { clock, maxWaitMs } = this.#context;
    let timer: Timer | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        admission.settle = (error) => {
          admission.settle = undefined;
          if (error === undefined) resolve();
          else reject(error);
        };
        timer = clock.setTimer(() => this.#giveUp(admission, 'time-out', tooMany()), maxWaitMs);
        onAbort((error) => this.#giveUp(admission, 'cancelled', error));
      });
    } finally {
      timer?.cancel();
    }
  }

  release(admission: Admission): void {
    if (admission.state === 'waiting') return this.#giveUp(admission, 'cancelled', tooMany());
    if (admission.state !== 'executing') return;
    admission.state = 'over';
    const { clock, counts } = this.#context;
    const nowMs = clock.monotonic();
    counts.executes(admission.kind, -1, nowMs);
    const { flow, info, place } = admission;
    const { execution, watchStart, executing } = flow.series;
    (info.verb === 'watch' ? watchStart : execution).observe((nowMs - place.startedMs) / 1000);
    const { set } = this;
    if (set === undefined) return;
    executing.add(-1);
    set.finish(admission, nowMs);
    if (admission.finalMs <= 0) this.#freeSeats(set, admission, nowMs);
    else clock.setTimer(() => this.#freeSeats(set, admission, clock.monotonic()), admission.finalMs);
  }

  end(admission: Admission): void {
    this.release(admission);
    if (!admission.isWatching) return;
    admission.isWatching = false;
    this.#context.watches.closed(admission.info);
  }

  /** Brings metrics that are measured on demand up to date. */
  measure(): void {
    if (this.set === undefined) return;
    this.#sample(this.set, this.#context.clock.monotonic());
    this.#context.metrics.virtualTimes(this.name, this.set);
  }

  #begin(admission: Admission): void {
    admission.state = 'executing';
    const { counts, watches } = this.#context;
    admission.flow.series.dispatched.inc();
    counts.executes(admission.kind, 1, admission.place.startedMs);
    if (admission.isWatching) watches.opened(admission.info);
  }

  #started(set: QueueSet<Admission>, admission: Admission, nowMs: number): void {
    const { series } = admission.flow;
    series.waitedAndRan.observe((nowMs - admission.place.arrivedMs) / 1000);
    series.executing.add(1);
    series.seatsInUse.add(seatsOf(admission));
    this.#begin(admission);
    this.#sample(set, nowMs);
  }

  #freeSeats(set: QueueSet<Admission>, admission: Admission, nowMs: number): void {
    admission.flow.series.seatsInUse.add(-seatsOf(admission));
    set.release(admission, nowMs);
    this.#sample(set, nowMs);
    this.#dispatch(set, nowMs);
    this.#noteIdle();
  }

  #giveUp(admission: Admission, reason: 'time-out' | 'cancelled', error: Error): void {
    const { set } = this;
    const { clock, counts } = this.#context;
    const nowMs = clock.monotonic();
    if (set?.cancel(admission, nowMs) !== true) return;
    admission.state = 'over';
    const { series } = admission.flow;
    series.waiting.add(-1);
    series.rejected(reason);
    series.waitedInVain.observe((nowMs - admission.place.arrivedMs) / 1000);
    counts.waits(admission.kind, -1, nowMs);
    this.#sample(set, nowMs);
    admission.settle?.(error);
    this.#dispatch(set, nowMs);
    this.#noteIdle();
  }

  #dispatch(set: QueueSet<Admission>, nowMs: number): void {
    for (let next = set.dispatch(nowMs); next !== undefined; next = set.dispatch(nowMs)) {
      next.flow.series.waiting.add(-1);
      this.#context.counts.waits(next.kind, -1, nowMs);
      this.#started(set, next, nowMs);
      next.settle?.(undefined);
    }
  }

  #noteIdle(): void {
    if (this.quiescing && this.isIdle) this.#context.onDrained();
  }

  #sample(set: QueueSet<Admission>, nowMs: number): void {
    if (this.#series === undefined) return;
    this.#series.waiting.set(set.waiting, nowMs);
    this.#series.executing.set(set.executing, nowMs);
    this.#series.seats.set(set.seatsInUse, nowMs);
  }
}

const queueOptions = ({ queuing }: LevelPlan, seats: number): QueueSetOptions => ({
  seats,
  queues: queuing?.queues ?? 0,
  queueLengthLimit: queuing?.queueLengthLimit ?? 0,
});
