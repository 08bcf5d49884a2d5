/** Authenticates service account tokens while the account and the object that the token is bound to exist.
 *  Source: service account tokens, document 2 §5.2. */
import { createHash } from 'node:crypto';
import type { Secret } from '#api/gen/core-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import { parseTime } from '#api/meta/time.ts';
import type { ApiObject, UserInfo } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import type { AuthenticationResult, Authenticator } from '../contract.ts';
import {
  accountGroups,
  accountUser,
  type BoundObject,
  issuerOf,
  parseClaims,
  parseKeptClaims,
  type TokenTerms,
} from './claims.ts';
import { readToken, type TokenKey } from './jwt.ts';

export interface AccountTokenDeps {
  readonly clock: Clock;
  readonly keys: readonly TokenKey[];
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
}

/** Grace period, in ms, for tokens of a terminating pod after its deletion timestamp. */
const LEEWAY_MS = 60_000;

/** Number of tokens whose verified signatures are cached: verification dominates the cost of a small request. */
const MAX_REMEMBERED = 1024;

const NOT_OURS: AuthenticationResult = { kind: 'none' };
const rejected = (message: string): AuthenticationResult => ({ kind: 'rejected', message });

export function createAccountTokenAuthenticator(deps: AccountTokenDeps): Authenticator {
  const remembered = new Map<string, TokenTerms>();

  /** Returns the claims of a token after verifying its signature. */
  function termsOf(text: string): TokenTerms | AuthenticationResult {
    // By digest, so that the duration of a look-up reveals nothing about the tokens.
    const digest = createHash('sha256').update(text).digest('base64');
    const known = remembered.get(digest);
    if (known !== undefined) return known;
    const token = readToken(text);
    if (token === undefined) return NOT_OURS;
    const issuer = issuerOf(token.claims);
    const isStored = issuer === deps.storedIssuer;
    if (!isStored && !deps.issuers.includes(issuer)) return NOT_OURS;
    if (!token.verify(deps.keys))
      return rejected('the service account token is not signed with a key of this server');
    const terms = isStored
      ? parseKeptClaims(token.claims, deps.domain, deps.audiences)
      : parseClaims(token.claims, deps.domain);
    if (terms === undefined) return rejected('the token is not a service account token');
    remembered.set(digest, terms);
    const [oldest] = remembered.keys();
    if (remembered.size > MAX_REMEMBERED && oldest !== undefined) remembered.delete(oldest);
    return terms;
  }

  return {
    name: 'service-account',
    authenticate({ bearerToken, audiences = deps.audiences }) {
      if (bearerToken === undefined) return NOT_OURS;
      const terms = termsOf(bearerToken);
      if ('kind' in terms) return terms;
      const meant = audiences.filter((audience) => terms.audiences.includes(audience));
      const error =
        termError(terms, deps.clock.now()) ??
        existenceError(terms, deps) ??
        keptError(terms, bearerToken, deps);
      if (error !== undefined) return rejected(error);
      if (meant.length === 0) {
        return rejected(`the token is for ${terms.audiences.join(', ')}, not for ${audiences.join(', ')}`);
      }
      return { kind: 'user', user: userOf(terms, deps.domain), audiences: meant };
    },
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
