import { describe, expect, test } from 'vitest';
import type { Pod, ResourceQuotaSpec } from '#api/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { quotaStatus } from '../controllers/resourcequota/decide.ts';
import type { ApiObject } from '../resources/contract.ts';
import { typed } from '../resources/view.ts';
import { formatAmounts, increaseOf, readAmounts } from './amounts.ts';
import { isInScopes, missingAmounts, podUsage } from './pods.ts';
import { concernsKind, usageOf } from './usage.ts';

const WORDS = VOCABULARIES.plat;
const END = '2026-01-01T00:00:00Z';
const END_MS = Date.parse(END);

const container = (name: string, requests = {}, limits = {}): Record<string, unknown> => ({
  name,
  resources: { requests, limits },
});

const podOf = (spec: object, more: object = {}): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p' },
  spec,
  ...more,
});

const asPod = (object: ApiObject): Pod => typed<Pod>(object);

describe('podUsage', () => {
  const usage = (object: ApiObject, nowMs = 0): string => formatAmounts(podUsage(asPod(object), nowMs));

  test('sums containers, and takes the larger of them and an init container', () => {
    const object = podOf({
      containers: [
        container('a', { cpu: '100m', memory: '1Gi' }, { cpu: '1' }),
        container('b', { cpu: '200m' }),
      ],
      initContainers: [container('i', { cpu: '250m', memory: '2Gi', 'ex.org/gpu': '1' })],
      overhead: { cpu: '10m', memory: '1Mi' },
    });
    expect(usage(object)).toBe(
      'cpu=310m,limits.cpu=1010m,memory=2049Mi,pods=1,requests.cpu=310m,requests.ex.org/gpu=1,requests.memory=2049Mi',
    );
  });

  const running = { containers: [container('a')] };
  test.each<[string, object, string]>([
    ['has ended', { status: { phase: 'Failed' } }, ''],
    ['is ending', { metadata: { deletionTimestamp: END, deletionGracePeriodSeconds: 30 } }, 'pods=1'],
    ['should have ended', { metadata: { deletionTimestamp: END, deletionGracePeriodSeconds: 1 } }, ''],
  ])('of a pod that %s', (_, more, expected) => {
    expect(usage(podOf(running, more), END_MS + 2000)).toBe(expected);
  });
});

test('missingAmounts names the containers without an amount', () => {
  const object = podOf({ containers: [container('a', { cpu: '1' }), container('b')] });
  const limited = new Set(['requests.cpu', 'limits.memory', 'pods']);
  expect(missingAmounts(asPod(object), limited)).toEqual(['limits.memory for: a,b', 'requests.cpu for: b']);
  expect(missingAmounts(asPod(object), new Set(['pods']))).toEqual([]);
});

describe('isInScopes', () => {
  const idle = { containers: [container('a')] };
  const busy = { containers: [container('a', { cpu: '1m' })] };
  const term = { topologyKey: 'zone', namespaces: ['other'] };
  const apart = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
  const priority = (
    operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist',
    values?: string[],
  ): ResourceQuotaSpec => ({
    scopeSelector: {
      matchExpressions: [
        { scopeName: 'PriorityClass', operator, ...(values === undefined ? {} : { values }) },
      ],
    },
  });

  test.each<[ResourceQuotaSpec, object, boolean]>([
    [{}, idle, true],
    [{ scopes: ['BestEffort'] }, idle, true],
    [{ scopes: ['BestEffort'] }, busy, false],
    [{ scopes: ['NotBestEffort'] }, busy, true],
    [{ scopes: ['Terminating'] }, { ...idle, activeDeadlineSeconds: 0 }, true],
    [{ scopes: ['Terminating'] }, idle, false],
    [{ scopes: ['NotTerminating'] }, idle, true],
    [{ scopes: ['NotTerminating', 'BestEffort'] }, busy, false],
    [{ scopes: ['CrossNamespacePodAffinity'] }, idle, false],
    [{ scopes: ['CrossNamespacePodAffinity'] }, { ...idle, affinity: apart }, true],
    [priority('In', ['high']), { ...idle, priorityClassName: 'high' }, true],
    [priority('In', ['high']), idle, false],
    [priority('NotIn', ['high']), idle, true],
    [priority('Exists'), idle, false],
    [priority('DoesNotExist'), idle, true],
  ])('%j of %j: %s', (quota, spec, expected) => {
    expect(isInScopes(quota, asPod(podOf(spec)))).toBe(expected);
  });

  test('only pods are in a scope', () => {
    expect(isInScopes({}, undefined)).toBe(true);
    expect(isInScopes({ scopes: ['NotTerminating'] }, undefined)).toBe(false);
  });
});

