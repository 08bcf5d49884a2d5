/** Metrics of flow control, under upstream's names. */
import type { CounterSeries, GaugeSeries, HistogramSeries, MetricsRegistry } from '#api/kit/metrics.ts';
import type { RequestKind } from './contract.ts';
import type { QueueItem } from './queue.ts';
import type { QueueSet } from './queue-set.ts';
import { createRatioHistograms, RatioSamples } from './ratio-samples.ts';

const PREFIX = 'apiserver_flowcontrol_';
const LEVEL = 'priority_level';
const FLOW = [LEVEL, 'flow_schema'];
const SECONDS = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30];
const LENGTHS = [0, 10, 25, 50, 100, 250, 500, 1000];
const WATCHES = [0, 1, 10, 100, 1000, 10_000];
const SEATS = [1, 2, 4, 10];

/** Series of the requests that one FlowSchema assigns to one level. */
export interface FlowSeries {
  readonly dispatched: CounterSeries;
  readonly executing: GaugeSeries;
  readonly seatsInUse: GaugeSeries;
  readonly waiting: GaugeSeries;
  readonly blocked: CounterSeries;
  readonly queueLength: HistogramSeries;
  readonly estimatedSeats: HistogramSeries;
  readonly watches: HistogramSeries;
  readonly waitedAndRan: HistogramSeries;
  readonly waitedInVain: HistogramSeries;
  readonly execution: HistogramSeries;
  readonly watchStart: HistogramSeries;
  rejected(reason: 'queue-full' | 'concurrency-limit' | 'time-out' | 'cancelled'): void;
}

/** Ratios of one level. */
export interface LevelSeries {
  readonly waiting: RatioSamples;
  readonly executing: RatioSamples;
  readonly seats: RatioSamples;
}

export interface FlowMetrics {
  flow(level: string, schema: string): FlowSeries;
  level(level: string, nowMs: number): LevelSeries;
  kind(kind: RequestKind, denominator: number, nowMs: number): Omit<LevelSeries, 'seats'>;
  limit(level: string, seats: number): void;
  /** Sets the virtual times of a level. */
  virtualTimes<Item extends QueueItem<Item>>(level: string, set: QueueSet<Item>): void;
}

function createFlowFamilies(registry: MetricsRegistry) {
  const counter = (name: string, help: string, labels: readonly string[] = FLOW) =>
    registry.counter({ name: PREFIX + name, help, labels });
  const gauge = (name: string, help: string, labels: readonly string[] = FLOW) =>
    registry.gauge({ name: PREFIX + name, help, labels });
  const histogram = (name: string, help: string, buckets: readonly number[], labels = FLOW) =>
    registry.histogram({ name: PREFIX + name, help, labels, buckets });
  return {
    rejected: counter('rejected_requests_total', 'Requests rejected by flow control.', [...FLOW, 'reason']),
    dispatched: counter('dispatched_requests_total', 'Requests executed.'),
    waiting: gauge('current_inqueue_requests', 'Requests waiting in queues.'),
    queueLength: histogram(
      'request_queue_length_after_enqueue',
      'Length of a queue as each request finds it, itself included.',
      LENGTHS,
    ),
    limit: gauge('request_concurrency_limit', 'Seats of the priority level.', [LEVEL]),
    seatsInUse: gauge('request_concurrency_in_use', 'Seats occupied; by a watch until it is initialized.'),
    executing: gauge(
      'current_executing_requests',
      'Requests being executed; watches until they are initialized.',
    ),
    waited: histogram('request_wait_duration_seconds', 'Time in a queue.', SECONDS, [...FLOW, 'execute']),
    execution: histogram(
      'request_execution_seconds',
      'Time of execution; of a watch until it is initialized.',
      SECONDS,
      [...FLOW, 'type'],
    ),
    watches: histogram('watch_count_samples', 'Watches that a mutating request affects.', WATCHES),
    estimatedSeats: histogram(
      'work_estimated_seats',
      'Seats that a request was estimated to occupy, at most.',
      SEATS,
    ),
    blocked: counter(
      'request_dispatch_no_accommodation_total',
      'Dispatches that failed because the request needs more seats than are free.',
    ),
  };
}

