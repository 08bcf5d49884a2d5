import { describe, expect, test } from 'vitest';
import { boundedFieldErrors } from '#api/schema/validation/field-errors.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { resourceOf } from '../../content/content.fixture.ts';
import type { ApiObject } from '../contract.ts';
import { prepareForUpdate, updateChecks } from '../generic.ts';
import { podKind } from './pod.ts';
import { changed, contextWith, createFaultsOf, objectOf, updateFaultsOf } from './strategy.fixture.ts';

const { plat } = VOCABULARIES;
const MIRROR = plat.configMirror;
const APP_ARMOR = `${plat.appArmorContainerPrefix}app`;
const KIND = podKind(plat);
const BASE = {
  metadata: { name: 'web', namespace: 'default', labels: { app: 'web' } },
  spec: {
    containers: [
      { name: 'app', image: 'app:1' },
      { name: 'side', image: 'side:1' },
    ],
    initContainers: [{ name: 'init', image: 'init:1' }],
    tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 }],
  },
};
const podWith = (changes: object = {}): ApiObject => objectOf('core/v1.Pod', changed(BASE, changes));
const containers = (...images: readonly string[]): object => ({
  spec: {
    containers: images.map((image, index) => ({ name: ['app', 'side'][index] ?? `c${index}`, image })),
  },
});

describe('creation', () => {
  test('starts a pod as pending, with its quality of service, whatever status was sent', () => {
    const pod = podWith({ status: { phase: 'Running', podIP: '10.0.0.1' } });
    KIND.strategy.prepareForCreate?.(pod, contextWith());
    expect(pod['status']).toEqual({ phase: 'Pending', qosClass: 'BestEffort' });
  });

  test.each([
    [{ serviceAccountName: 'a' }, 'a'],
    [{ serviceAccount: 'a' }, 'a'],
    [{ serviceAccountName: 'a', serviceAccount: 'b' }, 'a'],
    [{}, undefined],
  ])('shows the service account of %j in both spellings', (spec, name) => {
    const pod = podWith({ spec });
    KIND.strategy.normalize?.(pod);
    const { serviceAccountName, serviceAccount } = pod['spec'] as Record<string, unknown>;
    expect([serviceAccountName, serviceAccount]).toEqual([name, name]);
  });

  test.each<[string, object, readonly string[]]>([
    ['takes a plain pod', {}, []],
    ['takes a pod for another system', { spec: { os: { name: 'windows' } } }, []],
    ['takes a negative grace period', { spec: { terminationGracePeriodSeconds: -1 } }, []],
    ['checks the spec', { spec: { containers: [] } }, ['FieldValueRequired spec.containers']],
    [
      'takes no ephemeral containers',
      { spec: { ephemeralContainers: [{ name: 'debug', image: 'x' }] } },
      ['FieldValueForbidden spec.ephemeralContainers'],
    ],
    [
      'wants a node for a mirror pod',
      { metadata: { annotations: { [MIRROR]: 'x' } } },
      [`FieldValueInvalid metadata.annotations[${MIRROR}]`],
    ],
    [
      'takes a mirror pod with a node',
      { metadata: { annotations: { [MIRROR]: 'x' } }, spec: { nodeName: 'n1' } },
      [],
    ],
  ])('%s', (_, changes, errors) => {
    expect(createFaultsOf(KIND, podWith(changes))).toEqual(errors);
  });
});

test('a pod without a spec has no containers', () => {
  const pod = objectOf('core/v1.Pod', { metadata: BASE.metadata });
  expect(createFaultsOf(KIND, pod)).toEqual(['FieldValueRequired spec.containers']);
  KIND.strategy.prepareForCreate?.(pod, contextWith());
  expect(pod['status']).toEqual({ phase: 'Pending', qosClass: 'BestEffort' });
});

