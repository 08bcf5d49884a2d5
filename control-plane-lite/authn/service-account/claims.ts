/** Claims of a service account token. Pure. Source: service account tokens, document 2 §5.2; upstream's bound
 *  tokens, release 1.24. */
import { isObject, textOf } from '#api/kit/object.ts';

export interface NamedObject {
  readonly name: string;
  readonly uid: string;
}

/** Object that the token is bound to. */
export interface BoundObject extends NamedObject {
  readonly kind: 'Pod' | 'Secret';
}

export interface TokenSubject {
  readonly namespace: string;
  readonly account: NamedObject;
  readonly bound: BoundObject | undefined;
}

export interface TokenTerms extends TokenSubject {
  readonly issuer: string;
  /** Secret that must contain this token, for tokens of secrets. */
  readonly keptIn?: string;
  readonly audiences: readonly string[];
  readonly issuedSeconds: number;
  readonly expiresSeconds: number;
  /** End of the requested validity, of a token whose validity was extended. */
  readonly warnAfterSeconds?: number | undefined;
}

export const SERVICE_ACCOUNT_PREFIX = 'system:serviceaccount:';
const ACCOUNTS_GROUP = 'system:serviceaccounts';

export const accountUser = (namespace: string, name: string): string =>
  `${SERVICE_ACCOUNT_PREFIX}${namespace}:${name}`;

/** Groups of every service account of a namespace. */
export const accountGroups = (namespace: string): readonly string[] => [
  ACCOUNTS_GROUP,
  `${ACCOUNTS_GROUP}:${namespace}`,
];

const BOUND_MEMBERS = { Pod: 'pod', Secret: 'secret' } as const;

/** `domain`: name of the private claim. */
export function claimsOf(terms: TokenTerms, domain: string): Readonly<Record<string, unknown>> {
  const { namespace, account, bound, warnAfterSeconds } = terms;
  return {
    aud: terms.audiences,
    exp: terms.expiresSeconds,
    iat: terms.issuedSeconds,
    iss: terms.issuer,
    [domain]: {
      namespace,
      ...(bound === undefined ? {} : { [BOUND_MEMBERS[bound.kind]]: { name: bound.name, uid: bound.uid } }),
      serviceaccount: { name: account.name, uid: account.uid },
      ...(warnAfterSeconds === undefined ? {} : { warnafter: warnAfterSeconds }),
    },
    nbf: terms.issuedSeconds,
    sub: accountUser(namespace, account.name),
  };
}

type Members = Readonly<Record<string, unknown>>;
const membersOf = (value: unknown): Members | undefined =>
  isObject(value) ? Object.fromEntries(Object.entries(value)) : undefined;
const secondsOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;

function namedObject(value: unknown): NamedObject | undefined {
  const members = membersOf(value);
  if (members === undefined) return undefined;
  const { name, uid } = members;
  return typeof name === 'string' && typeof uid === 'string' && name !== '' ? { name, uid } : undefined;
}

/** Returns the issuer of an unverified token, which selects the authenticator. */
export const issuerOf = ({ iss }: Members): string => textOf(iss);

/** Parses claims; `undefined` if they are not those of a service account token. */
export function parseClaims(claims: Members, domain: string): TokenTerms | undefined {
  const own = membersOf(claims[domain]);
  const namespace = textOf(own?.['namespace']);
  const account = namedObject(own?.['serviceaccount']);
  const { aud, exp, nbf, sub } = claims;
  const expiresSeconds = secondsOf(exp);
  const audiences = (Array.isArray(aud) ? aud : [aud]).filter((item) => typeof item === 'string');
  if (own === undefined || account === undefined || namespace === '' || expiresSeconds === undefined) {
    return undefined;
  }
  if (sub !== accountUser(namespace, account.name)) return undefined;
  return {
    namespace,
    account,
    bound: boundObject(own),
    issuer: issuerOf(claims),
    audiences,
    issuedSeconds: secondsOf(nbf) ?? 0,
    expiresSeconds,
    warnAfterSeconds: secondsOf(own['warnafter']),
  };
}

function boundObject(own: Members): BoundObject | undefined {
  for (const kind of ['Pod', 'Secret'] as const) {
    const named = namedObject(own[BOUND_MEMBERS[kind]]);
    if (named !== undefined) return { kind, ...named };
  }
  return undefined;
}

/** Returns the claims of a token in a secret: valid without expiry, as long as the secret exists. */
export function storedClaimsOf(
  { namespace, account, secret }: StoredSubject,
  issuer: string,
  domain: string,
): Readonly<Record<string, unknown>> {
  const key = (name: string): string => `${domain}/serviceaccount/${name}`;
  return {
    iss: issuer,
    [key('namespace')]: namespace,
    [key('secret.name')]: secret,
    [key('service-account.name')]: account.name,
    [key('service-account.uid')]: account.uid,
    sub: accountUser(namespace, account.name),
  };
}

export interface StoredSubject {
  readonly namespace: string;
  readonly account: NamedObject;
  /** Name of the secret that stores the token. */
  readonly secret: string;
}

/** Reads claims of a token that is stored in a secret; such tokens are for the server alone. `undefined`: they are
 *  others. */
export function parseKeptClaims(
  claims: Members,
  domain: string,
  audiences: readonly string[],
): TokenTerms | undefined {
  const read = (name: string): string => textOf(claims[`${domain}/serviceaccount/${name}`]);
  const namespace = read('namespace');
  const keptIn = read('secret.name');
  const account = { name: read('service-account.name'), uid: read('service-account.uid') };
  if ([namespace, keptIn, account.name, account.uid].includes('')) return undefined;
  if (claims['sub'] !== accountUser(namespace, account.name)) return undefined;
  return {
    namespace,
    account,
    bound: undefined,
    keptIn,
    issuer: issuerOf(claims),
    audiences,
    issuedSeconds: 0,
    expiresSeconds: Infinity,
  };
}
