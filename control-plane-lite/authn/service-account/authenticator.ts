/** Authenticates service account tokens while the account and the object that the token is bound to exist.
 *  Source: service account tokens, document 2 §5.2. */
import { createHash } from 'node:crypto';
import type { Secret } from '#api/gen/core-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import { createTransientMap } from '#api/kit/transient.ts';
import { parseTime } from '#api/meta/time.ts';
import type { ApiObject, UserInfo } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import {
  type AuthenticationResult,
  type Authenticator,
  type Gate,
  NOT_APPLICABLE,
  rejected,
  unavailable,
} from '../contract.ts';
import { isSignedBy, readToken, type TokenKey, type UnverifiedToken } from '../jwt.ts';
import {
  accountGroups,
  accountUser,
  type BoundObject,
  issuerOf,
  parseClaims,
  parseKeptClaims,
  type TokenTerms,
} from './claims.ts';

/** Counts accepted tokens. */
export interface AccountTokenCounts {
  /** Tokens of secrets. */
  readonly legacy: () => void;
  /** Tokens with an extended validity: within the requested one, and after it. */
  readonly valid: () => void;
  readonly stale: () => void;
}

export interface AccountTokenDeps {
  readonly clock: Clock;
  /** Read for each token, so that keys can be replaced: another list drops what was verified with the one before. */
  readonly keys: () => readonly TokenKey[];
  /** Accepted issuers. */
  readonly issuers: readonly string[];
  /** Issuer of the tokens in secrets. */
  readonly storedIssuer: string;
  /** Audiences of this server. */
  readonly audiences: readonly string[];
  /** Domain of the platform's claims and of the keys of the user's extra fields. */
  readonly domain: string;
  readonly find: (
    kind: BoundObject['kind'] | 'ServiceAccount',
    namespace: string,
    name: string,
  ) => ApiObject | undefined;
  /** Bounds concurrent verifications of signatures. */
  readonly verifications: Gate;
  readonly counts?: AccountTokenCounts;
}

/** Grace period, in ms, for tokens of a terminating pod after its deletion timestamp. */
const LEEWAY_MS = 60_000;

/** Number of tokens whose verified signatures are cached: verification dominates the cost of a small request. Bad
 *  ones have a cache of their own, so that they do not evict good ones. */
const MAX_REMEMBERED = 1024;

const UNSIGNED = rejected('the service account token is not signed with a key of this server');

/** By digest, so that the duration of a look-up reveals nothing about the tokens. */
const digestOf = (token: string): string => createHash('sha256').update(token).digest('base64');

export function createAccountTokenAuthenticator(deps: AccountTokenDeps): Authenticator {
  const good = createTransientMap<string, TokenTerms>();
  const bad = createTransientMap<string, AuthenticationResult>();
  let keys = deps.keys();

  function dropOutdated(): void {
    const current = deps.keys();
    if (current === keys) return;
    keys = current;
    good.clear();
    bad.clear();
  }

  /** Reads a token whose signature was verified. */
  function termsOf({ claims }: UnverifiedToken): TokenTerms | undefined {
    return issuerOf(claims) === deps.storedIssuer
      ? parseKeptClaims(claims, deps.domain, deps.audiences)
      : parseClaims(claims, deps.domain);
  }

  async function verify(token: UnverifiedToken, flow: string): Promise<TokenTerms | AuthenticationResult> {
    const used = keys;
    const signed = await deps.verifications.run(flow, () => isSignedBy(token, used));
    const terms = signed ? termsOf(token) : undefined;
    const result = terms ?? (signed ? rejected('the token is not a service account token') : UNSIGNED);
    if (used !== keys) return result;
    const digest = digestOf(token.text);
    if ('kind' in result) remember(bad, digest, result);
    else remember(good, digest, result);
    return result;
  }

  function judge(
    terms: TokenTerms,
    bearerToken: string,
    audiences: readonly string[] = deps.audiences,
  ): AuthenticationResult {
    const nowMs = deps.clock.now();
    const error =
      termError(terms, nowMs) ?? existenceError(terms, deps) ?? keptError(terms, bearerToken, deps);
    if (error !== undefined) return rejected(error);
    const meant = audiences.filter((audience) => terms.audiences.includes(audience));
    if (meant.length === 0) {
      return rejected(`the token is for ${terms.audiences.join(', ')}, not for ${audiences.join(', ')}`);
    }
    const annotations = staleness(terms, nowMs, deps);
    const user = userOf(terms, deps.domain);
    return { kind: 'user', user, audiences: meant, ...(annotations === undefined ? {} : { annotations }) };
  }

  async function verifyAndJudge(
    token: UnverifiedToken,
    flow: string,
    audiences: readonly string[] | undefined,
  ): Promise<AuthenticationResult> {
    try {
      const terms = await verify(token, flow);
      return 'kind' in terms ? terms : judge(terms, token.text, audiences);
    } catch (thrown) {
      return unavailable(`the service account token was not verified: ${String(thrown)}`);
    }
  }

  return {
    name: 'service-account',
    authenticate({ bearerToken, audiences, flow = '' }) {
      if (bearerToken === undefined) return NOT_APPLICABLE;
      dropOutdated();
      const digest = digestOf(bearerToken);
      const known = good.get(digest);
      if (known !== undefined) return judge(known, bearerToken, audiences);
      const refused = bad.get(digest);
      if (refused !== undefined) return refused;
      const token = readToken(bearerToken);
      if (token === undefined) return NOT_APPLICABLE;
      const issuer = issuerOf(token.claims);
      if (issuer !== deps.storedIssuer && !deps.issuers.includes(issuer)) return NOT_APPLICABLE;
      return verifyAndJudge(token, flow, audiences);
    },
  };
}

