/** Metrics of aggregated servers, with upstream's names. */
import type { MetricsRegistry } from '#api/kit/metrics.ts';
import type { RemoteApi } from './api-services.ts';

export function addAggregationMetrics(registry: MetricsRegistry, apis: () => Iterable<RemoteApi>): void {
  const unavailable = registry.gauge({
    name: 'aggregator_unavailable_apiservice',
    help: 'APIServices of other servers: 1 if the server is not available.',
    labels: ['name'],
  });
  registry.onCollect(() => {
    unavailable.clear();
    for (const { name, available } of apis()) unavailable.with(name).set(available ? 0 : 1);
  });
}
