/** Caches the results of costly token authenticators by a keyed digest of the token. Requests with the same token
 *  share one verification. Good and bad results have caches of their own, so that a flood of bad tokens evicts
 *  no good one. Source: upstream's cached token authenticator. */
import { createHmac, randomBytes } from 'node:crypto';
import type { Clock } from '#api/kit/clock.ts';
import { createSingleFlight } from '#api/kit/single-flight.ts';
import { createTransientMap } from '#api/kit/transient.ts';
import {
  type AuthenticationRequest,
  type AuthenticationResult,
  type Authenticator,
  NOT_APPLICABLE,
} from './contract.ts';

export interface TokenCacheTimes {
  readonly successMs: number;
  /** For tokens of which the authenticator knows nothing. */
  readonly unknownMs: number;
  /** For rejected tokens whose rejection is not transient. */
  readonly rejectedMs: number;
}

/** Observes the cache; times are in seconds. */
export interface TokenCacheStats {
  readonly request: (status: 'hit' | 'miss', seconds: number) => void;
  readonly fetched: (status: 'ok' | 'error') => void;
  readonly active: (status: 'in_flight' | 'blocked', change: 1 | -1) => void;
}

export interface TokenCacheDeps {
  readonly clock: Clock;
  readonly stats?: TokenCacheStats | undefined;
  /** Audiences of requests that name none. */
  readonly audiences: readonly string[];
}

interface Entry {
  readonly result: AuthenticationResult;
  /** Monotonic. */
  readonly untilMs: number;
}

/** Entries of each of the two caches. */
const MAX_ENTRIES = 8192;

function createEntries() {
  const entries = createTransientMap<string, Entry>();
  return {
    get: (key: string) => entries.get(key),
    set(key: string, entry: Entry): void {
      entries.delete(key);
      entries.set(key, entry);
      const { value: oldest } = entries.keys().next();
      if (entries.size > MAX_ENTRIES && oldest !== undefined) entries.delete(oldest);
    },
  };
}

export function createTokenCache(
  { clock, stats, audiences: implicit }: TokenCacheDeps,
  inner: Authenticator,
  times: TokenCacheTimes,
): Authenticator {
  const secret = randomBytes(32);
  const flights = createSingleFlight<AuthenticationResult>();
  const good = createEntries();
  const bad = createEntries();

  function keyOf(token: string, audiences: readonly string[] = implicit): string {
    return createHmac('sha256', secret)
      .update(JSON.stringify([token, audiences]))
      .digest('base64');
  }

  function find(key: string): AuthenticationResult | undefined {
    const entry = good.get(key) ?? bad.get(key);
    if (entry === undefined || entry.untilMs <= clock.monotonic()) return undefined;
    const { result } = entry;
    // The wall clock may have jumped since.
    const expired = result.kind === 'user' && (result.expiresMs ?? Infinity) <= clock.now();
    return expired ? undefined : result;
  }

  function timeOf(result: AuthenticationResult): number {
    if (result.kind === 'none') return times.unknownMs;
    if (result.kind === 'rejected') return result.transient === true ? 0 : times.rejectedMs;
    return times.successMs;
  }

  function store(key: string, result: AuthenticationResult): void {
    const ms = timeOf(result);
    if (ms <= 0) return;
    (result.kind === 'user' ? good : bad).set(key, { result, untilMs: clock.monotonic() + ms });
  }

  async function fetch(key: string, request: AuthenticationRequest): Promise<AuthenticationResult> {
    stats?.active('in_flight', 1);
    let status: 'ok' | 'error' = 'error';
    try {
      const result = await inner.authenticate(request);
      if (result.kind !== 'rejected') status = 'ok';
      store(key, result);
      return result;
    } finally {
      stats?.fetched(status);
      stats?.active('in_flight', -1);
    }
  }

  return {
    name: inner.name,
    async authenticate(request) {
      const { bearerToken, audiences } = request;
      if (bearerToken === undefined) return NOT_APPLICABLE;
      const begunMs = clock.monotonic();
      const key = keyOf(bearerToken, audiences);
      const known = find(key);
      if (known !== undefined) {
        stats?.request('hit', (clock.monotonic() - begunMs) / 1000);
        return known;
      }
      stats?.active('blocked', 1);
      try {
        return await flights.run(key, () => fetch(key, request));
      } finally {
        stats?.active('blocked', -1);
        stats?.request('miss', (clock.monotonic() - begunMs) / 1000);
      }
    },
  };
}
