/** Metrics of evicted and preempted pods. Source: upstream's metrics, release 1.24. */
import type { MetricsRegistry } from '#api/kit/metrics.ts';

export interface EvictionMetrics {
  /** @param signal the eviction signal, or the exceeded limit
   *  @param ageMs age of the measurement that caused the eviction; limits have none */
  readonly evicted: (signal: string, ageMs?: number) => void;
  /** @param resource that the other pod required */
  readonly preempted: (resource: string) => void;
}

const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

export function createEvictionMetrics(registry: MetricsRegistry): EvictionMetrics {
  const evictions = registry.counter({
    name: 'evictions',
    help: 'Cumulative number of pod evictions by eviction signal',
    labels: ['eviction_signal'],
  });
  const ages = registry.histogram({
    name: 'eviction_stats_age_seconds',
    help: 'Time between when stats are collected, and when pod is evicted based on those stats by eviction signal',
    labels: ['eviction_signal'],
    buckets: BUCKETS,
  });
  const preemptions = registry.counter({
    name: 'preemptions',
    help: 'Cumulative number of pod preemptions by preemption resource',
    labels: ['preemption_signal'],
  });
  return {
    evicted(signal, ageMs) {
      evictions.with(signal).inc();
      if (ageMs !== undefined) ages.with(signal).observe(ageMs / 1000);
    },
    preempted: (resource) => preemptions.with(resource).inc(),
  };
}
