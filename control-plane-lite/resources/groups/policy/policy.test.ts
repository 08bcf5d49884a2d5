import { describe, expect, it, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import {
  created,
  type ErrorRow,
  errorsOf,
  type KindSubject,
  objectWith,
  rowOf,
  throughPart,
} from '../kind.fixture.ts';
import { createBudgetConversion, podDisruptionBudget } from './pod-disruption-budget.ts';
import { podSecurityPolicy } from './pod-security-policy.ts';

const metadata = { name: 'web', namespace: 'default', creationTimestamp: '2026-11-21T11:59:00Z' };

describe('a disruption budget', () => {
  const subject: KindSubject = {
    typeRef: 'policy/v1.PodDisruptionBudget',
    entry: podDisruptionBudget,
    base: { metadata, spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } } },
  };

  test.each<ErrorRow>([
    ['is right', {}, []],
    ['in percent', { 'spec.minAvailable': '100%' }, []],
    ['of more than all', { 'spec.minAvailable': '101%' }, ['spec.minAvailable Invalid']],
    ['of no amount', { 'spec.minAvailable': 'few' }, ['spec.minAvailable Invalid']],
    ['below zero', { 'spec.minAvailable': -1 }, ['spec.minAvailable Invalid']],
    ['of both', { 'spec.maxUnavailable': 1 }, ['spec Invalid']],
    [
      'of too many unavailable',
      { 'spec.minAvailable': undefined, 'spec.maxUnavailable': '101%' },
      ['spec.maxUnavailable Invalid'],
    ],
    [
      'with a broken selector',
      { 'spec.selector.matchLabels': { app: '-' } },
      ['spec.selector.matchLabels[app] Invalid'],
    ],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));

  const condition = {
    type: 'A',
    status: 'True',
    reason: 'R',
    message: '',
    lastTransitionTime: '2026-11-21T11:59:00Z',
  };
  const zero = { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 };
  test.each<ErrorRow>([
    ['is right', { status: { ...zero, conditions: [condition] } }, []],
    ['below zero', { status: { ...zero, expectedPods: -1 } }, ['status.expectedPods Invalid']],
    [
      'with a condition twice',
      { status: { ...zero, conditions: [condition, condition] } },
      ['status.conditions[1].type Duplicate'],
    ],
    [
      'with broken conditions',
      {
        status: {
          ...zero,
          conditions: [
            { ...condition, type: '', status: 'Maybe', reason: '' },
            { ...condition, type: '-', observedGeneration: -1, reason: '7' },
            { ...condition, reason: 'a'.repeat(1025), message: 'a'.repeat(32_769) },
          ],
        },
      },
      [
        'status.conditions[0].type Required',
        'status.conditions[0].status NotSupported',
        'status.conditions[0].reason Required',
        'status.conditions[1].type Invalid',
        'status.conditions[1].observedGeneration Invalid',
        'status.conditions[1].reason Invalid',
        'status.conditions[2].reason TooLong',
        'status.conditions[2].message TooLong',
      ],
    ],
  ])('status %s', (_, changes, expected) => {
    expect(throughPart(subject, 'status', changes).errors).toEqual(expected);
  });

  it('starts with zeros, and has a row', () => {
    expect(created(subject)['status']).toEqual(zero);
    expect(rowOf(subject, { status: { ...zero, disruptionsAllowed: 2 } })).toEqual([
      'web',
      '1',
      'N/A',
      2,
      '60s',
    ]);
    const other = { 'spec.minAvailable': undefined, 'spec.maxUnavailable': '10%' };
    expect(rowOf(subject, other).slice(1, 3)).toEqual(['N/A', '10%']);
  });

  describe.each(['plat', 'kubernetes'] as const)('between its versions (%s)', (name) => {
    const conversion = createBudgetConversion(VOCABULARIES[name]);
    const key = `pdb.${VOCABULARIES[name].domain}/deprecated-v1beta1-empty-selector-match`;
    const none = { matchExpressions: [{ key, operator: 'Exists' }] };
    const all = { matchExpressions: [{ key, operator: 'DoesNotExist' }] };

    test.each([
      ['an empty selector', {}, none],
      ['one of everything', all, {}],
      ['any other', { matchLabels: { a: 'b' } }, { matchLabels: { a: 'b' } }],
    ])('%s means the same', async (_, old, stored) => {
      const made = await conversion.toStorage(objectWith(subject, { 'spec.selector': old }));
      expect(made).toMatchObject({ apiVersion: 'policy/v1' });
      expect(made['spec']).toEqual({ minAvailable: 1, selector: stored });
      const shown = await conversion.fromStorage(objectWith(subject, { 'spec.selector': stored }));
      expect(shown).toMatchObject({ apiVersion: 'policy/v1beta1' });
      expect(shown['spec']).toEqual({ minAvailable: 1, selector: old });
    });

    it('no selector stays none', async () => {
      const made = await conversion.toStorage(objectWith(subject, { 'spec.selector': undefined }));
      expect(made['spec']).toEqual({ minAvailable: 1 });
    });
  });
});