describe('usageOf', () => {
  const usage = (plural: string, spec: object, group = ''): string =>
    formatAmounts(usageOf({ group, plural }, podOf(spec), WORDS, 0));
  const ports = [{ port: 80 }, { port: 81, nodePort: 30_001 }];
  const perClass = `fast.storageclass.storage.${WORDS.apiGroupDomain}`;

  test.each<[string, object, string]>([
    ['configmaps', {}, 'configmaps=1,count/configmaps=1'],
    ['endpoints', {}, 'count/endpoints=1'],
    ['services', { ports }, 'count/services=1,services=1,services.loadbalancers=0,services.nodeports=0'],
    [
      'services',
      { ports, type: 'NodePort' },
      'count/services=1,services=1,services.loadbalancers=0,services.nodeports=2',
    ],
    [
      'services',
      { ports, type: 'LoadBalancer', allocateLoadBalancerNodePorts: false },
      'count/services=1,services=1,services.loadbalancers=1,services.nodeports=1',
    ],
    [
      'persistentvolumeclaims',
      { storageClassName: 'fast', resources: { requests: { storage: '1Gi' } } },
      `count/persistentvolumeclaims=1,${perClass}/persistentvolumeclaims=1,${perClass}/requests.storage=1Gi,persistentvolumeclaims=1,requests.storage=1Gi`,
    ],
  ])('%s %j', (plural, spec, expected) => {
    expect(usage(plural, spec)).toBe(expected);
  });

  test('of other groups only the count', () => {
    expect(usage('pods', {}, 'ex.org')).toBe('count/pods.ex.org=1');
  });

  test.each([
    ['', 'pods', 'requests.cpu', true],
    ['', 'pods', 'requests.storage', false],
    ['', 'pods', 'count/pods', true],
    ['', 'persistentvolumeclaims', 'requests.storage', true],
    ['', 'services', 'services.nodeports', true],
    ['', 'secrets', 'services', false],
    ['apps', 'deployments', 'count/deployments.apps', true],
    ['apps', 'pods', 'pods', false],
  ])('concernsKind %s/%s %s: %s', (group, plural, name, expected) => {
    expect(concernsKind({ group, plural }, name, WORDS)).toBe(expected);
  });
});

test('increaseOf returns only increases', () => {
  const [now, before] = [readAmounts({ a: '3', b: '1', c: '2' }), readAmounts({ a: '1', b: '2', c: '2' })];
  expect(formatAmounts(increaseOf(now, before))).toBe('a=2');
});

test('quotaStatus counts the known resources, and retains the usage of the rest', () => {
  const pods = [
    podOf({ containers: [container('a', { cpu: '1' })] }),
    podOf({ containers: [container('b')] }),
  ];
  const hard = { pods: '9', cpu: '4', 'count/things.ex.org': '1', secrets: '5' };
  const counted = [
    { kind: { group: '', plural: 'pods' }, objects: pods },
    { kind: { group: '', plural: 'secrets' }, objects: [] },
  ];
  const before = { used: { 'count/things.ex.org': '7', cpu: '8', gone: '1' } };
  expect(quotaStatus({ spec: { hard }, status: before }, counted, WORDS, 0)).toEqual({
    hard,
    used: { pods: '2', cpu: '1', secrets: '0', 'count/things.ex.org': '7' },
  });
});
