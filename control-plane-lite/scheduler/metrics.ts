/** Metrics of the scheduler, under upstream's names. */
import type { MetricsRegistry } from '#api/kit/metrics.ts';

export type AttemptResult = 'scheduled' | 'unschedulable' | 'error';

/** Pods that wait, by upstream's names of the queues. */
export interface PendingCounts {
  readonly active: number;
  readonly backoff: number;
  readonly unschedulable: number;
}

export interface SchedulerMetrics {
  attempted(result: AttemptResult, seconds: number): void;
  preempted(victims: number): void;
  /** Sets how the waiting pods are counted. */
  count(pending: () => PendingCounts): void;
}

const SECONDS = [
  0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384,
];
const VICTIMS = [1, 2, 4, 8, 16, 32, 64];

/** @param profile name of the scheduler in pods */
export function createSchedulerMetrics(registry: MetricsRegistry, profile: string): SchedulerMetrics {
  const labels = ['profile', 'result'];
  const attempts = registry.counter({
    name: 'scheduler_schedule_attempts_total',
    help: 'Attempts to schedule pods, by result.',
    labels,
  });
  const durations = registry.histogram({
    name: 'scheduler_scheduling_attempt_duration_seconds',
    help: 'Time of an attempt without the binding, by result.',
    labels,
    buckets: SECONDS,
  });
  const pending = registry.gauge({
    name: 'scheduler_pending_pods',
    help: 'Pods that wait for a node, by queue.',
    labels: ['queue'],
  });
  const preemptions = registry.counter({
    name: 'scheduler_preemption_attempts_total',
    help: 'Preemptions that selected victims.',
  });
  const victimCounts = registry.histogram({
    name: 'scheduler_preemption_victims',
    help: 'Number of victims of a preemption.',
    buckets: VICTIMS,
  });
  let counts: (() => PendingCounts) | undefined;
  registry.onCollect(() => {
    const { active = 0, backoff = 0, unschedulable = 0 } = counts?.() ?? {};
    pending.with('active').set(active);
    pending.with('backoff').set(backoff);
    pending.with('unschedulable').set(unschedulable);
  });
  // Series exist before the first attempt, so that rates begin at zero.
  for (const result of ['scheduled', 'unschedulable', 'error']) attempts.with(profile, result);
  preemptions.with();
  victimCounts.with();
  return {
    attempted(result, seconds) {
      attempts.with(profile, result).inc();
      durations.with(profile, result).observe(seconds);
    },
    preempted(victims) {
      preemptions.with().inc();
      victimCounts.with().observe(victims);
    },
    count(made) {
      counts = made;
    },
  };
}
