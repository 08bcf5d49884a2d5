import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { VocabularyName } from '#api/vocabulary.ts';
import type { BootstrapToken } from '#plane/authn/bootstrap-secret.ts';
import { formatClusterInfo, withSignatures } from './cluster-info.ts';

const token = (id: string): BootstrapToken => ({
  id,
  secret: '0123456789abcdef',
  description: '',
  expiresMs: Number.POSITIVE_INFINITY,
  authentication: true,
  signing: true,
  extraGroups: [],
});

test('cluster-info names the server and its authority, and no user', () => {
  const info = JSON.parse(formatClusterInfo({ url: 'https://a:1', authority: 'pem' })) as object;
  expect(info).toMatchObject({
    kind: 'Config',
    clusters: [{ cluster: { server: 'https://a:1', 'certificate-authority-data': 'cGVt' } }],
    users: [],
  });
});

describe('withSignatures', () => {
  test.each<[VocabularyName, string]>([
    ['plat', 'abcdef.0123456789abcdef'],
    ['kubernetes', '0123456789abcdef'],
  ])('signs in %s as a client checks it', (name, key) => {
    const content = 'käthe';
    const data = withSignatures({ kubeconfig: content }, [token('abcdef')], { name });
    const [header = '', payload, signature] = (data?.['jws-kubeconfig-abcdef'] ?? '').split('.');
    expect(payload).toBe('');
    expect(JSON.parse(Buffer.from(header, 'base64url').toString())).toEqual({ alg: 'HS256', kid: 'abcdef' });
    const whole = `${header}.${Buffer.from(content).toString('base64url')}`;
    expect(signature).toBe(createHmac('sha256', key).update(whole).digest('base64url'));
  });

  test('removes signatures of former tokens, and leaves the rest', () => {
    const before = { kubeconfig: 'x', note: 'y', 'jws-kubeconfig-gone00': 'z' };
    const data = withSignatures(before, [token('abcdef')], { name: 'plat' });
    expect(Object.keys(data ?? {})).toEqual(['kubeconfig', 'note', 'jws-kubeconfig-abcdef']);
  });

  test('signs nothing without a configuration', () => {
    expect(withSignatures({ note: 'y' }, [token('abcdef')], { name: 'plat' })).toBeUndefined();
  });
});
