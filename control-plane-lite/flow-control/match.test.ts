import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { FlowSchema, PolicyRulesWithSubjects, Subject } from '#api/gen/flowcontrol-apiserver-v1beta2.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { UserInfo } from '../resources/contract.ts';
import type { FlowTarget } from './contract.ts';
import { flowDefaults } from './defaults.ts';
import { compareSchemas, createClassifier } from './match.ts';

const target = (change: Partial<FlowTarget>): FlowTarget => ({
  verb: 'get',
  isResource: true,
  group: '',
  version: 'v1',
  resource: 'pods',
  subresource: '',
  namespace: 'n',
  name: '',
  path: '',
  ...change,
});
const user = (name: string, ...groups: readonly string[]): UserInfo => ({ name, groups, extra: {} });
const schema = (
  name: string,
  matchingPrecedence: number,
  ...rules: readonly PolicyRulesWithSubjects[]
): FlowSchema => ({
  metadata: { name },
  spec: { priorityLevelConfiguration: { name: 'l' }, matchingPrecedence, rules },
});
const classifierOf = (schemas: readonly FlowSchema[]) =>
  createClassifier(
    schemas.toSorted(compareSchemas).map((each) => ({ schema: each, target: each.metadata?.name ?? '' })),
    'none',
  );

describe('the default schemas', () => {
  const AUTHENTICATED = 'system:authenticated';
  const manager = (prefix: string): UserInfo => user(`system:${prefix}-controller-manager`, AUTHENTICATED);
  const account = (namespace: string, name: string): UserInfo =>
    user(`system:serviceaccount:${namespace}:${name}`, 'system:serviceaccounts', AUTHENTICATED);
  const node = user('system:node:a', 'system:nodes', AUTHENTICATED);
  const path = (at: string): Partial<FlowTarget> => ({
    isResource: false,
    path: at,
    resource: '',
    namespace: '',
  });

  describe.each(['plat', 'kubernetes'] as const)('in the vocabulary %s', (name) => {
    const words = VOCABULARIES[name];
    const prefix = words.componentPrefix;
    const classify = classifierOf(flowDefaults(words).schemas);
    const leases = { group: `coordination.${words.apiGroupDomain}`, resource: 'leases' };
    test.each<[string, UserInfo, Partial<FlowTarget>, string]>([
      ['an administrator', user('a', 'system:masters', AUTHENTICATED), {}, 'exempt'],
      ['an anonymous probe', user('system:anonymous', 'system:unauthenticated'), path('/healthz'), 'probes'],
      ['a probe of one check', user('u', AUTHENTICATED), path('/livez/ping'), 'probes'],
      ['another path', user('u', AUTHENTICATED), path('/healthzz'), 'global-default'],
      ['the lease of a manager', manager(prefix), { ...leases, verb: 'update' }, 'system-leader-election'],
      ['a list of leases', manager(prefix), { ...leases, verb: 'list' }, `${prefix}-controller-manager`],
      ['endpoints of a manager', manager(prefix), { resource: 'endpoints' }, 'endpoint-controller'],
      [
        'a config map of a system account',
        account(words.systemNamespace, 'x'),
        { resource: 'configmaps' },
        'workload-leader-election',
      ],
      [
        'a pod of a system account',
        account(words.systemNamespace, 'x'),
        {},
        `${words.systemNamespace}-service-accounts`,
      ],
      ['a pod of another account', account('n', 'x'), {}, 'service-accounts'],
      [
        'an account whose namespace begins alike',
        account(`${words.systemNamespace}x`, 'x'),
        {},
        'service-accounts',
      ],
      [
        'the status of a node',
        node,
        { resource: 'nodes', subresource: 'status', verb: 'patch', namespace: '' },
        'system-node-high',
      ],
      ['the lease of a node', node, { ...leases, verb: 'update' }, 'system-node-high'],
      ['a pod of a node', node, {}, 'system-nodes'],
      ['a scheduler', user(`system:${prefix}-scheduler`, AUTHENTICATED), {}, `${prefix}-scheduler`],
      ['a user', user('u', AUTHENTICATED), {}, 'global-default'],
      ['a user of no group', user('u'), {}, 'none'],
    ])('%s', (_, by, change, expected) => {
      expect(classify({ user: by, info: target(change) })).toBe(expected);
    });
  });
});

