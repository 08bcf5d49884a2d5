/** Impersonation. Document 2 §5.7. */
import { beforeAll, describe, expect, test } from 'vitest';
import { certificateRequest } from './kinds.ts';
import { type Json, type Reply, tokens, usePlane, WAIT } from './support.ts';

describe('impersonation', () => {
  const plane = usePlane('plat', tokens('ann-t,ann,1,"dev"', 'bob-t,bob,2'));
  const group = `rbac.authorization.${plane.words.apiGroupDomain}`;
  const requests = plane.path('certificates/v1', 'certificatesigningrequests');
  let names = 0;
  beforeAll(async () => {
    // Every authenticated user may request a certificate, and the object records the user.
    await plane.post(plane.path('rbac.authorization/v1', 'clusterroles'), {
      metadata: { name: 'impersonated' },
      rules: [
        { apiGroups: [`certificates.${plane.words.apiGroupDomain}`], resources: ['*'], verbs: ['create'] },
      ],
    });
    await bound('impersonated', { kind: 'Group', name: 'system:authenticated' });
  });

  async function bound(role: string, subject: Json): Promise<void> {
    await plane.post(plane.path('rbac.authorization/v1', 'clusterrolebindings'), {
      metadata: { name: role },
      roleRef: { apiGroup: group, kind: 'ClusterRole', name: role },
      subjects: [subject],
    });
  }

  /** A request by a user (the administrator without a token) with these headers. */
  function impersonated(headers: Readonly<Record<string, string>>, token = ''): Promise<Reply> {
    const client = token === '' ? plane : plane.as(token);
    const object = { metadata: { name: `csr-${(names += 1)}` }, ...certificateRequest(plane.words) };
    return client.post(requests, object, { headers });
  }

  test.each<[string, Record<string, string>, Json]>([
    ['a user', { 'impersonate-user': 'jane' }, { username: 'jane', groups: ['system:authenticated'] }],
    [
      'groups',
      { 'impersonate-user': 'jane', 'impersonate-group': 'a, b' },
      { username: 'jane', groups: ['a', 'b', 'system:authenticated'] },
    ],
    ['a uid', { 'impersonate-user': 'jane', 'impersonate-uid': 'u-1' }, { username: 'jane', uid: 'u-1' }],
    [
      'extra values',
      {
        'impersonate-user': 'jane',
        'impersonate-extra-scopes': 'view',
        'impersonate-extra-acme.com%2fproject': 'x',
      },
      { username: 'jane', extra: { scopes: ['view'], 'acme.com/project': ['x'] } },
    ],
    [
      'a service account',
      { 'impersonate-user': 'system:serviceaccount:default:robot' },
      {
        username: 'system:serviceaccount:default:robot',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
      },
    ],
  ])('%s', async (_, headers, expected) => {
    const { status, body } = await impersonated(headers);
    expect({ status, message: body.message }).toEqual({ status: 201 });
    expect(body.spec).toMatchObject(expected);
  });

  test('what the identity may is what counts', async () => {
    const jane = { 'impersonate-user': 'jane' };
    const refused = await plane.get('/api/v1/secrets', jane);
    expect(refused.status).toBe(403);
    expect(refused.body.message).toContain('User "jane" cannot list resource "secrets"');
    const masters = { ...jane, 'impersonate-group': 'system:masters' };
    expect((await plane.get('/api/v1/secrets', masters)).status).toBe(200);
  });

  test.each(['impersonate-group', 'impersonate-uid', 'impersonate-extra-scopes'])(
    '%s needs a user',
    async (header) => {
      expect((await plane.get('/api/v1/pods', { [header]: 'x' })).status).toBe(400);
    },
  );

  test('it requires permission to impersonate, for each claimed attribute', async () => {
    const none = await impersonated({ 'impersonate-user': 'jane' }, 'ann-t');
    expect(none).toMatchObject({ status: 403, body: { reason: 'Forbidden' } });
    expect(none.body.message).toContain(
      'users "jane" is forbidden: User "ann" cannot impersonate resource "users"',
    );
    const own = `authentication.${plane.words.apiGroupDomain}`;
    await plane.post(plane.path('rbac.authorization/v1', 'clusterroles'), {
      metadata: { name: 'acting' },
      rules: [
        { apiGroups: [''], resources: ['users'], verbs: ['impersonate'], resourceNames: ['jane'] },
        { apiGroups: [''], resources: ['groups'], verbs: ['impersonate'], resourceNames: ['a'] },
        {
          apiGroups: [own],
          resources: ['userextras/scopes'],
          verbs: ['impersonate'],
          resourceNames: ['view'],
        },
        { apiGroups: [own], resources: ['uids'], verbs: ['impersonate'], resourceNames: ['u-1'] },
      ],
    });
    await bound('acting', { kind: 'User', name: 'ann' });
    await expect
      .poll(async () => (await impersonated({ 'impersonate-user': 'jane' }, 'ann-t')).status, WAIT)
      .toBe(201);
    const rows: readonly (readonly [Record<string, string>, number])[] = [
      [{ 'impersonate-user': 'joe' }, 403],
      [{ 'impersonate-user': 'jane', 'impersonate-group': 'a' }, 201],
      [{ 'impersonate-user': 'jane', 'impersonate-group': 'a, b' }, 403],
      [{ 'impersonate-user': 'jane', 'impersonate-group': 'system:masters' }, 403],
      [{ 'impersonate-user': 'jane', 'impersonate-extra-scopes': 'view' }, 201],
      [{ 'impersonate-user': 'jane', 'impersonate-extra-scopes': 'edit' }, 403],
      [{ 'impersonate-user': 'jane', 'impersonate-extra-other': 'view' }, 403],
      [{ 'impersonate-user': 'jane', 'impersonate-uid': 'u-1' }, 201],
      [{ 'impersonate-user': 'jane', 'impersonate-uid': 'u-2' }, 403],
      [{ 'impersonate-user': 'system:serviceaccount:default:robot' }, 403],
    ];
    for (const [headers, status] of rows) {
      expect([headers, (await impersonated(headers, 'ann-t')).status]).toEqual([headers, status]);
    }
    expect((await impersonated({ 'impersonate-user': 'jane' }, 'bob-t')).status).toBe(403);
  });
});