describe('a pod security policy', () => {
  const any = (): object => ({ rule: 'RunAsAny' });
  const subject: KindSubject = {
    typeRef: 'policy/v1beta1.PodSecurityPolicy',
    entry: podSecurityPolicy,
    base: {
      metadata: { name: 'open' },
      spec: { seLinux: any(), runAsUser: any(), supplementalGroups: any(), fsGroup: any(), volumes: ['*'] },
    },
  };

  test.each<ErrorRow>([
    ['is right', {}, []],
    [
      'with unknown rules',
      {
        'spec.seLinux.rule': 'MayRunAs',
        'spec.runAsUser.rule': 'MayRunAs',
        'spec.runAsGroup': { rule: 'Moon' },
        'spec.supplementalGroups.rule': 'Moon',
        'spec.fsGroup.rule': 'MustRunAsNonRoot',
      },
      ['runAsUser', 'runAsGroup', 'seLinux', 'supplementalGroups', 'fsGroup'].map(
        (member) => `spec.${member}.rule NotSupported`,
      ),
    ],
    [
      'with broken ranges',
      { 'spec.runAsUser': { rule: 'MustRunAs', ranges: [{ min: -1, max: -2 }] } },
      [
        'spec.runAsUser.ranges[0].min Invalid',
        'spec.runAsUser.ranges[0].max Invalid',
        'spec.runAsUser.ranges[0].min Invalid',
      ],
    ],
    ['with volumes', { 'spec.volumes': ['configMap', 'moon'] }, ['spec.volumes[1] NotSupported']],
    [
      'with paths',
      { 'spec.allowedHostPaths': [{ pathPrefix: '' }, { pathPrefix: '/a/..' }] },
      ['spec.allowedHostPaths[0].pathPrefix Required', 'spec.allowedHostPaths[1].pathPrefix Invalid'],
    ],
    [
      'with drivers',
      {
        'spec.allowedFlexVolumes': [{ driver: '' }],
        'spec.allowedCSIDrivers': [{ name: '' }, { name: '_' }],
      },
      [
        'spec.allowedFlexVolumes[0].driver Required',
        'spec.allowedCSIDrivers[0].name Required',
        'spec.allowedCSIDrivers[1].name Invalid',
      ],
    ],
    [
      'with capabilities that it drops',
      {
        'spec.requiredDropCapabilities': ['KILL'],
        'spec.defaultAddCapabilities': ['KILL'],
        'spec.allowedCapabilities': ['KILL', 'CHOWN'],
      },
      ['spec.defaultAddCapabilities Invalid', 'spec.allowedCapabilities Invalid'],
    ],
    [
      'with ports',
      {
        'spec.hostPorts': [
          { min: 5, max: 4 },
          { min: -1, max: 65_536 },
        ],
      },
      ['spec.hostPorts[0].min Invalid', 'spec.hostPorts[1].min Invalid', 'spec.hostPorts[1].max Invalid'],
    ],
    [
      'with escalation by default only',
      {
        'spec.defaultAllowPrivilegeEscalation': true,
        'spec.allowPrivilegeEscalation': false,
      },
      ['spec.defaultAllowPrivilegeEscalation Invalid'],
    ],
    [
      'with sysctls',
      {
        'spec.forbiddenSysctls': ['kernel.*', 'A'],
        'spec.allowedUnsafeSysctls': ['kernel.shm', 'net.*'],
      },
      ['spec.forbiddenSysctls[1] Invalid', 'spec.allowedUnsafeSysctls[0] Invalid'],
    ],
    [
      'with runtime classes',
      {
        'spec.runtimeClass': {
          allowedRuntimeClassNames: ['*', 'a', 'a', '_'],
          defaultRuntimeClassName: 'b',
        },
      },
      [
        'spec.runtimeClass.allowedRuntimeClassNames[0] Invalid',
        'spec.runtimeClass.allowedRuntimeClassNames[2] Duplicate',
        'spec.runtimeClass.allowedRuntimeClassNames[3] Invalid',
      ],
    ],
    [
      'with a class that it does not allow',
      {
        'spec.runtimeClass': {
          allowedRuntimeClassNames: ['a'],
          defaultRuntimeClassName: 'b',
        },
      },
      ['spec.runtimeClass.allowedRuntimeClassNames Required'],
    ],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));

  it('has a row', () => {
    const changes = { 'spec.privileged': true, 'spec.allowedCapabilities': ['A', 'B'] };
    const [name, ...cells] = rowOf(subject, changes);
    expect(name).toBe('open');
    expect(cells).toEqual(['true', 'A,B', 'RunAsAny', 'RunAsAny', 'RunAsAny', 'RunAsAny', 'false', '*']);
  });
});