describe('update', () => {
  const FORBIDDEN = ['FieldValueForbidden spec'];
  const toleration = { key: 'a', operator: 'Exists', effect: 'NoExecute' };

  test.each<[string, object, readonly string[]]>([
    ['takes no change at all', {}, []],
    ['takes labels and annotations', { metadata: { labels: { b: 'c' }, annotations: { d: 'e' } } }, []],
    ['takes other images', containers('app:2', 'side:2'), []],
    [
      'wants an image',
      { spec: { containers: [{ name: 'app', imagePullPolicy: 'IfNotPresent' }, BASE.spec.containers[1]] } },
      ['FieldValueRequired spec.containers[0].image'],
    ],
    [
      'takes another image of an init container',
      { spec: { initContainers: [{ name: 'init', image: 'init:2' }] } },
      [],
    ],
    ['takes no further container', containers('a', 'b', 'c'), ['FieldValueForbidden spec.containers']],
    ['takes no container away', containers('a'), ['FieldValueForbidden spec.containers']],
    [
      'takes no init container away',
      { spec: { initContainers: [] } },
      ['FieldValueForbidden spec.initContainers'],
    ],
    ['takes a deadline', { spec: { activeDeadlineSeconds: 7 } }, []],
    ['takes a further toleration', { spec: { tolerations: [toleration, { operator: 'Exists' }] } }, []],
    [
      'takes other seconds of a toleration',
      { spec: { tolerations: [{ ...toleration, tolerationSeconds: 9 }] } },
      [],
    ],
    ['takes no toleration away', { spec: { tolerations: [] } }, ['FieldValueForbidden spec.tolerations']],
    ['keeps the node', { spec: { nodeName: 'n2' } }, FORBIDDEN],
    ['keeps volumes', { spec: { volumes: [{ name: 'v', emptyDir: {} }] } }, FORBIDDEN],
    ['keeps the restart policy', { spec: { restartPolicy: 'Never' } }, FORBIDDEN],
    ['keeps the grace period', { spec: { terminationGracePeriodSeconds: 1 } }, FORBIDDEN],
    [
      'keeps commands',
      { spec: { containers: [{ ...BASE.spec.containers[0], command: ['x'] }, BASE.spec.containers[1]] } },
      FORBIDDEN,
    ],
    [
      'becomes no mirror pod',
      { metadata: { annotations: { [MIRROR]: 'x' } }, spec: { nodeName: 'n' } },
      [`FieldValueForbidden metadata.annotations[${MIRROR}]`],
    ],
    [
      'keeps AppArmor profiles',
      { metadata: { annotations: { [APP_ARMOR]: 'unconfined' } } },
      [`FieldValueForbidden metadata.annotations[${APP_ARMOR}]`],
    ],
  ])('%s', (_, changes, errors) => {
    expect(updateFaultsOf(KIND, podWith(changes), podWith())).toEqual(errors);
  });

  test.each([
    [9, 8, []],
    [9, 9, []],
    [9, 10, ['FieldValueInvalid spec.activeDeadlineSeconds']],
    [9, undefined, ['FieldValueInvalid spec.activeDeadlineSeconds']],
    [9, -1, ['FieldValueInvalid spec.activeDeadlineSeconds', 'FieldValueInvalid spec.activeDeadlineSeconds']],
  ])('takes a deadline of %d made %j: %j', (before, now, errors) => {
    const [old, pod] = [before, now].map((activeDeadlineSeconds) =>
      podWith({ spec: { activeDeadlineSeconds } }),
    );
    expect(updateFaultsOf(KIND, pod as ApiObject, old as ApiObject)).toEqual(errors);
  });

  test.each([
    [-1, 1, []],
    [-5, 1, []],
    [-5, 2, FORBIDDEN],
    [30, 1, FORBIDDEN],
  ])('takes a grace period of %d made %d: %j', (before, now, errors) => {
    const [old, pod] = [before, now].map((terminationGracePeriodSeconds) =>
      podWith({ spec: { terminationGracePeriodSeconds } }),
    );
    expect(updateFaultsOf(KIND, pod as ApiObject, old as ApiObject)).toEqual(errors);
  });

  test('says what may change and what did', () => {
    const [error] =
      KIND.strategy.validateUpdate?.(podWith({ spec: { nodeName: 'n' } }), podWith(), contextWith()) ?? [];
    expect(error?.detail).toMatch(
      /^pod updates may not change fields other than `spec.containers\[\*\].image`/,
    );
    expect(error?.detail).toMatch(/changed: spec.nodeName$/);
  });
});

