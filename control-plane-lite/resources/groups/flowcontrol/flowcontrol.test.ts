import { describe, expect, it, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import {
  type Changes,
  type ErrorRow,
  errorsOf,
  type KindSubject,
  rowOf,
  throughPart,
} from '../kind.fixture.ts';
import { flowSchema } from './flow-schema.ts';
import { priorityLevelConfiguration } from './priority-level.ts';

const GROUP = `flowcontrol.apiserver.${VOCABULARIES.plat.apiGroupDomain}/v1beta2`;
const creationTimestamp = '2026-11-21T11:59:00Z';
const STATUS_ROWS: readonly ErrorRow[] = [
  ['is right', { status: { conditions: [{ type: 'A' }, { type: 'B' }] } }, []],
  [
    'twice or untyped',
    { status: { conditions: [{ type: 'A' }, { type: 'A' }, {}] } },
    ['status.conditions[1].type Duplicate', 'status.conditions[2].type Required'],
  ],
];

describe('a flow schema', () => {
  const resourceRule = { verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'] };
  const rule = { subjects: [{ kind: 'Group', group: { name: 'g' } }], resourceRules: [resourceRule] };
  const subject: KindSubject = {
    typeRef: `${GROUP}.FlowSchema`,
    entry: flowSchema,
    base: {
      metadata: { name: 'f', creationTimestamp },
      spec: { priorityLevelConfiguration: { name: 'p' }, rules: [rule] },
    },
  };
  const withSubject = (value: object): Changes => ({ 'spec.rules': [{ ...rule, subjects: [value] }] });
  const withRule = (value: object): Changes => ({
    'spec.rules': [{ ...rule, resourceRules: [{ ...resourceRule, ...value }] }],
  });
  const withPaths = (value: object): Changes => ({
    'spec.rules': [{ ...rule, nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'], ...value }] }],
  });
  const SUBJECT = 'spec.rules[0].subjects[0]';
  const RULE = 'spec.rules[0].resourceRules[0]';
  const PATHS = 'spec.rules[0].nonResourceRules[0]';

  test.each<ErrorRow>([
    ['is right', {}, []],
    ['before all others', { 'spec.matchingPrecedence': 1 }, ['spec.matchingPrecedence Invalid']],
    ['before all others by name', { 'spec.matchingPrecedence': 1, 'metadata.name': 'exempt' }, []],
    ['below zero', { 'spec.matchingPrecedence': -1 }, ['spec.matchingPrecedence Invalid']],
    ['after all others', { 'spec.matchingPrecedence': 10_001 }, ['spec.matchingPrecedence Invalid']],
    ['distinguished by user', { 'spec.distinguisherMethod': { type: 'ByUser' } }, []],
    [
      'distinguished by moon',
      { 'spec.distinguisherMethod': { type: 'ByMoon' } },
      ['spec.distinguisherMethod.type NotSupported'],
    ],
    [
      'of no level',
      { 'spec.priorityLevelConfiguration.name': '' },
      ['spec.priorityLevelConfiguration.name Required'],
    ],
    [
      'of a broken level',
      { 'spec.priorityLevelConfiguration.name': '_' },
      ['spec.priorityLevelConfiguration.name Invalid'],
    ],
    ['without a subject', { 'spec.rules': [{ ...rule, subjects: [] }] }, ['spec.rules[0].subjects Required']],
    ['for nothing', { 'spec.rules': [{ subjects: rule.subjects }] }, ['spec.rules[0] Required']],
    ['of a user', withSubject({ kind: 'User', user: { name: 'u' } }), []],
    ['of no user', withSubject({ kind: 'User' }), [`${SUBJECT}.user Required`]],
    [
      'of a nameless user',
      withSubject({ kind: 'User', user: { name: '' } }),
      [`${SUBJECT}.user.name Required`],
    ],
    [
      'of a nameless group',
      withSubject({ kind: 'Group', group: { name: '' } }),
      [`${SUBJECT}.group.name Required`],
    ],
    [
      'of a user and a group',
      withSubject({ kind: 'User', user: { name: 'u' }, group: { name: 'g' } }),
      [`${SUBJECT}.group Forbidden`],
    ],
    ['of a pod', withSubject({ kind: 'Pod' }), [`${SUBJECT}.kind NotSupported`]],
    [
      'of every account',
      withSubject({ kind: 'ServiceAccount', serviceAccount: { name: '*', namespace: 'n' } }),
      [],
    ],
    [
      'of no account',
      withSubject({ kind: 'ServiceAccount', serviceAccount: { name: '', namespace: '' } }),
      [`${SUBJECT}.serviceAccount.name Required`, `${SUBJECT}.serviceAccount.namespace Required`],
    ],
    [
      'of a broken account',
      withSubject({ kind: 'ServiceAccount', serviceAccount: { name: '_', namespace: '_' } }),
      [`${SUBJECT}.serviceAccount.name Invalid`, `${SUBJECT}.serviceAccount.namespace Invalid`],
    ],
    [
      'for some resources',
      withRule({ verbs: ['get'], apiGroups: [''], resources: ['pods'], namespaces: ['n'] }),
      [],
    ],
    [
      'for no resources',
      withRule({ verbs: [], apiGroups: [], resources: [], namespaces: [] }),
      [
        `${RULE}.verbs Required`,
        `${RULE}.apiGroups Required`,
        `${RULE}.resources Required`,
        `${RULE}.namespaces Required`,
      ],
    ],
    [
      'for all resources and more',
      withRule({
        verbs: ['*', 'get'],
        apiGroups: ['*', 'a'],
        resources: ['*', 'a'],
        namespaces: ['*', 'a'],
      }),
      [
        `${RULE}.verbs Invalid`,
        `${RULE}.apiGroups Invalid`,
        `${RULE}.resources Invalid`,
        `${RULE}.namespaces Invalid`,
      ],
    ],
    ['for unknown verbs', withRule({ verbs: ['dance'] }), [`${RULE}.verbs NotSupported`]],
    ['for the cluster', withRule({ namespaces: [], clusterScope: true }), []],
    ['for broken namespaces', withRule({ namespaces: ['_'] }), [`${RULE}.namespaces[0] Invalid`]],
    ['for paths', withPaths({ verbs: ['get', 'post'], nonResourceURLs: ['/', '/healthz', '/logs/*'] }), []],
    ['for all paths', withPaths({}), []],
    [
      'for no paths',
      withPaths({ verbs: ['watch'], nonResourceURLs: [] }),
      [`${PATHS}.verbs NotSupported`, `${PATHS}.nonResourceURLs Required`],
    ],
    [
      'for broken paths',
      withPaths({ nonResourceURLs: ['a', '/a b', '/a//b', '/*/b', '/a*'] }),
      [0, 1, 2, 3, 4].map((index) => `${PATHS}.nonResourceURLs[${index}] Invalid`),
    ],
    ['without spec', { spec: undefined }, ['spec Required']],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));

  test.each(STATUS_ROWS)('status %s', (_, changes, expected) => {
    expect(throughPart(subject, 'status', changes).errors).toEqual(expected);
  });

  it('has a row', () => {
    expect(rowOf(subject)).toEqual(['f', 'p', '1000', '<none>', '60s', '?']);
    const changes = {
      'spec.distinguisherMethod': { type: 'ByUser' },
      status: { conditions: [{ type: 'Dangling', status: 'False' }] },
    };
    expect(rowOf(subject, changes)).toEqual(['f', 'p', '1000', 'ByUser', '60s', 'False']);
  });
});

describe('a priority level', () => {
  const subject: KindSubject = {
    typeRef: `${GROUP}.PriorityLevelConfiguration`,
    entry: priorityLevelConfiguration,
    base: {
      metadata: { name: 'p', creationTimestamp },
      spec: { type: 'Limited', limited: { limitResponse: { type: 'Queue', queuing: {} } } },
    },
  };
  const LIMITED = 'spec.limited';
  const RESPONSE = `${LIMITED}.limitResponse`;
  const QUEUING = `${RESPONSE}.queuing`;

  test.each<ErrorRow>([
    ['is right', {}, []],
    ['without limits', { [LIMITED]: undefined }, [`${LIMITED} Required`]],
    ['of another type', { 'spec.type': 'Moon' }, ['spec.type NotSupported']],
    ['exempt by type', { spec: { type: 'Exempt' } }, ['spec.type Invalid']],
    ['exempt by name', { 'metadata.name': 'exempt' }, ['spec.type Invalid']],
    ['exempt', { spec: { type: 'Exempt' }, 'metadata.name': 'exempt' }, []],
    ['exempt and limited', { 'spec.type': 'Exempt', 'metadata.name': 'exempt' }, [`${LIMITED} Forbidden`]],
    [
      'of no shares',
      { [`${LIMITED}.assuredConcurrencyShares`]: -1 },
      [`${LIMITED}.assuredConcurrencyShares Invalid`],
    ],
    ['with no response', { [RESPONSE]: {} }, [`${RESPONSE}.type NotSupported`]],
    ['that rejects', { [RESPONSE]: { type: 'Reject' } }, []],
    ['that rejects and queues', { [`${RESPONSE}.type`]: 'Reject' }, [`${QUEUING} Forbidden`]],
    ['that queues nowhere', { [RESPONSE]: { type: 'Queue' } }, [`${QUEUING} Required`]],
    [
      'with queues below zero',
      { [QUEUING]: { queues: -1, handSize: -1, queueLengthLimit: -1 } },
      [`${QUEUING}.queueLengthLimit Invalid`, `${QUEUING}.queues Invalid`, `${QUEUING}.handSize Invalid`],
    ],
    ['with too many queues', { [QUEUING]: { queues: 10_000_001 } }, [`${QUEUING}.queues Invalid`]],
    [
      'with a hand larger than the deck',
      { [QUEUING]: { queues: 4, handSize: 5 } },
      [`${QUEUING}.handSize Invalid`],
    ],
    [
      'with a hand that is hard to draw',
      { [QUEUING]: { queues: 1024, handSize: 7 } },
      [`${QUEUING}.handSize Invalid`],
    ],
    ['with a hand that is just drawn', { [QUEUING]: { queues: 1024, handSize: 6 } }, []],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));

  test.each(STATUS_ROWS)('status %s', (_, changes, expected) => {
    expect(throughPart(subject, 'status', changes).errors).toEqual(expected);
  });

  it('has a row', () => {
    expect(rowOf(subject)).toEqual(['p', 'Limited', '30', '64', '8', '50', '60s']);
    expect(rowOf(subject, { spec: { type: 'Exempt' } }).slice(1, 6)).toEqual([
      'Exempt',
      '<none>',
      '<none>',
      '<none>',
      '<none>',
    ]);
  });
});
