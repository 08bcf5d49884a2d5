/** Metrics of authentication under upstream's names. */
import type { MetricsRegistry } from '#api/kit/metrics.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { AuthenticationResult } from './contract.ts';
import type { AccountTokenCounts } from './service-account/authenticator.ts';
import type { TokenCacheStats } from './token-cache.ts';

export interface AuthenticationMetrics {
  /** Records the result of a request. */
  readonly record: (result: AuthenticationResult, seconds: number) => void;
  readonly tokenCache: TokenCacheStats;
  readonly accountTokens: AccountTokenCounts;
  /** Remaining lifetime of a client certificate. */
  readonly certificateLifetime: (seconds: number) => void;
}

const LATENCY_SECONDS: readonly number[] = Array.from({ length: 15 }, (_, power) => 0.001 * 2 ** power);
const CACHE_SECONDS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const HOURS = [0, 0.5, 1, 2, 6, 12];
const DAYS = [1, 2, 4, 7, 30, 90, 180, 360];
const LIFETIME_SECONDS: readonly number[] = [
  ...HOURS.map((hours) => hours * 3600),
  ...DAYS.map((days) => days * 86_400),
];

/** Returns a function that counts a request of a user under one of few labels, without names of people. */
function userCounter(
  registry: MetricsRegistry,
  { agentComponent, componentPrefix, systemNamespace }: Vocabulary,
): (name: string) => void {
  const users = registry.counter({
    name: 'authenticated_user_requests',
    help: 'Counter of authenticated requests broken out by username.',
    labels: ['username'],
  });
  const account = `system:serviceaccount:${systemNamespace}:default`;
  const known = new Set(['admin', 'client', `${componentPrefix}_proxy`, agentComponent, account]);
  return (name) => {
    const label = known.has(name) ? name : name.includes('@') ? 'email_id' : 'other';
    users.with(label).inc();
  };
}

/** A rejected credential is an error, a request without a known one a failure. */
const RESULTS = { user: 'success', rejected: 'error', none: 'failure' } as const;

function tokenCacheStats(registry: MetricsRegistry): TokenCacheStats {
  const labels = ['status'];
  const duration = registry.histogram({
    name: 'authentication_token_cache_request_duration_seconds',
    help: 'Duration of requests to the token cache.',
    labels,
    buckets: CACHE_SECONDS,
  });
  const requests = registry.counter({
    name: 'authentication_token_cache_request_total',
    help: 'Requests to the token cache.',
    labels,
  });
  const fetches = registry.counter({
    name: 'authentication_token_cache_fetch_total',
    help: 'Verifications of tokens that the token cache did not have.',
    labels,
  });
  const active = registry.gauge({
    name: 'authentication_token_cache_active_fetch_count',
    help: 'Verifications in flight, and requests that wait for one.',
    labels,
  });
  return {
    request(status, seconds) {
      requests.with(status).inc();
      duration.with(status).observe(seconds);
    },
    fetched: (status) => fetches.with(status).inc(),
    active: (status, change) => active.with(status).add(change),
  };
}

function accountTokenCounts(registry: MetricsRegistry): AccountTokenCounts {
  const count = (name: string, help: string): (() => void) => {
    const series = registry.counter({ name: `serviceaccount_${name}_tokens_total`, help }).with();
    return () => series.inc();
  };
  return {
    legacy: count('legacy', 'Uses of service account tokens of Secrets.'),
    valid: count('valid', 'Uses of service account tokens within their requested validity.'),
    stale: count('stale', 'Uses of service account tokens after their requested validity.'),
  };
}

export function createAuthenticationMetrics(
  registry: MetricsRegistry,
  vocabulary: Vocabulary,
): AuthenticationMetrics {
  const countUser = userCounter(registry, vocabulary);
  const attempts = registry.counter({
    name: 'authentication_attempts',
    help: 'Counter of authenticated attempts.',
    labels: ['result'],
  });
  const duration = registry.histogram({
    name: 'authentication_duration_seconds',
    help: 'Authentication duration in seconds broken out by result.',
    labels: ['result'],
    buckets: LATENCY_SECONDS,
  });
  const lifetimes = registry
    .histogram({
      name: 'apiserver_client_certificate_expiration_seconds',
      help: 'Distribution of the remaining lifetime on the certificate used to authenticate a request.',
      buckets: LIFETIME_SECONDS,
    })
    .with();
  const series = (kind: AuthenticationResult['kind']) => ({
    attempts: attempts.with(RESULTS[kind]),
    duration: duration.with(RESULTS[kind]),
  });
  const byKind = { user: series('user'), rejected: series('rejected'), none: series('none') };
  return {
    record(result, seconds) {
      const { attempts: counter, duration: histogram } = byKind[result.kind];
      if (result.kind === 'user') countUser(result.user.name);
      counter.inc();
      histogram.observe(seconds);
    },
    tokenCache: tokenCacheStats(registry),
    accountTokens: accountTokenCounts(registry),
    certificateLifetime: (seconds) => lifetimes.observe(seconds),
  };
}
