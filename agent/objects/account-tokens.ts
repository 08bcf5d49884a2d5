/** Tokens with which pods prove who they are to the API server and others: asked for, kept, and renewed in time.
 *  Source: document 3, section 2.3; upstream 1.24 token manager. */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createSingleFlight } from '#api/kit/single-flight.ts';
import type { ApiClient, Json } from '../api-client/client.ts';
import { ApiRequestError } from '../api-client/errors.ts';
import { isObject } from '../api-client/object-fields.ts';

/** Who a token is for. */
export interface TokenRequest {
  readonly namespace: string;
  readonly account: string;
  readonly podName: string;
  readonly podUID: string;
  /** None means that of the API server itself. */
  readonly audience: string;
  readonly expirationSeconds: number;
}

export interface AccountToken {
  readonly token: string;
  /** Wall times in ms. */
  readonly issuedAtMs: number;
  readonly expiresAtMs: number;
}

/** Tokens on disk, for the time when the server is away. */
export interface SavedTokens {
  load(podUID: string, key: string): Promise<AccountToken | undefined>;
  save(podUID: string, key: string, token: AccountToken): void;
  /** Forgets, in memory, those of all pods but these. */
  keepOnly(podUIDs: ReadonlySet<string>): void;
}

export interface AccountTokensDeps {
  readonly client: Pick<ApiClient, 'create'>;
  readonly saved: SavedTokens;
  readonly clock: Clock;
  readonly log: Logger;
  /** Of the requests for tokens, in the server's vocabulary. */
  readonly tokenApiVersion: string;
  /** 0 to 1; for tests. */
  readonly random?: () => number;
}

export interface AccountTokens {
  /** A token that is worth using for a while. While the server is away, the last one, as long as there is one.
   *  @throws ApiRequestError, ServerUnreachableError */
  get(request: TokenRequest): Promise<AccountToken>;
  /** Forgets the tokens of all pods but these. */
  keepOnly(podUIDs: ReadonlySet<string>): void;
  stop(): void;
}

/** Whatever its lifetime, no token gets older than this. */
const OLDEST_MS = 24 * 60 * 60 * 1000;
const RENEW_AT = 0.8;
/** Tokens of one lifetime are not all renewed at once. */
const JITTER_MS = 10_000;

/** When a token is to be replaced, in ms of wall time: after 80 % of its life, or a day. */
export function renewalTime({ issuedAtMs, expiresAtMs }: AccountToken, jitter: number): number {
  const afterMs = Math.min((expiresAtMs - issuedAtMs) * RENEW_AT, OLDEST_MS);
  return issuedAtMs + afterMs - jitter * JITTER_MS;
}

const keyOf = ({ namespace, account, audience, expirationSeconds }: TokenRequest): string =>
  JSON.stringify([namespace, account, audience, expirationSeconds]);

/** @throws Error for an answer without a token */
function parseToken(answer: Json, nowMs: number, expirationSeconds: number): AccountToken {
  const { status } = answer;
  const token = isObject(status) ? status['token'] : undefined;
  if (typeof token !== 'string' || token === '') throw new Error('the API server answered without a token');
  const expires = isObject(status) ? status['expirationTimestamp'] : undefined;
  const expiresAtMs = typeof expires === 'string' ? Date.parse(expires) : Number.NaN;
  return {
    token,
    issuedAtMs: nowMs,
    expiresAtMs: Number.isNaN(expiresAtMs) ? nowMs + expirationSeconds * 1000 : expiresAtMs,
  };
}

interface Kept {
  readonly token: AccountToken;
  readonly renewAtMs: number;
}

export function createAccountTokens(deps: AccountTokensDeps): AccountTokens {
  const { client, saved, clock, log, random = Math.random } = deps;
  const stop = new AbortController();
  const flights = createSingleFlight<AccountToken>();
  /** By pod, then by what was asked for. */
  const kept = new Map<string, Map<string, Kept>>();

  function keep(podUID: string, key: string, token: AccountToken): void {
    const ofPod = kept.get(podUID) ?? new Map<string, Kept>();
    kept.set(podUID, ofPod.set(key, { token, renewAtMs: renewalTime(token, random()) }));
  }

  async function ask(request: TokenRequest): Promise<AccountToken> {
    const { namespace, account, audience, expirationSeconds, podName: name, podUID: uid } = request;
    const answer = await client.create(
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
    const token = parseToken(answer, clock.now(), expirationSeconds);
    keep(uid, keyOf(request), token);
    saved.save(uid, keyOf(request), token);
    return token;
  }

  /** A server that refuses has reasons; one that is away may leave the last token in use, even past its time: what
   *  it was for may accept it, and a pod that does not start is no better. */
  async function fallBack(request: TokenRequest, thrown: unknown): Promise<AccountToken> {
    const { podUID, podName: pod } = request;
    const known = kept.get(podUID)?.get(keyOf(request))?.token ?? (await saved.load(podUID, keyOf(request)));
    const refused = thrown instanceof ApiRequestError && !thrown.retryable;
    const expired = known !== undefined && known.expiresAtMs <= clock.now();
    if (known === undefined || (refused && expired)) throw thrown;
    log.warn(
      { err: thrown, pod, expired },
      'Service account token was not renewed; the last one stays in use',
    );
    return known;
  }

  return {
    async get(request) {
      const { podUID } = request;
      const key = keyOf(request);
      const known = kept.get(podUID)?.get(key);
      if (known !== undefined && clock.now() < known.renewAtMs) return known.token;
      try {
        return await flights.run(`${podUID} ${key}`, () => ask(request));
      } catch (thrown) {
        return await fallBack(request, thrown);
      }
    },
    keepOnly(podUIDs) {
      for (const uid of kept.keys()) if (!podUIDs.has(uid)) kept.delete(uid);
      saved.keepOnly(podUIDs);
    },
    stop: () => stop.abort(new Error('agent is stopping')),
  };
}
