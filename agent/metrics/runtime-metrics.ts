/** Metrics of calls to the runtime and of listings of its pods, under upstream's names (release 1.24). */
import type { MetricsRegistry } from '#api/kit/metrics.ts';
import { DEFAULT_BUCKETS, exponentialBuckets } from './buckets.ts';

export interface RuntimeMetrics {
  /** @param rpc name of the CRI call, such as `RunPodSandbox` */
  readonly called: (rpc: string, durationMs: number, error: Error | undefined) => void;
  /** @param sinceLastMs time since the listing before began; undefined for the first one */
  readonly relisted: (durationMs: number, sinceLastMs: number | undefined, nowMs: number) => void;
}

/** Upstream's operation names that do not follow from the name of the call. */
const OPERATIONS: Readonly<Record<string, string>> = {
  RunPodSandbox: 'run_podsandbox',
  StopPodSandbox: 'stop_podsandbox',
  RemovePodSandbox: 'remove_podsandbox',
  PodSandboxStatus: 'podsandbox_status',
  ListPodSandbox: 'list_podsandbox',
  PodSandboxStats: 'podsandbox_stats',
  ListPodSandboxStats: 'list_podsandbox_stats',
  UpdateContainerResources: 'update_container',
};

/** `create_container` for `CreateContainer`. */
export const operationOf = (rpc: string): string =>
  OPERATIONS[rpc] ??
  rpc.replaceAll(/[A-Z]/g, (letter, index: number) => `${index === 0 ? '' : '_'}${letter.toLowerCase()}`);

/** @param registry adds the prefix of the agent */
export function createRuntimeMetrics(registry: MetricsRegistry): RuntimeMetrics {
  const labels = ['operation_type'];
  const total = registry.counter({
    name: 'runtime_operations_total',
    help: 'Cumulative number of runtime operations by operation type.',
    labels,
  });
  const durations = registry.histogram({
    name: 'runtime_operations_duration_seconds',
    help: 'Duration in seconds of runtime operations. Broken down by operation type.',
    labels,
    buckets: exponentialBuckets(0.005, 2.5, 14),
  });
  const errors = registry.counter({
    name: 'runtime_operations_errors_total',
    help: 'Cumulative number of runtime operation errors by operation type.',
    labels,
  });
  const relists = registry.histogram({
    name: 'pleg_relist_duration_seconds',
    help: 'Duration in seconds for relisting pods of the runtime.',
    buckets: DEFAULT_BUCKETS,
  });
  const intervals = registry.histogram({
    name: 'pleg_relist_interval_seconds',
    help: 'Interval in seconds between relisting pods of the runtime.',
    buckets: DEFAULT_BUCKETS,
  });
  const lastSeen = registry.gauge({
    name: 'pleg_last_seen_seconds',
    help: 'Timestamp in seconds when the pods of the runtime were last listed.',
  });
  return {
    called(rpc, durationMs, error) {
      const operation = operationOf(rpc);
      total.with(operation).inc();
      durations.with(operation).observe(durationMs / 1000);
      if (error !== undefined) errors.with(operation).inc();
    },
    relisted(durationMs, sinceLastMs, nowMs) {
      relists.with().observe(durationMs / 1000);
      if (sinceLastMs !== undefined) intervals.with().observe(sinceLastMs / 1000);
      lastSeen.with().set(nowMs / 1000);
    },
  };
}