function createTimeFamilies(registry: MetricsRegistry) {
  const gauge = (name: string, help: string, labels: readonly string[] = [LEVEL]) =>
    registry.gauge({ name: PREFIX + name, help, labels });
  return {
    currentR: gauge('current_r', 'Virtual time.'),
    dispatchR: gauge('dispatch_r', 'Virtual time of the last dispatch.'),
    latestS: gauge('latest_s', 'Virtual start of the request dispatched last.'),
    nextS: gauge('next_s_bounds', 'Bounds of the virtual starts of the first requests of all queues.', [
      LEVEL,
      'bound',
    ]),
    nextDiscountedS: gauge(
      'next_discounted_s_bounds',
      'The same, less the estimated work in progress of the queue.',
      [LEVEL, 'bound'],
    ),
    epochs: registry.counter({
      name: `${PREFIX}epoch_advance_total`,
      help: 'Times at which virtual time was wound back.',
      labels: [LEVEL, 'success'],
    }),
  };
}

export function createFlowMetrics(registry: MetricsRegistry): FlowMetrics {
  const families = createFlowFamilies(registry);
  const times = createTimeFamilies(registry);
  const ratios = (name: string, what: string, labels: readonly string[]) =>
    createRatioHistograms(registry, PREFIX + name, what, labels);
  const requests = 'the number of requests that wait or execute';
  const ofLevels = ratios('priority_level_request_count', requests, [LEVEL, 'phase']);
  const ofSeats = ratios('priority_level_seat_count', 'the number of occupied seats', [LEVEL, 'phase']);
  const ofKinds = ratios('read_vs_write_request_count', requests, ['request_kind', 'phase']);
  return {
    flow: (level, schema) => ({
      dispatched: families.dispatched.with(level, schema),
      executing: families.executing.with(level, schema),
      seatsInUse: families.seatsInUse.with(level, schema),
      waiting: families.waiting.with(level, schema),
      blocked: families.blocked.with(level, schema),
      queueLength: families.queueLength.with(level, schema),
      estimatedSeats: families.estimatedSeats.with(level, schema),
      watches: families.watches.with(level, schema),
      waitedAndRan: families.waited.with(level, schema, 'true'),
      waitedInVain: families.waited.with(level, schema, 'false'),
      execution: families.execution.with(level, schema, 'regular'),
      watchStart: families.execution.with(level, schema, 'watch'),
      rejected: (reason) => families.rejected.with(level, schema, reason).inc(),
    }),
    level: (level, nowMs) => ({
      waiting: new RatioSamples(ofLevels, [level, 'waiting'], 1, nowMs),
      executing: new RatioSamples(ofLevels, [level, 'executing'], 1, nowMs),
      seats: new RatioSamples(ofSeats, [level, 'executing'], 1, nowMs),
    }),
    kind: (kind, denominator, nowMs) => ({
      waiting: new RatioSamples(ofKinds, [kind, 'waiting'], denominator, nowMs),
      executing: new RatioSamples(ofKinds, [kind, 'executing'], denominator, nowMs),
    }),
    limit: (level, seats) => families.limit.with(level).set(seats),
    virtualTimes(level, { currentR, lastDispatch, epochs }) {
      times.currentR.with(level).set(currentR);
      const counted = times.epochs.with(level, 'true');
      if (epochs > counted.value) counted.inc(epochs - counted.value);
      if (lastDispatch === undefined) return;
      times.dispatchR.with(level).set(lastDispatch.r);
      times.latestS.with(level).set(lastDispatch.s);
      times.nextS.with(level, 'min').set(lastDispatch.minS);
      times.nextS.with(level, 'max').set(lastDispatch.maxS);
      times.nextDiscountedS.with(level, 'min').set(lastDispatch.minDiscountedS);
      times.nextDiscountedS.with(level, 'max').set(lastDispatch.maxDiscountedS);
    },
  };
}
