/** Tokens of service accounts. Document 2 §5.2. */
import { createPublicKey, verify } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { usePlane, VOCABULARY_NAMES } from './support.ts';

interface Issued {
  readonly kind: string;
  readonly spec: { readonly audiences: readonly string[]; readonly expirationSeconds: number };
  readonly status: { readonly token: string; readonly expirationTimestamp: string };
}

/** Members of a part of a token. */
const part = (text: string): Readonly<Record<string, unknown>> =>
  JSON.parse(Buffer.from(text, 'base64url').toString()) as Readonly<Record<string, unknown>>;

describe.each(VOCABULARY_NAMES)('service account tokens in the %s vocabulary', (vocabulary) => {
  const plane = usePlane(vocabulary);

  async function account(name = 'robot'): Promise<string> {
    const namespace = await plane.namespace();
    await plane.post(`${namespace}/serviceaccounts`, { metadata: { name } });
    return namespace;
  }
  async function issue(namespace: string, spec: object = {}, name = 'robot'): Promise<Issued> {
    const { body } = await plane.post(`${namespace}/serviceaccounts/${name}/token`, { spec });
    return body as unknown as Issued;
  }
  const whoIs = async (token: string, audiences: readonly string[] = []) => {
    const path = plane.path('authentication/v1', 'tokenreviews');
    const { body } = await plane.post(path, { spec: { token, audiences } });
    return body as unknown as { readonly status: Readonly<Record<string, unknown>> };
  };

  test('let the account in, for what its roles allow', async () => {
    const namespace = await account();
    const { kind, spec, status } = await issue(namespace);
    expect({ kind, ...spec }).toMatchObject({ kind: 'TokenRequest', expirationSeconds: 3600 });
    const client = plane.as(status.token);
    const own = namespace.split('/').at(-1) ?? '';
    const refused = await client.get(`${namespace}/pods`);
    expect(refused.status).toBe(403);
    expect(refused.body.message).toContain(`system:serviceaccount:${own}:robot`);
    const rbac = plane.path('rbac.authorization/v1', `namespaces/${own}/rolebindings`);
    await plane.post(rbac, {
      metadata: { name: 'robots' },
      roleRef: {
        apiGroup: `rbac.authorization.${plane.words.apiGroupDomain}`,
        kind: 'ClusterRole',
        name: 'view',
      },
      subjects: [{ kind: 'ServiceAccount', name: 'robot', namespace: own }],
    });
    expect((await client.get(`${namespace}/pods`)).status).toBe(200);
    expect((await client.get(`${namespace}/secrets`)).status).toBe(403);
  });

  test('identify the account, for the requested audiences', async () => {
    const namespace = await account();
    const { status } = await issue(namespace, { audiences: ['vault'], expirationSeconds: 600 });
    const own = namespace.split('/').at(-1) ?? '';
    expect((await whoIs(status.token, ['vault', 'else'])).status).toMatchObject({
      authenticated: true,
      audiences: ['vault'],
      user: {
        username: `system:serviceaccount:${own}:robot`,
        groups: ['system:serviceaccounts', `system:serviceaccounts:${own}`, 'system:authenticated'],
      },
    });
    expect((await whoIs(status.token)).status['authenticated']).not.toBe(true);
    expect((await plane.as(status.token).get(namespace)).status).toBe(401);
  });

  test('end with the account', async () => {
    const namespace = await account();
    const { status } = await issue(namespace);
    expect((await plane.as(status.token).get('/api/v1')).status).toBe(200);
    await plane.delete(`${namespace}/serviceaccounts/robot`);
    await plane.post(`${namespace}/serviceaccounts`, { metadata: { name: 'robot' } });
    expect((await plane.as(status.token).get('/api/v1')).status).toBe(401);
  });

  test('bound to a pod name it and expire with it', async () => {
    const namespace = await account();
    const spec = { serviceAccountName: 'robot', containers: [{ name: 'c', image: 'i' }] };
    const { body } = await plane.post(`${namespace}/pods`, { metadata: { name: 'p' }, spec });
    const reference = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: body.metadata.uid };
    const { status } = await issue(namespace, { boundObjectRef: reference });
    const key = `authentication.${plane.words.domain}/pod-name`;
    expect((await whoIs(status.token)).status).toMatchObject({ user: { extra: { [key]: ['p'] } } });
    await plane.delete(`${namespace}/pods/p`, { gracePeriodSeconds: 0 });
    expect((await whoIs(status.token)).status['authenticated']).not.toBe(true);
  });

  test('can be verified by others, with the published configuration and keys', async () => {
    const namespace = await account();
    const { status } = await issue(namespace);
    const [head = '', claims = '', signature = ''] = status.token.split('.');
    const own = plane.as(status.token);
    const configuration = await own.get('/.well-known/openid-configuration');
    expect(configuration.body).toEqual({
      issuer: part(claims)['iss'],
      jwks_uri: expect.stringMatching(/^https:\/\/[^/]+:\d+\/openid\/v1\/jwks$/) as string,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
    });
    const published = await own.get('/openid/v1/jwks');
    expect(published.headers['content-type']).toBe('application/jwk-set+json');
    const { keys } = published.body as unknown as {
      readonly keys: readonly Readonly<Record<string, string>>[];
    };
    const { alg, kid } = part(head);
    const key = keys.find((one) => one['kid'] === kid) ?? {};
    expect(key).toMatchObject({ use: 'sig', kty: 'EC', crv: 'P-256', alg });
    expect(key).not.toHaveProperty('d');
    const publicKey = createPublicKey({ format: 'jwk', key });
    const signed = Buffer.from(`${head}.${claims}`);
    const encoding = { key: publicKey, dsaEncoding: 'ieee-p1363' } as const;
    expect(verify('sha256', signed, encoding, Buffer.from(signature, 'base64url'))).toBe(true);
  });

  test('survive a restart of the server', async () => {
    const namespace = await account();
    const { status } = await issue(namespace);
    await plane.server.restart();
    expect((await whoIs(status.token)).status).toMatchObject({ authenticated: true });
  });

  test.each([
    ['too short a time', { expirationSeconds: 599 }, 422],
    ['too long a time', { expirationSeconds: 2 ** 33 }, 422],
    ['an object of another kind', { boundObjectRef: { apiVersion: 'v1', kind: 'Node', name: 'n' } }, 422],
    ['a pod that is not there', { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'p' } }, 404],
    [
      'another pod of the name',
      { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'mine', uid: 'x' } },
      409,
    ],
    ['the pod of another account', { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'other' } }, 400],
  ])('are refused for %s', async (_, spec, status) => {
    const namespace = await account();
    const containers = [{ name: 'c', image: 'i' }];
    await plane.post(`${namespace}/pods`, {
      metadata: { name: 'mine' },
      spec: { serviceAccountName: 'robot', containers },
    });
    await plane.post(`${namespace}/pods`, {
      metadata: { name: 'other' },
      spec: { serviceAccountName: 'someone', containers },
    });
    expect((await plane.post(`${namespace}/serviceaccounts/robot/token`, { spec })).status).toBe(status);
  });

  test('are not issued for an account that does not exist, and cannot be read', async () => {
    const namespace = await account();
    expect((await plane.post(`${namespace}/serviceaccounts/nobody/token`, {})).status).toBe(404);
    expect((await plane.get(`${namespace}/serviceaccounts/robot/token`)).status).toBe(405);
  });
});
