/** Metrics of requests to the API server, under upstream's names (release 1.24). */
import type { MetricsRegistry } from '#api/kit/metrics.ts';
import { exponentialBuckets } from './buckets.ts';

/** @param code status of the response; `<error>` without one */
export type RequestDone = (method: string, host: string, code: string, durationMs: number) => void;

/** @param registry adds no prefix */
export function createRequestMetrics(registry: MetricsRegistry): RequestDone {
  const total = registry.counter({
    name: 'rest_client_requests_total',
    help: 'Number of HTTP requests, partitioned by status code, method, and host.',
    labels: ['code', 'method', 'host'],
  });
  const durations = registry.histogram({
    name: 'rest_client_request_duration_seconds',
    help: 'Request latency in seconds. Broken down by verb, and host.',
    labels: ['verb', 'host'],
    buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60],
  });
  return (method, host, code, durationMs) => {
    total.with(code, method, host).inc();
    durations.with(method, host).observe(durationMs / 1000);
  };
}

/** Lifetimes of certificates for `certificate_manager_server_rotation_seconds`: 1 minute to 10 years. */
const LIFETIMES = [60, 3600, ...exponentialBuckets(14_400, 2, 3), 604_800, 2_592_000, 7_776_000, 31_104_000];

export interface CertificateTimes {
  /** Ms since the epoch; undefined without a certificate. */
  readonly notAfterMs: () => number | undefined;
  readonly nowMs: () => number;
}

/** Sets `certificate_manager_<of>_ttl_seconds` at each scrape; infinite without a certificate, as upstream.
 *  @param registry adds the prefix of the agent */
export function addCertificateMetric(
  registry: MetricsRegistry,
  of: 'client' | 'server',
  { notAfterMs, nowMs }: CertificateTimes,
): void {
  const ttl = registry.gauge({
    name: `certificate_manager_${of}_ttl_seconds`,
    help: `The shortest TTL (time-to-live) of the agent's ${of} certificate, in seconds; infinite without one.`,
  });
  registry.onCollect(() => {
    const until = notAfterMs();
    ttl.with().set(until === undefined ? Number.POSITIVE_INFINITY : (until - nowMs()) / 1000);
  });
}

/** Returns a function to be called when the serving certificate was replaced, with the age of the previous one.
 *  @param registry adds the prefix of the agent */
export function createRotationMetric(registry: MetricsRegistry): (ageMs: number) => void {
  const rotations = registry.histogram({
    name: 'certificate_manager_server_rotation_seconds',
    help: 'Histogram of the number of seconds the previous certificate lived before being rotated.',
    buckets: LIFETIMES,
  });
  return (ageMs) => rotations.with().observe(ageMs / 1000);
}
