/** Buckets of upstream's histograms, in seconds. */

/** `Prometheus.DefBuckets`. */
export const DEFAULT_BUCKETS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Returns `count` bounds from `start`, each multiplied by `factor`. */
export const exponentialBuckets = (start: number, factor: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => Number((start * factor ** index).toPrecision(12)));
