/** Metrics of encryption at rest, under upstream's names. */
import type { MetricsRegistry } from '#api/kit/metrics.ts';

export type Direction = 'from_storage' | 'to_storage';

export interface TransformationMetrics {
  /** Returns the function to call at the end. */
  begin(direction: Direction, prefix: string): (succeeded: boolean) => void;
  failed(direction: Direction, prefix: string): void;
}

/** Metrics of data keys that a key management service encrypts. */
export interface DataKeyMetrics {
  cacheMissed(): void;
  /** @param share of the cache that is in use, from 0 to 1 */
  cacheFilled(share: number): void;
  /** A data key was read from or added to the cache. */
  arrived(direction: Direction): void;
  generated(seconds: number): void;
  generationFailed(): void;
}

export interface ReloadMetrics {
  reloaded(succeeded: boolean): void;
}

export interface EncryptionMetrics extends TransformationMetrics, DataKeyMetrics, ReloadMetrics {}

const doubling = (first: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, power) => first * 2 ** power);

/** Seconds of a monotonic clock. */
const nowSeconds = (): number => performance.now() / 1000;

function transformationMetrics(registry: MetricsRegistry): TransformationMetrics {
  const operations = registry.counter({
    name: 'apiserver_storage_transformation_operations_total',
    help: 'Values encrypted and decrypted.',
    labels: ['transformation_type', 'transformer_prefix', 'status'],
  });
  const durations = registry.histogram({
    name: 'apiserver_storage_transformation_duration_seconds',
    help: 'Time of the encryption or decryption of a value.',
    labels: ['transformation_type'],
    buckets: doubling(5e-6, 25),
  });
  const count = (direction: Direction, prefix: string, status: string): void =>
    operations.with(direction, prefix, status).inc();
  return {
    begin(direction, prefix) {
      const began = nowSeconds();
      return (succeeded) => {
        count(direction, prefix, succeeded ? 'OK' : 'Unknown');
        if (succeeded) durations.with(direction).observe(nowSeconds() - began);
      };
    },
    failed: (direction, prefix) => count(direction, prefix, 'Unknown'),
  };
}

function dataKeyMetrics(registry: MetricsRegistry): DataKeyMetrics {
  const misses = registry.counter({
    name: 'apiserver_storage_envelope_transformation_cache_misses_total',
    help: 'Data keys that the key management service had to decrypt.',
  });
  const generation = registry.histogram({
    name: 'apiserver_storage_data_key_generation_duration_seconds',
    help: 'Time to generate a data key.',
    buckets: doubling(5e-6, 14),
  });
  const failures = registry.counter({
    name: 'apiserver_storage_data_key_generation_failures_total',
    help: 'Data keys that could not be generated.',
  });
  const fill = registry.gauge({
    name: 'apiserver_envelope_encryption_dek_cache_fill_percent',
    help: 'Share of the cache of data keys that is in use.',
  });
  const arrivals = registry.histogram({
    name: 'apiserver_envelope_encryption_dek_cache_inter_arrival_time_seconds',
    help: 'Time between two data keys.',
    labels: ['transformation_type'],
    buckets: doubling(60, 10),
  });
  const last = new Map<Direction, number>();
  return {
    cacheMissed: () => misses.with().inc(),
    cacheFilled: (share) => fill.with().set(share),
    arrived(direction) {
      const now = nowSeconds();
      const before = last.get(direction);
      last.set(direction, now);
      if (before !== undefined) arrivals.with(direction).observe(now - before);
    },
    generated: (seconds) => generation.with().observe(seconds),
    generationFailed: () => failures.with().inc(),
  };
}

export function createEncryptionMetrics(registry: MetricsRegistry): EncryptionMetrics {
  const successes = registry.counter({
    name: 'apiserver_encryption_config_controller_automatic_reload_success_total',
    help: 'Reloads of the encryption configuration.',
  });
  const failures = registry.counter({
    name: 'apiserver_encryption_config_controller_automatic_reload_failures_total',
    help: 'Reloads of the encryption configuration that failed.',
  });
  return {
    ...transformationMetrics(registry),
    ...dataKeyMetrics(registry),
    reloaded: (succeeded) => (succeeded ? successes : failures).with().inc(),
  };
}
