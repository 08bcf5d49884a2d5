/** Service account tokens of pods for the API server and other audiences: requested, cached, and renewed in
 *  time.
 *  Source: service account tokens, document 3 §2.3; upstream 1.24 token manager. */
import type { Clock } from '#api/kit/clock.ts';
import { type Int64, secondsInMs } from '#api/kit/int64.ts';
import type { Logger } from '#api/kit/logger.ts';
import { isObject } from '#api/kit/object.ts';
import { createSingleFlight } from '#api/kit/single-flight.ts';
import type { ApiClient, Json } from '../api-client/client.ts';
import { ApiRequestError } from '../api-client/errors.ts';

/** Pod, service account and audience of a token. */
export interface TokenRequest {
  readonly namespace: string;
  readonly account: string;
  readonly podName: string;
  readonly podUID: string;
  /** Undefined selects the audience of the API server. */
  readonly audience: string;
  readonly expirationSeconds: Int64;
}

export interface AccountToken {
  readonly token: string;
  /** Wall times in ms. */
  readonly issuedAtMs: number;
  readonly expiresAtMs: number;
}

/** Persisted tokens, for use while the server is unavailable. */
export interface SavedTokens {
  load(podUID: string, key: string): Promise<AccountToken | undefined>;
  save(podUID: string, key: string, token: AccountToken): void;
  /** Drops cached tokens of all other pods. */
  retainOnly(podUIDs: ReadonlySet<string>): void;
}

export interface AccountTokensDeps {
  readonly client: Pick<ApiClient, 'create'>;
  readonly saved: SavedTokens;
  readonly clock: Clock;
  readonly log: Logger;
  /** API version of token requests, in the server's vocabulary. */
  readonly tokenApiVersion: string;
  /** 0 to 1; for tests. */
  readonly random?: () => number;
}

export interface AccountTokens {
  /** Returns a token with sufficient remaining lifetime. While the server is unavailable, the last one, if
   *  there is one.
   *  @throws ApiRequestError, ServerUnreachableError */
  get(request: TokenRequest): Promise<AccountToken>;
  /** Drops the tokens of all other pods. */
  retainOnly(podUIDs: ReadonlySet<string>): void;
  stop(): void;
}

/** Maximum age of a token, whatever its lifetime. */
const OLDEST_MS = 24 * 60 * 60 * 1000;
const RENEW_AT = 0.8;
/** Jitter, so that tokens with the same lifetime are not all renewed at once. */
const JITTER_MS = 10_000;
/** While a namespace is deleted, its accounts disappear before its pods. A failure for that reason is a
 *  warning only after this time, in ms. */
const LASTING_MS = 5000;
/** Cause of a creation that is rejected because of its namespace. */
const TERMINATING = 'NamespaceTerminating';

/** Returns when a token is due for renewal, in ms of wall time: after 80 % of its lifetime, or a day. */
export function renewalTime({ issuedAtMs, expiresAtMs }: AccountToken, jitter: number): number {
  const afterMs = Math.min((expiresAtMs - issuedAtMs) * RENEW_AT, OLDEST_MS);
  return issuedAtMs + afterMs - jitter * JITTER_MS;
}

/** Reports whether the pod, its account or its namespace is gone or being deleted. */
function isGone(thrown: unknown): boolean {
  if (!(thrown instanceof ApiRequestError)) return false;
  const { reason, details } = thrown;
  return reason === 'NotFound' || details.causes?.some((cause) => cause.reason === TERMINATING) === true;
}

const keyOf = ({ namespace, account, audience, expirationSeconds }: TokenRequest): string =>
  JSON.stringify([namespace, account, audience, expirationSeconds]);

