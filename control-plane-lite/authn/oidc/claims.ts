/** Claims of ID tokens: their validity, and the user that they name. Pure. Source: OpenID Connect, document 2 §5.3;
 *  upstream's OpenID Connect authenticator. */
import type { UserInfo } from '../../resources/contract.ts';
import type { Claims } from '../jwt.ts';

/** How claims become a user. */
export interface ClaimMapping {
  readonly usernameClaim: string;
  /** Empty: none. */
  readonly usernamePrefix: string;
  /** Empty: users have no groups. */
  readonly groupsClaim: string;
  readonly groupsPrefix: string;
  readonly requiredClaims: Readonly<Record<string, string>>;
}

export interface ExpectedToken {
  readonly issuer: string;
  /** Audience that the token must be issued to. */
  readonly clientId: string;
}

/** Tolerated difference of clocks for the beginning of a token's validity, in seconds. */
const NOT_BEFORE_LEEWAY = 60;

const GOOGLE = 'https://accounts.google.com';

const isText = (value: unknown): value is string => typeof value === 'string';
const isTime = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

/** Returns the issuer of an unverified token. Google's tokens name it without a scheme. */
export function issuerOf({ iss }: Claims): string {
  if (iss === 'accounts.google.com') return GOOGLE;
  return isText(iss) ? iss : '';
}

/** Returns why a token with a verified signature is not valid now, or not for this client. */
export function tokenError(claims: Claims, expected: ExpectedToken, nowMs: number): string | undefined {
  const issuer = issuerOf(claims);
  if (issuer !== expected.issuer) return `id token issued by a different provider: ${JSON.stringify(issuer)}`;
  const { aud, exp, nbf } = claims;
  const audiences = (Array.isArray(aud) ? aud : [aud]).filter(isText);
  if (!audiences.includes(expected.clientId)) {
    return `expected audience ${JSON.stringify(expected.clientId)} got ${JSON.stringify(audiences)}`;
  }
  if (!isTime(exp)) return 'the token has no expiry';
  const seconds = nowMs / 1000;
  if (exp < seconds) return 'token is expired';
  if (nbf === undefined) return undefined;
  if (!isTime(nbf)) return 'the nbf (not before) time of the token is no number';
  return seconds + NOT_BEFORE_LEEWAY < nbf
    ? 'current time before the nbf (not before) time of the token'
    : undefined;
}

type Read<T> = { readonly value: T } | { readonly error: string };

/** A user may be locked out by `email_verified`, which providers set for addresses that nobody has confirmed. */
function usernameOf(claims: Claims, { usernameClaim, usernamePrefix }: ClaimMapping): Read<string> {
  const name = claims[usernameClaim];
  if (!isText(name) || name === '') {
    const problem = name === undefined ? 'claim not present' : 'claim is no text';
    return { error: `parse username claims ${JSON.stringify(usernameClaim)}: ${problem}` };
  }
  const verified = claims['email_verified'];
  if (usernameClaim === 'email' && verified !== undefined && verified !== true) {
    return {
      error: verified === false ? 'email not verified' : "parse 'email_verified' claim: claim is no boolean",
    };
  }
  return { value: usernamePrefix + name };
}

/** One text counts as a list of one group. */
function groupsOf(claims: Claims, { groupsClaim, groupsPrefix }: ClaimMapping): Read<readonly string[]> {
  const claim = groupsClaim === '' ? undefined : claims[groupsClaim];
  if (claim === undefined || claim === null) return { value: [] };
  const groups: readonly unknown[] = Array.isArray(claim) ? claim : [claim];
  if (!groups.every(isText)) {
    return {
      error: `parse groups claim ${JSON.stringify(groupsClaim)}: claim is neither text nor a list of texts`,
    };
  }
  return { value: groups.map((group) => groupsPrefix + group) };
}

function requiredError(claims: Claims, required: ClaimMapping['requiredClaims']): string | undefined {
  for (const [claim, value] of Object.entries(required)) {
    const given = claims[claim];
    if (given === undefined) return `required claim ${claim} not present in ID token`;
    if (!isText(given)) return `parse claim ${claim}: claim is no text`;
    if (given !== value) {
      return `required claim ${claim} value does not match. Got = ${given}, want = ${value}`;
    }
  }
  return undefined;
}

/** Returns the user that the claims of a valid token name, or why they name none. */
export function userOf(claims: Claims, mapping: ClaimMapping): Read<UserInfo> {
  const name = usernameOf(claims, mapping);
  if ('error' in name) return name;
  const groups = groupsOf(claims, mapping);
  if ('error' in groups) return groups;
  const error = requiredError(claims, mapping.requiredClaims);
  if (error !== undefined) return { error };
  return { value: { name: name.value, groups: groups.value, extra: {} } };
}
