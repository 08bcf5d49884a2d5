import { createHmac, X509Certificate } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createAuthority } from '#api/pki/certificate.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { authorityHash, checkSignature, readCluster, readClusterInfo } from './cluster-info.ts';
import { parseJoinToken } from './token.ts';

const token = parseJoinToken('abc123.0123456789abcdef');
const NOW = Date.now();
const makeAuthority = () =>
  createAuthority({ commonName: 'ca' }, new Date(NOW - 1000), new Date(NOW + 1_000_000)).certificate;
const [real, other] = [makeAuthority(), makeAuthority()];
const hashOf = (pem: string): string => authorityHash(new X509Certificate(pem));

const encode = (text: string): string => Buffer.from(text).toString('base64url');

function sign(content: string, key: string, header: object = { alg: 'HS256', kid: 'abc123' }): string {
  const head = encode(JSON.stringify(header));
  const proof = createHmac('sha256', key)
    .update(`${head}.${encode(content)}`)
    .digest('base64url');
  return `${head}..${proof}`;
}

describe('checkSignature', () => {
  const { plat, kubernetes } = VOCABULARIES;
  const content = 'what is signed';
  const good = sign(content, token.text);

  test.each([
    ['the whole token in our vocabulary', plat, token.text],
    ['the secret part in the upstream one', kubernetes, token.secret],
  ])('accepts one by %s', (_, vocabulary, key) => {
    expect(() => checkSignature({ content, signature: sign(content, key) }, token, vocabulary)).not.toThrow();
  });

  test.each([
    ['none', undefined, 'NotSigned'],
    ['by the part of the token of the other vocabulary', sign(content, token.secret), 'SignatureMismatch'],
    ['of another content', sign('other', token.text), 'SignatureMismatch'],
    ['by another algorithm', sign(content, token.text, { alg: 'HS512', kid: 'abc123' }), 'AlgorithmRefused'],
    ['by no algorithm', `${encode('{"alg":"none","kid":"abc123"}')}..`, 'AlgorithmRefused'],
    ['that is none', 'rubbish', 'AlgorithmRefused'],
    ['for another token', sign(content, token.text, { alg: 'HS256', kid: 'other0' }), 'SignatureMismatch'],
    ['with a content of its own', good.replace('..', `.${encode(content)}.`), 'SignatureMismatch'],
    ['with more behind it', `${good}.x`, 'SignatureMismatch'],
    ['cut short', good.slice(0, -4), 'SignatureMismatch'],
  ])('rejects one %s', (_, signature, reason) => {
    expect(() => checkSignature({ content, signature }, token, plat)).toThrow(
      expect.objectContaining({ reason }) as Error,
    );
  });
});

describe('readClusterInfo', () => {
  test('finds content and signature', () => {
    const data = { kubeconfig: 'c', 'jws-kubeconfig-abc123': 's', 'jws-kubeconfig-other0': 'o' };
    expect(readClusterInfo({ data }, token)).toEqual({ content: 'c', signature: 's' });
    expect(readClusterInfo({ data: { kubeconfig: 'c' } }, token).signature).toBeUndefined();
  });

  test.each([{}, { data: null }, { data: {} }, { data: { kubeconfig: 1 } }])('rejects %j', (map) => {
    expect(() => readClusterInfo(map, token)).toThrow('has no kubeconfig');
  });
});

describe('readCluster', () => {
  const contentOf = (authority: string, server = 'https://10.0.0.1:6443'): string =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        {
          name: '',
          cluster: { server, 'certificate-authority-data': Buffer.from(authority).toString('base64') },
        },
      ],
      users: [],
      contexts: [],
    });

  test('accepts the CA with the given hash', () => {
    expect(readCluster(contentOf(real), [hashOf(real)])).toEqual({
      server: 'https://10.0.0.1:6443',
      serverName: '',
      authority: real,
    });
  });

  test('accepts only CAs with given hashes', () => {
    expect(readCluster(contentOf(other + real), [hashOf(real)]).authority).toBe(real);
    expect(readCluster(contentOf(other + real), [hashOf(real), hashOf(other)]).authority).toBe(other + real);
  });

  test('accepts all CAs without hashes', () => {
    expect(readCluster(contentOf(other + real), []).authority).toBe(other + real);
  });

  test.each([
    ['another authority', contentOf(other), 'HashMismatch'],
    ['no authority', contentOf('none'), 'HashMismatch'],
    ['a server without TLS', contentOf(real, 'http://10.0.0.1'), 'BadClusterInfo'],
    ['no cluster', '{"apiVersion":"v1","kind":"Config","clusters":[]}', 'BadClusterInfo'],
    ['what is no configuration', '[', 'BadClusterInfo'],
    [
      'a damaged authority',
      contentOf('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'),
      'BadClusterInfo',
    ],
  ])('rejects %s', (_, content, reason) => {
    expect(() => readCluster(content, [hashOf(real)])).toThrow(expect.objectContaining({ reason }) as Error);
  });
});