describe('deletion', () => {
  const ON_NODE = { nodeName: 'n1', terminationGracePeriodSeconds: 40 };
  test.each<[string, object, number | undefined, number]>([
    ['takes the time that the pod asks for', { spec: ON_NODE }, undefined, 40],
    ['takes the time that the client asks for', { spec: ON_NODE }, 7, 7],
    ['takes none if forced', { spec: ON_NODE }, 0, 0],
    [
      'counts a negative time as one second',
      { spec: { ...ON_NODE, terminationGracePeriodSeconds: -3 } },
      undefined,
      1,
    ],
    ['takes none where the pod runs nowhere', { spec: { ...ON_NODE, nodeName: '' } }, 9, 0],
    ['takes none of a pod that succeeded', { spec: ON_NODE, status: { phase: 'Succeeded' } }, undefined, 0],
    ['takes none of a pod that failed', { spec: ON_NODE, status: { phase: 'Failed' } }, undefined, 0],
  ])('%s', (_, changes, requested, graceSeconds) => {
    const plan = KIND.strategy.planDeletion?.(podWith(changes), requested, contextWith());
    expect(plan).toEqual({ graceSeconds });
  });
});

test('changes nothing inside what an update may share with the live object', () => {
  const frozen = <T>(value: T): T => {
    if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(frozen);
    return value;
  };
  const status = { podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.2' }] };
  const old = frozen({ ...podWith({ spec: { ...BASE.spec, serviceAccount: 'a' } }), status });
  for (const part of ['', 'status', 'ephemeralcontainers', 'binding']) {
    const draft: ApiObject = { ...old, metadata: { ...old.metadata } };
    KIND.strategy.normalize?.(draft);
    const resource = resourceOf('Pod', { strategy: KIND.strategy, parts: KIND.parts ?? {} });
    expect(() => prepareForUpdate(resource, draft, old, contextWith(), part)).not.toThrow();
    expect(() => boundedFieldErrors(updateChecks(resource, draft, old, contextWith(), part))).not.toThrow();
    expect(draft['spec']).toMatchObject({ serviceAccount: 'a' });
  }
});

test('warns of what is written in a way of the past when a pod is made, not at each of its many updates', () => {
  const pod = podWith({ spec: { terminationGracePeriodSeconds: -1 } });
  expect(KIND.strategy.warnings?.(pod, undefined)).toHaveLength(1);
  expect(KIND.strategy.warnings?.(pod, pod)).toEqual([]);
});

test('fields that selectors may name', () => {
  const pod = podWith({
    spec: { nodeName: 'n1', serviceAccountName: 'sa' },
    status: { phase: 'Running', podIP: '10.1.2.3', nominatedNodeName: 'n2' },
  });
  const fields = Object.entries(KIND.strategy.selectableFields ?? {}).map(([name, read]) => [
    name,
    read(pod),
  ]);
  expect(Object.fromEntries(fields)).toEqual({
    'spec.nodeName': 'n1',
    'spec.restartPolicy': 'Always',
    'spec.schedulerName': 'default-scheduler',
    'spec.serviceAccountName': 'sa',
    'status.phase': 'Running',
    'status.podIP': '10.1.2.3',
    'status.nominatedNodeName': 'n2',
  });
});

describe('the deletion cost', () => {
  const annotation = `controller.${plat.domain}/pod-deletion-cost`;
  const costing = (cost: string): ApiObject =>
    podWith({ metadata: { ...BASE.metadata, annotations: { [annotation]: cost } } });
  const gated = contextWith({ gates: new Set(['PodDeletionCost']) });

  test.each([
    ['0', true],
    ['-2147483648', true],
    ['2147483647', true],
    ['2147483648', false],
    ['+1', false],
    ['01', false],
    ['a', false],
    ['', false],
  ])('%j: %s', (cost, isValid) => {
    const errors = [`FieldValueInvalid metadata.annotations[${annotation}]`];
    expect(createFaultsOf(KIND, costing(cost), gated)).toEqual(isValid ? [] : errors);
    expect(createFaultsOf(KIND, costing(cost), contextWith())).toEqual([]);
  });

  test('may stay invalid', () => {
    expect(KIND.strategy.validate?.(costing('x'), gated, costing('y'))).toEqual([]);
  });
});
