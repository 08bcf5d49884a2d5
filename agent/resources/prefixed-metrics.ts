/** Metrics registry that prefixes names with the agent's metric prefix. */
import type { MetricsRegistry } from '#api/kit/metrics.ts';

/** Returns a view of the registry that prepends the prefix to the name of each new metric. */
export function prefixedRegistry(registry: MetricsRegistry, prefix: string): MetricsRegistry {
  const named = <T extends { readonly name: string }>(options: T): T => ({
    ...options,
    name: `${prefix}_${options.name}`,
  });
  return {
    counter: (options) => registry.counter(named(options)),
    gauge: (options) => registry.gauge(named(options)),
    histogram: (options) => registry.histogram(named(options)),
    onCollect: (collect) => registry.onCollect(collect),
    text: () => registry.text(),
  };
}
