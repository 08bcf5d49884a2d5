/** Metrics of the pod-resources API. Source: upstream's metrics, release 1.24. */
import type { MetricsRegistry } from '#api/kit/metrics.ts';

/** Upstream's metric names of the calls. */
export type PodResourcesCall = 'list' | 'get_allocatable';

export interface PodResourcesMetrics {
  /** Counts a call, whatever its outcome. */
  readonly called: (version: string, call: PodResourcesCall) => void;
  readonly failed: (version: string, call: PodResourcesCall) => void;
}

const LABELS = ['server_api_version'] as const;
const CALLS: readonly (readonly [PodResourcesCall, string])[] = [
  ['list', 'List'],
  ['get_allocatable', 'GetAllocatableResources'],
];

export function createPodResourcesMetrics(registry: MetricsRegistry): PodResourcesMetrics {
  const total = registry.counter({
    name: 'pod_resources_endpoint_requests_total',
    help: 'Cumulative number of requests to the PodResource endpoint. Broken down by server api version.',
    labels: LABELS,
  });
  const counters = (what: 'requests' | 'errors', describe: (method: string) => string) =>
    new Map(
      CALLS.map(([call, method]) => [
        call,
        registry.counter({
          name: `pod_resources_endpoint_${what}_${call}`,
          help: `Number of ${describe(method)}. Broken down by server api version.`,
          labels: LABELS,
        }),
      ]),
    );
  const requests = counters('requests', (method) => `requests to the PodResource ${method} endpoint`);
  const errors = counters(
    'errors',
    (method) => `requests to the PodResource ${method} endpoint which returned error`,
  );
  return {
    called(version, call) {
      total.with(version).inc();
      requests.get(call)?.with(version).inc();
    },
    failed: (version, call) => errors.get(call)?.with(version).inc(),
  };
}
