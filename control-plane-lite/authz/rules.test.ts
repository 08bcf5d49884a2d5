import { describe, expect, test } from 'vitest';
import type { PolicyRule } from '#api/gen/rbac-authorization-v1.ts';
import type { AuthorizationAttributes } from './contract.ts';
import { allows, uncovered } from './rules.ts';

const base: AuthorizationAttributes = {
  user: { name: 'ann', groups: [], extra: {} },
  verb: 'get',
  isResource: true,
  group: '',
  version: 'v1',
  resource: 'pods',
  subresource: '',
  namespace: 'default',
  name: 'web',
  path: '',
};
const pods: PolicyRule = { verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'] };

describe('allows', () => {
  test.each<[string, PolicyRule, Partial<AuthorizationAttributes>, boolean]>([
    ['a resource that it names', pods, {}, true],
    ['no other verb', pods, { verb: 'delete' }, false],
    ['no other group', pods, { group: 'apps' }, false],
    ['no other resource', pods, { resource: 'secrets' }, false],
    ['no subresource of a resource that it names', pods, { subresource: 'log' }, false],
    ['a subresource that it names', { ...pods, resources: ['pods/log'] }, { subresource: 'log' }, true],
    ['but not its parent', { ...pods, resources: ['pods/log'] }, {}, false],
    [
      'a subresource of any',
      { ...pods, resources: ['*/scale'] },
      { resource: 'x', subresource: 'scale' },
      true,
    ],
    [
      'everything by stars',
      { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
      { group: 'x', subresource: 'y' },
      true,
    ],
    ['a name that it names', { ...pods, resourceNames: ['web'] }, {}, true],
    ['no other name', { ...pods, resourceNames: ['db'] }, {}, false],
    ['no list of a name', { ...pods, resourceNames: ['web'] }, { verb: 'list', name: '' }, false],
    ['no paths by resources', pods, { isResource: false, path: '/healthz' }, false],
    [
      'a path',
      { verbs: ['get'], nonResourceURLs: ['/healthz'] },
      { isResource: false, path: '/healthz' },
      true,
    ],
    [
      'no path below',
      { verbs: ['get'], nonResourceURLs: ['/healthz'] },
      { isResource: false, path: '/healthz/etcd' },
      false,
    ],
    [
      'paths below by a star',
      { verbs: ['get'], nonResourceURLs: ['/healthz/*'] },
      { isResource: false, path: '/healthz/etcd' },
      true,
    ],
  ])('%s', (_, rule, attributes, expected) => {
    expect(allows(rule, { ...base, ...attributes })).toBe(expected);
  });
});

describe('uncovered', () => {
  test.each<[string, readonly PolicyRule[], readonly PolicyRule[], number]>([
    ['nothing of nothing', [], [], 0],
    ['all without a rule of its own', [], [pods], 2],
    ['nothing of the same', [pods], [pods], 0],
    [
      'nothing if several together cover it',
      [
        { ...pods, verbs: ['get'] },
        { ...pods, verbs: ['list'] },
      ],
      [pods],
      0,
    ],
    ['all names where one is allowed', [{ ...pods, resourceNames: ['a'] }], [pods], 2],
    ['nothing of a name by all', [pods], [{ ...pods, resourceNames: ['a'] }], 0],
    ['nothing by stars', [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }], [pods], 0],
    [
      'paths by resources',
      [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
      [{ verbs: ['get'], nonResourceURLs: ['/x'] }],
      1,
    ],
    [
      'nothing of a path below a star',
      [{ verbs: ['get'], nonResourceURLs: ['/x/*'] }],
      [{ verbs: ['get'], nonResourceURLs: ['/x/y'] }],
      0,
    ],
    [
      'nothing of a subresource by */',
      [{ ...pods, resources: ['*/log'] }],
      [{ ...pods, resources: ['pods/log'] }],
      0,
    ],
  ])('is %s', (_, owned, wanted, count) => {
    expect(uncovered(owned, wanted)).toHaveLength(count);
  });
});