/** @throws Error for a response without a token */
function parseToken(response: Json, nowMs: number, expirationSeconds: Int64): AccountToken {
  const { status } = response;
  const token = isObject(status) ? status['token'] : undefined;
  if (typeof token !== 'string' || token === '')
    throw new Error('the response of the API server contains no token');
  const expires = isObject(status) ? status['expirationTimestamp'] : undefined;
  const expiresAtMs = typeof expires === 'string' ? Date.parse(expires) : Number.NaN;
  return {
    token,
    issuedAtMs: nowMs,
    expiresAtMs: Number.isNaN(expiresAtMs) ? nowMs + secondsInMs(expirationSeconds) : expiresAtMs,
  };
}

interface CachedToken {
  readonly token: AccountToken;
  readonly renewAtMs: number;
}

export function createAccountTokens(deps: AccountTokensDeps): AccountTokens {
  const { client, saved, clock, log, random = Math.random } = deps;
  const stop = new AbortController();
  const flights = createSingleFlight<AccountToken>();
  /** By pod, then by request. */
  const cached = new Map<string, Map<string, CachedToken>>();
  /** Wall time (ms) since which the pod or its account is gone, by pod. */
  const goneSinceMs = new Map<string, number>();

  function keep(podUID: string, key: string, token: AccountToken): void {
    const ofPod = cached.get(podUID) ?? new Map<string, CachedToken>();
    cached.set(podUID, ofPod.set(key, { token, renewAtMs: renewalTime(token, random()) }));
  }

  async function ask(request: TokenRequest): Promise<AccountToken> {
    const { namespace, account, audience, expirationSeconds, podName: name, podUID: uid } = request;
    const response = await client.create(
      { apiVersion: 'v1', resource: 'serviceaccounts', namespace, name: account, subresource: 'token' },
      {
        apiVersion: deps.tokenApiVersion,
        kind: 'TokenRequest',
        spec: {
          audiences: audience === '' ? [] : [audience],
          expirationSeconds,
          boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
        },
      },
      stop.signal,
    );
    const token = parseToken(response, clock.now(), expirationSeconds);
    goneSinceMs.delete(uid);
    keep(uid, keyOf(request), token);
    saved.save(uid, keyOf(request), token);
    return token;
  }

  /** A rejection is final; while the server is unavailable, the last token may stay in use, even expired: its
   *  audience may accept it, and a pod that does not start is no better. */
  async function fallBack(request: TokenRequest, thrown: unknown): Promise<AccountToken> {
    const { podUID, podName: pod } = request;
    const known =
      cached.get(podUID)?.get(keyOf(request))?.token ?? (await saved.load(podUID, keyOf(request)));
    const refused = thrown instanceof ApiRequestError && !thrown.retryable;
    const expired = known !== undefined && known.expiresAtMs <= clock.now();
    if (known === undefined || (refused && expired)) throw thrown;
    const level = isPassing(podUID, thrown) ? 'debug' : 'warn';
    log[level](
      { err: thrown, pod, expired },
      'Failed to renew service account token; using the previous one',
    );
    return known;
  }

  /** Reports whether the end of the pod is likely to follow soon. */
  function isPassing(podUID: string, thrown: unknown): boolean {
    if (!isGone(thrown)) return false;
    const sinceMs = goneSinceMs.get(podUID) ?? clock.now();
    goneSinceMs.set(podUID, sinceMs);
    return clock.now() - sinceMs < LASTING_MS;
  }

  return {
    async get(request) {
      const { podUID } = request;
      const key = keyOf(request);
      const known = cached.get(podUID)?.get(key);
      if (known !== undefined && clock.now() < known.renewAtMs) return known.token;
      try {
        return await flights.run(`${podUID} ${key}`, () => ask(request));
      } catch (thrown) {
        return await fallBack(request, thrown);
      }
    },
    retainOnly(podUIDs) {
      for (const uid of cached.keys()) if (!podUIDs.has(uid)) cached.delete(uid);
      for (const uid of goneSinceMs.keys()) if (!podUIDs.has(uid)) goneSinceMs.delete(uid);
      saved.retainOnly(podUIDs);
    },
    stop: () => stop.abort(new Error('agent is stopping')),
  };
}
