/** Metrics of device plugins. Source: upstream's metrics, release 1.24. */
import { createListeners } from '#api/kit/listeners.ts';
import type { MetricsRegistry } from '#api/kit/metrics.ts';

export interface DeviceMetrics {
  readonly registered: (resource: string) => void;
  readonly allocated: (resource: string, tookMs: number) => void;
  /** Registers the metrics. */
  readonly add: (registry: MetricsRegistry) => void;
}

const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

export function createDeviceMetrics(): DeviceMetrics {
  const onRegistered = createListeners<[resource: string]>('device registrations');
  const onAllocated = createListeners<[resource: string, seconds: number]>('device allocations');
  return {
    registered(resource) {
      onRegistered.notify(resource);
    },
    allocated(resource, tookMs) {
      onAllocated.notify(resource, tookMs / 1000);
    },
    add(registry) {
      const registrations = registry.counter({
        name: 'device_plugin_registration_total',
        help: 'Cumulative number of device plugin registrations. Broken down by resource name.',
        labels: ['resource_name'],
      });
      const durations = registry.histogram({
        name: 'device_plugin_alloc_duration_seconds',
        help: 'Duration in seconds to serve a device plugin Allocation request. Broken down by resource name.',
        labels: ['resource_name'],
        buckets: BUCKETS,
      });
      onRegistered.add((resource) => registrations.with(resource).inc());
      onAllocated.add((resource, seconds) => durations.with(resource).observe(seconds));
    },
  };
}
