import { describe, expect, test } from 'vitest';
import { type ClaimMapping, tokenError, userOf } from './claims.ts';

const NOW = 1_800_000_000_000;
const SECONDS = NOW / 1000;
const expected = { issuer: 'https://idp.example', clientId: 'cluster' };
const good = { iss: 'https://idp.example', aud: 'cluster', exp: SECONDS + 1, sub: 'ann' };

describe('tokenError', () => {
  test.each([
    ['one audience', {}],
    ['several audiences', { aud: ['x', 'cluster'] }],
    ['a beginning within the tolerance', { nbf: SECONDS + 60 }],
    ['its last second', { exp: SECONDS }],
  ])('accepts a token with %s', (_, changes) => {
    expect(tokenError({ ...good, ...changes }, expected, NOW)).toBeUndefined();
  });

  test.each([
    ['another issuer', { iss: 'https://idp.example/' }, 'issued by a different provider'],
    ['no issuer', { iss: undefined }, 'issued by a different provider'],
    ['another audience', { aud: 'Cluster' }, 'expected audience "cluster" got ["Cluster"]'],
    ['no audience', { aud: undefined }, 'expected audience "cluster" got []'],
    ['an audience that is no text', { aud: [['cluster']] }, 'expected audience "cluster" got []'],
    ['an end in the past', { exp: SECONDS - 0.001 }, 'token is expired'],
    ['no end', { exp: undefined }, 'the token has no expiry'],
    ['an end that is no number', { exp: String(SECONDS + 1) }, 'the token has no expiry'],
    ['a beginning in the future', { nbf: SECONDS + 61 }, 'current time before the nbf (not before) time'],
    ['a beginning that is no number', { nbf: '0' }, 'is no number'],
  ])('rejects a token with %s', (_, changes, reason) => {
    expect(tokenError({ ...good, ...changes }, expected, NOW)).toContain(reason);
  });

  test("accepts Google's issuer without a scheme", () => {
    const claims = { ...good, iss: 'accounts.google.com' };
    expect(tokenError(claims, { ...expected, issuer: 'https://accounts.google.com' }, NOW)).toBeUndefined();
  });
});

describe('userOf', () => {
  const mapping: ClaimMapping = {
    usernameClaim: 'sub',
    usernamePrefix: 'idp#',
    groupsClaim: 'groups',
    groupsPrefix: 'g:',
    requiredClaims: {},
  };
  const email = { ...mapping, usernameClaim: 'email', usernamePrefix: '' };
  const hd = { ...mapping, requiredClaims: { hd: 'example.com', aud: 'cluster' } };
  const user = (name: string, groups: readonly string[] = []) => ({ value: { name, groups, extra: {} } });
  const error = (text: string) => ({ error: expect.stringContaining(text) as string });

  test.each([
    ['the subject', mapping, good, user('idp#ann')],
    ['groups', mapping, { ...good, groups: ['a', 'b'] }, user('idp#ann', ['g:a', 'g:b'])],
    ['one group', mapping, { ...good, groups: 'a' }, user('idp#ann', ['g:a'])],
    ['no groups', mapping, { ...good, groups: null }, user('idp#ann')],
    ['groups of numbers', mapping, { ...good, groups: ['a', 1] }, error('parse groups claim "groups"')],
    ['groups as an object', mapping, { ...good, groups: {} }, error('parse groups claim "groups"')],
    ['groups that nobody asks for', { ...mapping, groupsClaim: '' }, { ...good, groups: 1 }, user('idp#ann')],
    ['no name', mapping, { groups: [] }, error('parse username claims "sub": claim not present')],
    ['an empty name', mapping, { sub: '' }, error('parse username claims')],
    ['a name that is no text', mapping, { sub: 1 }, error('parse username claims')],
    ['an address', email, { email: 'a@b' }, user('a@b')],
    ['a verified address', email, { email: 'a@b', email_verified: true }, user('a@b')],
    ['an unverified one', email, { email: 'a@b', email_verified: false }, error('email not verified')],
    ['a claim of it', email, { email: 'a@b', email_verified: 'true' }, error("parse 'email_verified' claim")],
    ['a subject with an unverified address', mapping, { ...good, email_verified: false }, user('idp#ann')],
    ['required claims', hd, { ...good, hd: 'example.com' }, user('idp#ann')],
    ['none of them', hd, good, error('required claim hd not present')],
    [
      'another value of one',
      hd,
      { ...good, hd: 'example.org' },
      error('Got = example.org, want = example.com'),
    ],
    ['a list as value of one', hd, { ...good, hd: ['example.com'] }, error('parse claim hd')],
  ])('reads %s', (_, options, claims, result) => {
    expect(userOf(claims, options)).toEqual(result);
  });
});
