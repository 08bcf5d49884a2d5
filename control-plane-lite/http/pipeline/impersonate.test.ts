import { describe, expect, it, test } from 'vitest';
import { StatusError } from '#api/meta/status-error.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { AuthorizationAttributes } from '../../authz/contract.ts';
import type { UserInfo } from '../../resources/contract.ts';
import { createImpersonation, impersonatedUser, readImpersonation } from './impersonate.ts';

const admin: UserInfo = { name: 'admin', groups: [], extra: {} };
const domain = VOCABULARIES.plat.apiGroupDomain;
const nobody = { name: 'jane', uid: '', groups: [], extra: {} };

describe('readImpersonation', () => {
  it('finds everything that may be requested', () => {
    const headers = {
      'impersonate-user': 'jane',
      'impersonate-group': 'dev, ops',
      'impersonate-uid': '7',
      'impersonate-extra-example.com%2fscopes': 'view, edit',
    };
    expect(readImpersonation(headers)).toEqual({
      name: 'jane',
      uid: '7',
      groups: ['dev', 'ops'],
      extra: { 'example.com/scopes': ['view', 'edit'] },
    });
  });

  it('reads names as UTF-8', () => {
    const user = Buffer.from('jürgen').toString('latin1');
    expect(readImpersonation({ 'impersonate-user': user })?.name).toBe('jürgen');
  });

  test.each([{}, { accept: '*/*' }, { 'impersonate-user': '' }, { 'impersonate-other': 'x' }])(
    'finds no impersonation in %j',
    (headers) => {
      expect(readImpersonation(headers)).toBeUndefined();
    },
  );

  test.each(['impersonate-group', 'impersonate-uid', 'impersonate-extra-a'])('%s needs a user', (name) => {
    expect(() => readImpersonation({ [name]: 'x' })).toThrow(StatusError);
  });
});

describe('impersonatedUser', () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ['jane', [], ['system:authenticated']],
    ['jane', ['dev'], ['dev', 'system:authenticated']],
    ['jane', ['system:unauthenticated'], ['system:unauthenticated']],
    ['system:anonymous', [], ['system:unauthenticated']],
    [
      'system:serviceaccount:a:b',
      [],
      ['system:serviceaccounts', 'system:serviceaccounts:a', 'system:authenticated'],
    ],
    ['system:serviceaccount:a:b', ['x'], ['x', 'system:authenticated']],
    ['system:serviceaccount:a', [], ['system:authenticated']],
  ])('%s with %j is in %j', (name, groups, expected) => {
    expect(impersonatedUser({ ...nobody, name, groups }).groups).toEqual(expected);
  });
});

describe('createImpersonation', () => {
  const checked: AuthorizationAttributes[] = [];
  const impersonate = createImpersonation({
    domain,
    authorize(attributes) {
      checked.push(attributes);
      return { effect: attributes.name === 'root' ? 'none' : 'allow', reason: '' };
    },
  });

  it('leaves other requests unchanged, without authorization', () => {
    expect(impersonate({ headers: { host: 'x' }, user: admin })).toBe(admin);
    expect(checked).toEqual([]);
  });

  it('authorizes each part of the identity', async () => {
    const headers = {
      'impersonate-user': 'system:serviceaccount:ns:robot',
      'impersonate-group': 'dev',
      'impersonate-uid': '7',
      'impersonate-extra-scopes': 'view',
    };
    const user = await impersonate({ headers, user: admin });
    expect(user).toMatchObject({
      name: 'system:serviceaccount:ns:robot',
      uid: '7',
      extra: { scopes: ['view'] },
    });
    const seen = checked.map(({ verb, group, resource, subresource, namespace, name }) =>
      [verb, group, resource, subresource, namespace, name].join(' '),
    );
    expect(seen).toEqual([
      'impersonate  serviceaccounts  ns robot',
      'impersonate  groups   dev',
      `impersonate authentication.${domain} uids   7`,
      `impersonate authentication.${domain} userextras scopes  view`,
    ]);
  });

  it('rejects what is not allowed', async () => {
    const becoming = Promise.resolve(impersonate({ headers: { 'impersonate-user': 'root' }, user: admin }));
    await expect(becoming).rejects.toThrow(
      'users "root" is forbidden: User "admin" cannot impersonate resource "users" in API group "" at the cluster scope',
    );
  });
});
