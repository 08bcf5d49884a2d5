import { describe, expect, test } from 'vitest';
import { createMetricsRegistry } from './metrics.ts';

describe('createMetricsRegistry', () => {
  test('shows counters with escaped labels and help', () => {
    const registry = createMetricsRegistry();
    const metric = registry.counter({
      name: 'a_total',
      help: 'Line one\nback\\slash "q"',
      labels: ['x', 'y'],
    });
    metric.with('1', 'say "hi"\\\n').inc();
    metric.with('1', 'say "hi"\\\n').inc(2);
    expect(registry.text()).toBe(
      '# HELP a_total Line one\\nback\\\\slash "q"\n# TYPE a_total counter\na_total{x="1",y="say \\"hi\\"\\\\\\n"} 3\n',
    );
  });

  test('shows gauges, set when collected', () => {
    const registry = createMetricsRegistry();
    const gauge = registry.gauge({ name: 'g', help: 'G' });
    registry.onCollect(() => gauge.with().set(Number.POSITIVE_INFINITY));
    expect(registry.text()).toContain('\ng +Inf\n');
  });

  test('counts observations in their bucket, and shows cumulative counts', () => {
    const registry = createMetricsRegistry();
    const metric = registry.histogram({ name: 'h', help: 'H', labels: ['v'], buckets: [0.1, 1] });
    for (const value of [0.1, 0.5, 0.5, 2]) metric.with('get').observe(value);
    expect(registry.text().split('\n').slice(2)).toEqual([
      'h_bucket{v="get",le="0.1"} 1',
      'h_bucket{v="get",le="1"} 3',
      'h_bucket{v="get",le="+Inf"} 4',
      'h_sum{v="get"} 3.1',
      'h_count{v="get"} 4',
      '',
    ]);
  });

  test('limits the number of series', () => {
    const registry = createMetricsRegistry();
    const metric = registry.counter({ name: 'c', help: 'C', labels: ['l'], maxSeries: 2 });
    for (const label of ['a', 'b', 'c', 'd']) metric.with(label).inc();
    expect(registry.text().match(/^c\{/gm)).toHaveLength(2);
  });

  test('distinguishes label values with the same concatenation', () => {
    const metric = createMetricsRegistry().counter({ name: 'c', help: 'C', labels: ['a', 'b'] });
    expect(metric.with('x', 'yz')).not.toBe(metric.with('xy', 'z'));
  });

  test('shows nothing of a metric without series, and nothing after clear', () => {
    const registry = createMetricsRegistry();
    const metric = registry.counter({ name: 'c', help: 'C', labels: ['a'] });
    metric.with('x').inc();
    metric.clear();
    expect(registry.text()).toBe('');
  });
});
