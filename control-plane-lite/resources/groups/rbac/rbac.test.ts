import { describe, expect, it, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { type ErrorRow, errorsOf, type KindSubject, rowOf, updateFaultsOf } from '../kind.fixture.ts';
import { clusterRole } from './cluster-role.ts';
import { role } from './role.ts';
import { clusterRoleBinding, roleBinding } from './role-binding.ts';

const { apiGroupDomain } = VOCABULARIES.plat;
const typeRef = (kind: string): string => `rbac.authorization.${apiGroupDomain}/v1.${kind}`;
const metadata = { name: 'system:reader', namespace: 'default', creationTimestamp: '2026-11-21T11:59:00Z' };
const rule = { verbs: ['get'], apiGroups: [''], resources: ['pods'] };
const urls = { verbs: ['get'], nonResourceURLs: ['/healthz'] };

const RULES: readonly ErrorRow[] = [
  ['is right', {}, []],
  ['without rules', { rules: undefined }, []],
  [
    'that allows nothing',
    { rules: [{ verbs: [] }] },
    ['rules[0].verbs Required', 'rules[0].apiGroups Required', 'rules[0].resources Required'],
  ],
  ['for both kinds of paths', { rules: [rule, { ...rule, ...urls }] }, ['rules[1].nonResourceURLs Invalid']],
];

describe('a role', () => {
  const subject: KindSubject = { typeRef: typeRef('Role'), entry: role, base: { metadata, rules: [rule] } };

  test.each<ErrorRow>([
    ...RULES.slice(0, 3),
    ['for paths outside resources', { rules: [urls] }, ['rules[0].nonResourceURLs Invalid']],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));

  it('may have any name that fits a path', () => {
    const errors = role.strategy.nameErrors;
    expect(errors?.('system:node')).toEqual([]);
    expect(errors?.('..')).toHaveLength(1);
    expect(errors?.('a/b%c')).toHaveLength(2);
  });
});

describe('a cluster role', () => {
  const subject: KindSubject = {
    typeRef: typeRef('ClusterRole'),
    entry: clusterRole,
    base: { metadata, rules: [rule, urls] },
  };
  const PATH = 'aggregationRule.clusterRoleSelectors';

  test.each<ErrorRow>([
    ...RULES,
    ['put together of none', { aggregationRule: {} }, [`${PATH} Required`]],
    ['put together of others', { [PATH]: [{ matchLabels: { a: 'b' } }] }, []],
    ['put together badly', { [PATH]: [{ matchLabels: { a: '-' } }] }, [`${PATH}[0].matchLabels[a] Invalid`]],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));
});

describe.each([
  ['RoleBinding', roleBinding, true],
  ['ClusterRoleBinding', clusterRoleBinding, false],
] as const)('a %s', (kind, entry, namespaced) => {
  const subject: KindSubject = {
    typeRef: typeRef(kind),
    entry,
    base: { metadata, roleRef: { kind: 'ClusterRole', name: 'r' }, subjects: [{ kind: 'User', name: 'u' }] },
  };
  const account = { kind: 'ServiceAccount', name: 'a', namespace: 'n' };

  test.each<ErrorRow>([
    ['is right', {}, []],
    ['in upstream words', { 'roleRef.apiGroup': 'rbac' }, ['roleRef.apiGroup NotSupported']],
    ['to a role of a namespace', { 'roleRef.kind': 'Role' }, namespaced ? [] : ['roleRef.kind NotSupported']],
    [
      'to nothing',
      { 'roleRef.kind': 'Pod', 'roleRef.name': '' },
      ['roleRef.kind NotSupported', 'roleRef.name Required'],
    ],
    ['to no name', { 'roleRef.name': 'a/b' }, ['roleRef.name Invalid']],
    ['without a subject', { subjects: undefined }, []],
    ['of an account', { subjects: [account] }, []],
    [
      'of an account nowhere',
      { subjects: [{ ...account, namespace: '' }] },
      namespaced ? [] : ['subjects[0].namespace Required'],
    ],
    [
      'of a broken account',
      { subjects: [{ ...account, name: '_', apiGroup: 'x', namespace: '_' }] },
      ['subjects[0].name Invalid', 'subjects[0].apiGroup NotSupported', 'subjects[0].namespace Invalid'],
    ],
    [
      'of a user elsewhere',
      { subjects: [{ kind: 'User', name: '', apiGroup: 'x' }] },
      ['subjects[0].name Required', 'subjects[0].apiGroup NotSupported'],
    ],
    ['of a group', { subjects: [{ kind: 'Group', name: 'g' }] }, []],
    ['of a pod', { subjects: [{ kind: 'Pod', name: 'p' }] }, ['subjects[0].kind NotSupported']],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));

  test.each<ErrorRow>([
    ['its subjects', { subjects: [account] }, []],
    ['its role', { 'roleRef.name': 'other' }, ['roleRef Invalid']],
  ])('changing %s', (_, changes, expected) => expect(updateFaultsOf(subject, changes)).toEqual(expected));

  it('speaks the words of the vocabulary', () => {
    const { apiGroupDomain: domain } = VOCABULARIES.kubernetes;
    const upstream: KindSubject = { ...subject, context: { vocabulary: 'kubernetes' } };
    expect(errorsOf(upstream)).toEqual([]);
    expect(errorsOf(upstream, { 'roleRef.apiGroup': `rbac.authorization.${domain}` })).toEqual([]);
  });

  it('has a row', () => {
    const subjects = [
      { kind: 'User', name: 'u' },
      { kind: 'User', name: 'v' },
      { kind: 'Group', name: 'g' },
      account,
    ];
    expect(rowOf(subject, { subjects })).toEqual([
      'system:reader',
      'ClusterRole/r',
      '60s',
      'u, v',
      'g',
      'n/a',
    ]);
  });
});
