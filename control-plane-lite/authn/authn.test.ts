import { X509Certificate } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { createAuthority, issueIdentity } from '#api/pki/certificate.ts';
import { createAuthenticationChain, forAudiences } from './chain.ts';
import { isTrusted, userOf } from './client-certificate.ts';
import type { AuthenticationRequest, Authenticator } from './contract.ts';
import { createTokenAuthenticator, parseTokenFile, TokenFileError } from './token-file.ts';
import { createCertificateAuthenticator } from './x509.ts';

const NOW = Date.parse('2026-06-01T00:00:00Z');
const FROM = new Date('2026-01-01T00:00:00Z');
const TO = new Date('2027-01-01T00:00:00Z');
const request = (parts: Partial<AuthenticationRequest>): AuthenticationRequest => ({
  headers: {},
  intermediates: [],
  ...parts,
});

describe('parseTokenFile', () => {
  const users = parseTokenFile('t1,ann,1\n\n# remark\nt2,bob,2,"dev, ops"\nt3,"c, d",,x\r\n', 'tokens.csv');
  const methods = createTokenAuthenticator(() => users);
  test.each([
    ['t1', { name: 'ann', uid: '1', groups: [], extra: {} }],
    ['t2', { name: 'bob', uid: '2', groups: ['dev', 'ops'], extra: {} }],
    ['t3', { name: 'c, d', groups: ['x'], extra: {} }],
  ])('knows %s', (bearerToken, user) => {
    expect(methods.authenticate(request({ bearerToken }))).toEqual({ kind: 'user', user });
  });
  test.each(['t4', '', 't1 ', '__proto__'])('does not know %j', (bearerToken) => {
    expect(methods.authenticate(request({ bearerToken }))).toEqual({ kind: 'none' });
  });
  test.each([
    ['t1,ann', 'only 2 columns'],
    [',ann,1', 'the token is empty'],
    ['t1,,1', 'the user name is empty'],
    ['t1,ann,1\nt1,bob,2', 'line 2: the token is already defined on an earlier line'],
    ['t1,ann,1,"a', 'a quoted column is not terminated'],
  ])('reports the problem with %j', (text, problem) => {
    expect(() => parseTokenFile(text, 'tokens.csv')).toThrow(problem);
    expect(() => parseTokenFile(text, 'tokens.csv')).toThrow(TokenFileError);
  });
});

describe('client certificates', () => {
  const ca = createAuthority({ commonName: 'ca' }, FROM, TO);
  const other = createAuthority({ commonName: 'ca' }, FROM, TO);
  const root = new X509Certificate(ca.certificate);
  const issue = (
    authority = ca,
    notAfter = TO,
    extendedUsages: readonly ('clientAuth' | 'serverAuth')[] = ['clientAuth'],
  ): X509Certificate =>
    new X509Certificate(
      issueIdentity(authority, {
        subject: { commonName: 'ann', organizations: ['dev', 'ops'] },
        extendedUsages,
        notBefore: FROM,
        notAfter,
      }).certificate,
    );
  const roots = [root];
  const authenticator = createCertificateAuthenticator({
    roots: () => roots,
    clock: createFakeClock(NOW),
  });

  test('name the user and its groups', () => {
    expect(userOf(issue())).toEqual({ name: 'ann', groups: ['dev', 'ops'], extra: {} });
    expect(authenticator.authenticate(request({ certificate: issue() }))).toMatchObject({
      kind: 'user',
      user: { name: 'ann' },
    });
  });
  test.each([
    ['of another CA of the same name', issue(other)],
    ['that are out of date', issue(ca, new Date('2026-05-01T00:00:00Z'))],
    ['of servers', issue(ca, TO, ['serverAuth'])],
    ['that is self-signed', new X509Certificate(other.certificate)],
  ])('%s are rejected', async (_, certificate) => {
    expect((await authenticator.authenticate(request({ certificate }))).kind).toBe('rejected');
  });
  test('are checked again once they run out', async () => {
    const clock = createFakeClock(NOW);
    const own = createCertificateAuthenticator({ roots: () => roots, clock });
    const certificate = issue(ca, new Date(NOW + 1000));
    expect((await own.authenticate(request({ certificate }))).kind).toBe('user');
    await clock.advance(2000);
    expect((await own.authenticate(request({ certificate }))).kind).toBe('rejected');
  });
  test('do not sign one another', () => {
    const leaf = issueIdentity(ca, { subject: { commonName: 'leaf' }, notBefore: FROM, notAfter: TO });
    const below = new X509Certificate(
      issueIdentity(leaf, { subject: { commonName: 'x' }, notBefore: FROM, notAfter: TO }).certificate,
    );
    expect(isTrusted(below, [new X509Certificate(leaf.certificate)], roots, NOW)).toBe(false);
  });
});

describe('createAuthenticationChain', () => {
  const says = (kind: 'none' | 'rejected' | 'user'): Authenticator => ({
    name: kind,
    authenticate: () =>
      kind === 'user'
        ? { kind, user: { name: 'u', groups: ['g'], extra: {} } }
        : kind === 'none'
          ? { kind }
          : { kind, message: 'bad' },
  });
  const chain = (methods: readonly Authenticator[], anonymous = true) =>
    createAuthenticationChain(methods, { anonymous });

  test('takes the first that knows the user', async () => {
    const result = await chain([says('none'), says('rejected'), says('user')]).authenticate(request({}));
    expect(result).toEqual({
      kind: 'user',
      user: { name: 'u', groups: ['g', 'system:authenticated'], extra: {} },
    });
  });
  test('accepts anonymous requests (5.6)', async () => {
    expect(await chain([says('none')]).authenticate(request({}))).toMatchObject({
      user: { name: 'system:anonymous' },
    });
  });
  test.each([
    ['no anonymous', chain([says('none')], false), request({})],
    ['a bad credential', chain([says('rejected')]), request({})],
    ['an unknown token (5.6)', chain([says('none')]), request({ bearerToken: 'x' })],
  ])('refuses %s', async (_, methods, given) => {
    expect((await methods.authenticate(given)).kind).not.toBe('user');
  });
});

describe('forAudiences', () => {
  const user = { name: 'u', groups: [], extra: {} };
  const method = forAudiences(['api', 'cluster'], {
    name: 'm',
    authenticate: () => ({ kind: 'user', user }),
  });
  test.each([
    ['the audiences of the server, by default', undefined, { kind: 'user', user }],
    ['those that both name', ['x', 'cluster'], { kind: 'user', user, audiences: ['cluster'] }],
    ['no other audience', ['x'], { kind: 'none' }],
  ])('makes users valid for %s', async (_, audiences, expected) => {
    const asked = request(audiences === undefined ? {} : { audiences });
    expect(await method.authenticate(asked)).toEqual(expected);
  });

  test('leaves the reasons of all methods in a rejection', async () => {
    const says = (message: string): Authenticator => ({
      name: message,
      authenticate: () => ({ kind: 'rejected', message }),
    });
    const chain = createAuthenticationChain([says('one'), says('two')], { anonymous: true });
    expect(await chain.authenticate(request({}))).toEqual({ kind: 'rejected', message: 'one; two' });
  });
});
