import { expect, test } from 'vitest';
import { createMetricsRegistry } from '#api/kit/metrics.ts';
import { createRatioHistograms, RatioSamples } from './ratio-samples.ts';

test('a ratio is observed at each millisecond, with its bounds between two of them', () => {
  const registry = createMetricsRegistry();
  const samples = new RatioSamples(createRatioHistograms(registry, 'r', 'ratios', ['l']), ['x'], 10, 100);
  samples.set(5, 100.2);
  samples.set(1, 100.9);
  samples.set(9, 103.1);
  samples.set(0, 105);
  const lines = registry.text().split('\n');
  // 0.1 at 101, 102 and 103; 0.9 at 104 and 105.
  expect(lines).toContain('r_samples_bucket{l="x",le="0.1"} 3');
  expect(lines).toContain('r_samples_count{l="x"} 5');
  // The highest value before 101 was 0.5.
  expect(lines).toContain('r_watermarks_bucket{mark="high",l="x",le="0.1"} 2');
  expect(lines).toContain('r_watermarks_bucket{mark="high",l="x",le="0.5"} 3');
  expect(lines).toContain('r_watermarks_count{mark="low",l="x"} 5');
});
