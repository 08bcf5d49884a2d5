/** Figures of device plugins. Source: upstream's metrics, release 1.24. */
import type { MetricsRegistry } from '#api/kit/metrics.ts';

export interface DeviceMetrics {
  readonly registered: (resource: string) => void;
  readonly allocated: (resource: string, tookMs: number) => void;
  /** Has the figures told from now on. */
  readonly add: (registry: MetricsRegistry) => void;
}

const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

export function createDeviceMetrics(): DeviceMetrics {
  const listeners: {
    registered(resource: string): void;
    allocated(resource: string, seconds: number): void;
  }[] = [];
  return {
    registered(resource) {
      for (const listener of listeners) listener.registered(resource);
    },
    allocated(resource, tookMs) {
      for (const listener of listeners) listener.allocated(resource, tookMs / 1000);
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
      listeners.push({
        registered: (resource) => registrations.with(resource).inc(),
        allocated: (resource, seconds) => durations.with(resource).observe(seconds),
      });
    },
  };
}
