/** Metrics of the operations on pods, under upstream's names (release 1.24). */
import type { MetricsRegistry } from '#api/kit/metrics.ts';
import { DEFAULT_BUCKETS } from './buckets.ts';

/** What an operation is to its pod: its first start, later changes, or its termination. */
export type PodOperationType = 'create' | 'sync' | 'kill';
export type ContainerType = 'container' | 'init_container' | 'ephemeral_container';

export interface PodMetrics {
  readonly worked: (type: PodOperationType, durationMs: number) => void;
  /** The first operation of a pod has begun. */
  readonly workerStarted: (sinceAcceptedMs: number) => void;
  /** Every container of a new pod runs for the first time. */
  readonly started: (sinceAcceptedMs: number) => void;
  readonly sandboxStarted: (failed: boolean) => void;
  /** @param code reason of the failure */
  readonly containerStarted: (type: ContainerType, code: string | undefined) => void;
}

/** @param registry adds the prefix of the agent */
export function createPodMetrics(registry: MetricsRegistry): PodMetrics {
  const buckets = DEFAULT_BUCKETS;
  const starts = registry.histogram({
    name: 'pod_start_duration_seconds',
    help: 'Duration in seconds from seeing a pod for the first time to the pod starting to run',
    buckets,
  });
  const operations = registry.histogram({
    name: 'pod_worker_duration_seconds',
    help: 'Duration in seconds to sync a single pod. Broken down by operation type: create, sync, or kill',
    labels: ['operation_type'],
    buckets,
  });
  const workerStarts = registry.histogram({
    name: 'pod_worker_start_duration_seconds',
    help: 'Duration in seconds from seeing a pod to starting a worker.',
    buckets,
  });
  const pods = registry.counter({ name: 'started_pods_total', help: 'Cumulative number of pods started' });
  const podErrors = registry.counter({
    name: 'started_pods_errors_total',
    help: 'Cumulative number of errors when starting pods',
  });
  const containers = registry.counter({
    name: 'started_containers_total',
    help: 'Cumulative number of containers started',
    labels: ['container_type'],
  });
  const containerErrors = registry.counter({
    name: 'started_containers_errors_total',
    help: 'Cumulative number of errors when starting containers',
    labels: ['container_type', 'code'],
  });
  // Upstream exposes these from the start.
  pods.with();
  podErrors.with();
  return {
    worked: (type, durationMs) => operations.with(type).observe(durationMs / 1000),
    workerStarted: (sinceAcceptedMs) => workerStarts.with().observe(sinceAcceptedMs / 1000),
    started: (sinceAcceptedMs) => starts.with().observe(sinceAcceptedMs / 1000),
    sandboxStarted(failed) {
      pods.with().inc();
      if (failed) podErrors.with().inc();
    },
    containerStarted(type, code) {
      containers.with(type).inc();
      if (code !== undefined) containerErrors.with(type, code).inc();
    },
  };
}