function remember<T>(
  cache: ReturnType<typeof createTransientMap<string, T>>,
  digest: string,
  result: T,
): void {
  cache.set(digest, result);
  const { value: oldest } = cache.keys().next();
  if (cache.size > MAX_REMEMBERED && oldest !== undefined) cache.delete(oldest);
}

/** Counts the use of a token. Returns annotations for one that is used after its requested validity. */
function staleness(
  { keptIn, warnAfterSeconds = 0, namespace, account }: TokenTerms,
  nowMs: number,
  { counts, domain }: AccountTokenDeps,
): Readonly<Record<string, string>> | undefined {
  if (keptIn !== undefined) counts?.legacy();
  if (warnAfterSeconds === 0) return undefined;
  const late = Math.floor(nowMs / 1000) - warnAfterSeconds;
  if (late <= 0) {
    counts?.valid();
    return undefined;
  }
  counts?.stale();
  const subject = accountUser(namespace, account.name);
  return {
    [`authentication.${domain}/stale-token`]: `subject: ${subject}, seconds after warning threshold: ${late}`,
  };
}

function termError({ issuedSeconds, expiresSeconds }: TokenTerms, nowMs: number): string | undefined {
  if (nowMs >= expiresSeconds * 1000) return 'the service account token has expired';
  // Servers that share an issuer may have clocks that differ.
  return nowMs + LEEWAY_MS < issuedSeconds * 1000 ? 'the service account token is not valid yet' : undefined;
}

function existenceError(
  { namespace, account, bound }: TokenTerms,
  { find, clock }: AccountTokenDeps,
): string | undefined {
  const isThere = (object: ApiObject | undefined, uid: string): boolean =>
    object !== undefined && object.metadata.uid === uid && !isLongGone(object, clock.now());
  if (!isThere(find('ServiceAccount', namespace, account.name), account.uid)) {
    return `the service account ${namespace}/${account.name} of the token no longer exists`;
  }
  if (bound !== undefined && !isThere(find(bound.kind, namespace, bound.name), bound.uid)) {
    return `the ${bound.kind.toLowerCase()} ${namespace}/${bound.name} that the token is bound to no longer exists`;
  }
  return undefined;
}

/** A token of a secret is valid as long as the secret contains it. */
function keptError(
  { namespace, keptIn }: TokenTerms,
  token: string,
  { find }: AccountTokenDeps,
): string | undefined {
  if (keptIn === undefined) return undefined;
  const secret = find('Secret', namespace, keptIn);
  const held = secret === undefined ? undefined : typed<Secret>(secret).data?.['token'];
  const isGood =
    secret?.metadata.deletionTimestamp === undefined &&
    held !== undefined &&
    Buffer.from(held, 'base64').toString('latin1') === token;
  return isGood ? undefined : `the secret ${namespace}/${keptIn} does not hold the token any more`;
}

function isLongGone({ metadata: { deletionTimestamp } }: ApiObject, nowMs: number): boolean {
  return deletionTimestamp !== undefined && parseTime(deletionTimestamp) + LEEWAY_MS < nowMs;
}

function userOf({ namespace, account, bound }: TokenTerms, domain: string): UserInfo {
  const pod = bound?.kind === 'Pod' ? bound : undefined;
  const key = (name: string): string => `authentication.${domain}/${name}`;
  return {
    name: accountUser(namespace, account.name),
    uid: account.uid,
    groups: accountGroups(namespace),
    extra: pod === undefined ? {} : { [key('pod-name')]: [pod.name], [key('pod-uid')]: [pod.uid] },
  };
}