describe('matching', () => {
  const all: PolicyRulesWithSubjects = {
    subjects: [{ kind: 'Group', group: { name: '*' } }],
    resourceRules: [
      { verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'], clusterScope: true },
    ],
    nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
  };
  const classifyAll = (...schemas: readonly FlowSchema[]): string =>
    classifierOf(schemas)({ user: user('u'), info: target({}) });

  test('the lowest precedence wins, then the name', () => {
    expect(classifyAll(schema('b', 2, all), schema('c', 1, all), schema('a', 2, all))).toBe('c');
    expect(classifyAll(schema('b', 1, all), schema('a', 1, all))).toBe('a');
  });

  test('a user of the same name with other groups is another user', () => {
    const subjects: readonly Subject[] = [{ kind: 'Group', group: { name: 'g' } }];
    const classify = classifierOf([schema('a', 1, { ...all, subjects })]);
    const info = target({});
    expect(
      [['g'], ['h'], ['g', 'h'], []].map((groups) => classify({ user: user('u', ...groups), info })),
    ).toEqual(['a', 'none', 'a', 'none']);
  });

  /** The rules as upstream documents them, without any preparation. */
  function matchesNaively({ spec }: FlowSchema, by: UserInfo, info: FlowTarget): boolean {
    const among = (names: readonly string[] = [], name: string): boolean =>
      names.includes(name) || (names.length === 1 && names[0] === '*');
    const isSubject = ({ kind, user: one, group, serviceAccount }: Subject): boolean => {
      if (kind === 'User') return one?.name === '*' || one?.name === by.name;
      if (kind === 'Group') return group?.name === '*' || by.groups.includes(group?.name ?? '');
      const [system, account, namespace, name] = by.name.split(':');
      if (system !== 'system' || account !== 'serviceaccount') return false;
      return (
        namespace === serviceAccount?.namespace &&
        (serviceAccount?.name === '*' || serviceAccount?.name === name)
      );
    };
    const resource = info.subresource === '' ? info.resource : `${info.resource}/${info.subresource}`;
    return (spec?.rules ?? []).some(
      (rule) =>
        rule.subjects.some(isSubject) &&
        (info.isResource
          ? (rule.resourceRules ?? []).some(
              (each) =>
                among(each.verbs, info.verb) &&
                among(each.apiGroups, info.group) &&
                among(each.resources, resource) &&
                (info.namespace === '' ? each.clusterScope === true : among(each.namespaces, info.namespace)),
            )
          : (rule.nonResourceRules ?? []).some(
              (each) =>
                among(each.verbs, info.verb) &&
                each.nonResourceURLs.some(
                  (url) =>
                    url === '*' ||
                    url === info.path ||
                    info.path.startsWith(`${url.replace(/\*$/, '').replace(/\/$/, '')}/`),
                ),
            )),
    );
  }

  const pick = (...values: readonly string[]) => fc.constantFrom(...values);
  const some = (...values: readonly string[]) =>
    fc.oneof(fc.constant(['*']), fc.uniqueArray(pick(...values), { minLength: 1, maxLength: 2 }));
  const subject: fc.Arbitrary<Subject> = fc.oneof(
    pick('u', 'v', '*').map((name) => ({ kind: 'User', user: { name } })),
    pick('g', 'h', '*').map((name) => ({ kind: 'Group', group: { name } })),
    fc
      .tuple(pick('n', 'm'), pick('a', '*'))
      .map(([namespace, name]) => ({ kind: 'ServiceAccount', serviceAccount: { namespace, name } })),
  );
  const rule: fc.Arbitrary<PolicyRulesWithSubjects> = fc.record({
    subjects: fc.array(subject, { minLength: 1, maxLength: 2 }),
    resourceRules: fc.array(
      fc.record({
        verbs: some('get', 'list'),
        apiGroups: some('', 'apps'),
        resources: some('pods', 'pods/status', 'nodes'),
        namespaces: fc.oneof(fc.constant([]), some('n', 'm')),
        clusterScope: fc.boolean(),
      }),
      { maxLength: 2 },
    ),
    nonResourceRules: fc.array(
      fc.record({ verbs: some('get', 'post'), nonResourceURLs: some('/a', '/a/*', '/b/', '/a/b') }),
      { maxLength: 2 },
    ),
  });
  const request = fc.record({
    verb: pick('get', 'list', 'post'),
    isResource: fc.boolean(),
    group: pick('', 'apps'),
    resource: pick('pods', 'nodes'),
    subresource: pick('', 'status'),
    namespace: pick('', 'n', 'm'),
    path: pick('/a', '/a/b', '/ab', '/b', '/b/c', '/'),
  });
  const users = fc.constantFrom(
    user('u', 'g'),
    user('u', 'h'),
    user('v'),
    user('system:serviceaccount:n:a', 'h'),
    user('system:serviceaccount:m:b'),
  );

  test('matches what a naive comparison matches', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.array(rule, { maxLength: 2 }), fc.nat(3)), { maxLength: 5 }),
        fc.array(fc.tuple(users, request), { minLength: 1, maxLength: 10 }),
        (specs, requests) => {
          const schemas = specs.map(([rules, precedence], index) =>
            schema(`s${index}`, precedence, ...rules),
          );
          const classify = classifierOf(schemas);
          for (const [by, change] of requests) {
            const info = target(change);
            const expected = schemas.toSorted(compareSchemas).find((each) => matchesNaively(each, by, info))
              ?.metadata?.name;
            expect(classify({ user: by, info })).toBe(expected ?? 'none');
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});
