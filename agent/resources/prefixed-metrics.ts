/** Metrics under the agent's own first word, as `kit/metrics.ts` knows of none. */
import type { MetricsRegistry } from '#api/kit/metrics.ts';

/** The same registry; what is made by this one has the prefix before its name. */
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
