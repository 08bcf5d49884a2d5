import { describe, expect, it, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { ApiObject } from '../../contract.ts';
import {
  type Changes,
  created,
  type ErrorRow,
  errorsOf,
  type KindSubject,
  objectWith,
  rowOf,
  throughPart,
} from '../kind.fixture.ts';
import { horizontalPodAutoscaler } from './horizontal-pod-autoscaler.ts';
import { createAutoscalerConversion, horizontalPodAutoscalerV1 } from './horizontal-pod-autoscaler-v1.ts';

const metadata = { name: 'web', namespace: 'default', creationTimestamp: '2026-11-21T11:59:00Z' };
const scaleTargetRef = { kind: 'Deployment', name: 'web', apiVersion: 'apps/v1' };
const subject: KindSubject = {
  typeRef: 'autoscaling/v2.HorizontalPodAutoscaler',
  entry: horizontalPodAutoscaler,
  base: { metadata, spec: { scaleTargetRef, maxReplicas: 5 } },
};
const METRIC = 'spec.metrics[0]';
const metric = (value: object): Changes => ({ 'spec.metrics': [value] });
const cpu = (target: object): Changes => metric({ type: 'Resource', resource: { name: 'cpu', target } });
const named = { name: 'm' };

describe('an autoscaler', () => {
  test.each<ErrorRow>([
    ['is right', {}, []],
    [
      'with a least below one',
      {
        'spec.minReplicas': 0,
        ...metric({
          type: 'External',
          external: {
            metric: named,
            target: { type: 'Value', value: '1' },
          },
        }),
      },
      ['spec.minReplicas Invalid'],
    ],
    [
      'with a most of none',
      { 'spec.maxReplicas': 0 },
      ['spec.maxReplicas Invalid', 'spec.maxReplicas Invalid'],
    ],
    ['with a most below the least', { 'spec.minReplicas': 6 }, ['spec.maxReplicas Invalid']],
    [
      'of nothing',
      { 'spec.scaleTargetRef': { kind: '', name: 'a/b' } },
      ['spec.scaleTargetRef.kind Required', 'spec.scaleTargetRef.name Invalid'],
    ],
    ['with no type', metric({ type: '' }), [`${METRIC}.type Required`]],
    ['with another type', metric({ type: 'Moon' }), [`${METRIC}.type NotSupported`]],
    ['without its source', metric({ type: 'Pods' }), [`${METRIC}.pods Required`]],
    [
      'with another source',
      metric({
        type: 'Pods',
        pods: { metric: named, target: { type: 'AverageValue', averageValue: '1' } },
        resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 1 } },
      }),
      [`${METRIC}.resource Forbidden`],
    ],
    ['of an average', cpu({ type: 'AverageValue', averageValue: '1' }), []],
    [
      'of no target',
      cpu({ type: '' }),
      [`${METRIC}.resource.target.type Required`, `${METRIC}.resource.target.averageUtilization Required`],
    ],
    [
      'of both targets',
      cpu({ type: 'Value', averageValue: '1', averageUtilization: 1 }),
      [`${METRIC}.resource.target.averageValue Forbidden`],
    ],
    [
      'of targets below zero',
      cpu({ type: 'Sum', averageUtilization: 0, value: '-1' }),
      [
        `${METRIC}.resource.target.type Invalid`,
        `${METRIC}.resource.target.value Invalid`,
        `${METRIC}.resource.target.averageUtilization Invalid`,
      ],
    ],
    [
      'of no resource',
      metric({
        type: 'Resource',
        resource: {
          name: '',
          target: { type: 'Utilization', averageUtilization: 1 },
        },
      }),
      [`${METRIC}.resource.name Required`],
    ],
    [
      'of a container',
      metric({
        type: 'ContainerResource',
        containerResource: {
          name: 'cpu',
          container: '',
          target: { type: 'Utilization', averageUtilization: 1 },
        },
      }),
      [`${METRIC}.containerResource.container Required`],
    ],
    [
      'of pods without average',
      metric({
        type: 'Pods',
        pods: {
          metric: { name: '', selector: { matchLabels: { a: '-' } } },
          target: { type: 'Value', value: '1' },
        },
      }),
      [
        `${METRIC}.pods.metric.name Required`,
        `${METRIC}.pods.metric.selector.matchLabels[a] Invalid`,
        `${METRIC}.pods.target.averageValue Required`,
      ],
    ],
    [
      'of an object without value',
      metric({
        type: 'Object',
        object: {
          describedObject: { kind: '', name: 'a' },
          metric: named,
          target: { type: 'Value' },
        },
      }),
      [`${METRIC}.object.describedObject.kind Required`, `${METRIC}.object.target.averageValue Required`],
    ],
    [
      'from outside with both values',
      metric({
        type: 'External',
        external: {
          metric: named,
          target: { type: 'Value', value: '1', averageValue: '1' },
        },
      }),
      [`${METRIC}.external.target.value Forbidden`],
    ],
    [
      'from outside with no value',
      metric({
        type: 'External',
        external: {
          metric: named,
          target: { type: 'Value' },
        },
      }),
      [`${METRIC}.external.target.averageValue Required`],
    ],
    ['with rules', { 'spec.behavior': { scaleUp: {}, scaleDown: {} } }, []],
    [
      'with rules that are none',
      {
        'spec.behavior.scaleUp': {
          stabilizationWindowSeconds: 3601,
          selectPolicy: 'Often',
          policies: [{ type: 'Moon', value: 0, periodSeconds: 1801 }],
        },
      },
      [
        'spec.behavior.scaleUp.stabilizationWindowSeconds Invalid',
        'spec.behavior.scaleUp.selectPolicy NotSupported',
        'spec.behavior.scaleUp.policies[0].type NotSupported',
        'spec.behavior.scaleUp.policies[0].value Invalid',
        'spec.behavior.scaleUp.policies[0].periodSeconds Invalid',
      ],
    ],
    [
      'without policies',
      {
        'spec.behavior.scaleDown': {
          stabilizationWindowSeconds: -1,
          policies: [],
        },
      },
      [
        'spec.behavior.scaleDown.stabilizationWindowSeconds Invalid',
        'spec.behavior.scaleDown.policies Required',
      ],
    ],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));

  it('may go to zero only by the gate, and only by metrics from outside', () => {
    const toZero = { ...subject, context: { gates: ['HPAScaleToZero'] } };
    expect(errorsOf(toZero, { 'spec.minReplicas': 0 })).toEqual(['spec.metrics Forbidden']);
    expect(errorsOf(toZero, { 'spec.minReplicas': -1 })).toEqual(['spec.minReplicas Invalid']);
  });

  it('forgets metrics of containers where the gate is off', () => {
    const target = { type: 'Utilization', averageUtilization: 1 };
    const changes = metric({
      type: 'ContainerResource',
      containerResource: { name: 'cpu', container: 'c', target },
    });
    expect(created(subject, changes)).toMatchObject({ spec: { metrics: [{ type: 'ContainerResource' }] } });
    expect(JSON.stringify(created(subject, changes))).not.toContain('containerResource');
    const gated = { ...subject, context: { gates: ['HPAContainerMetrics'] } };
    expect(JSON.stringify(created(gated, changes))).toContain('containerResource');
  });

  test.each<ErrorRow>([
    ['is right', { status: { desiredReplicas: 1 } }, []],
    [
      'below zero',
      { status: { currentReplicas: -1, desiredReplicas: -1 } },
      ['status.currentReplicas Invalid', 'status.desiredReplicas Invalid'],
    ],
  ])('status %s', (_, changes, expected) => {
    expect(throughPart(subject, 'status', changes).errors).toEqual(expected);
  });

  const outside = { type: 'External', external: { metric: named, target: { type: 'Value', value: '7' } } };
  const current = (value: object): object => ({
    desiredReplicas: 1,
    currentMetrics: [{ type: 'Resource', resource: { name: 'cpu', current: value } }],
  });
  test.each<readonly [Changes, string]>([
    [{}, '<unknown>/80%'],
    [{ status: current({ averageUtilization: 40, averageValue: '1' }) }, '40%/80%'],
    [{ status: current({ averageValue: '1' }), ...cpu({ type: 'AverageValue', averageValue: '2' }) }, '1/2'],
    [metric(outside), '<unknown>/7'],
    [
      metric({
        type: 'External',
        external: { metric: named, target: { type: 'AverageValue', averageValue: '7' } },
      }),
      '<unknown>/7 (avg)',
    ],
    [{ 'spec.metrics': [outside, outside, outside] }, '<unknown>/7, <unknown>/7 + 1 more...'],
  ])('row %#', (changes, targets) => {
    expect(rowOf(subject, changes)).toEqual(['web', 'Deployment/web', targets, '1', '5', '0', '60s']);
  });
});

describe.each(['plat', 'kubernetes'] as const)('version 1 (%s)', (name) => {
  const vocabulary = VOCABULARIES[name];
  const conversion = createAutoscalerConversion(vocabulary);
  const old: KindSubject = {
    typeRef: 'autoscaling/v1.HorizontalPodAutoscaler',
    entry: horizontalPodAutoscalerV1(vocabulary, horizontalPodAutoscaler),
    base: { metadata, spec: { scaleTargetRef, maxReplicas: 5 } },
    context: { vocabulary: name },
  };
  const roundTrip = async (object: ApiObject): Promise<ApiObject> =>
    conversion.toStorage(await conversion.fromStorage(structuredClone(object)));

  it('has the percentage as a metric', async () => {
    const stored = await conversion.toStorage(objectWith(old, { 'spec.targetCPUUtilizationPercentage': 60 }));
    expect(stored).toMatchObject({
      apiVersion: 'autoscaling/v2',
      spec: { metrics: [{ resource: { name: 'cpu', target: { averageUtilization: 60 } } }] },
    });
    expect(stored['spec']).not.toHaveProperty('targetCPUUtilizationPercentage');
    expect(await conversion.fromStorage(stored)).toEqual(
      objectWith(old, { 'spec.targetCPUUtilizationPercentage': 60 }),
    );
  });

  const target = { type: 'Utilization', averageUtilization: 50 };
  const all = [
    { type: 'Pods', pods: { metric: named, target: { type: 'AverageValue', averageValue: '3' } } },
    {
      type: 'Object',
      object: {
        describedObject: { kind: 'A', name: 'a' },
        metric: { name: 'm', selector: { matchLabels: { a: 'b' } } },
        target: { type: 'Value', value: '2' },
      },
    },
    {
      type: 'Object',
      object: {
        describedObject: { kind: 'A', name: 'a' },
        metric: named,
        target: { type: 'AverageValue', averageValue: '2' },
      },
    },
    { type: 'External', external: { metric: named, target: { type: 'Value', value: '2' } } },
    { type: 'External', external: { metric: named, target: { type: 'AverageValue', averageValue: '2' } } },
    { type: 'ContainerResource', containerResource: { name: 'cpu', container: 'c', target } },
    { type: 'Resource', resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '1Gi' } } },
    { type: 'Resource', resource: { name: 'cpu', target } },
  ];
  const currentMetrics = [
    { type: 'Pods', pods: { metric: named, current: { averageValue: '3' } } },
    {
      type: 'Object',
      object: { describedObject: { kind: 'A', name: 'a' }, metric: named, current: { value: '2' } },
    },
    { type: 'External', external: { metric: named, current: { value: '2', averageValue: '1' } } },
    { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 9, averageValue: '1' } } },
  ];
  const conditions = [{ type: 'AbleToScale', status: 'True' }];

  it('loses nothing that version 2 can say', async () => {
    const stored = objectWith(subject, {
      'metadata.annotations': { mine: 'x' },
      'spec.metrics': all,
      'spec.behavior': { scaleUp: { selectPolicy: 'Max' } },
      status: { desiredReplicas: 1, currentReplicas: 1, currentMetrics, conditions },
    });
    const shown = await conversion.fromStorage(structuredClone(stored));
    expect(shown).toMatchObject({
      apiVersion: 'autoscaling/v1',
      spec: { targetCPUUtilizationPercentage: 50 },
      status: { currentCPUUtilizationPercentage: 9, desiredReplicas: 1 },
    });
    expect(Object.keys(shown.metadata.annotations ?? {})).toEqual([
      'mine',
      ...['metrics', 'behavior', 'current-metrics', 'conditions'].map(
        (kept) => `autoscaling.alpha.${vocabulary.domain}/${kept}`,
      ),
    ]);
    expect(await roundTrip(stored)).toEqual(stored);
  });

  it('keeps a second percentage too', async () => {
    const stored = objectWith(subject, { 'spec.metrics': [all[7], all[7]] });
    expect(await roundTrip(stored)).toEqual(stored);
  });

  it('passes over annotations that make no sense', async () => {
    const key = `autoscaling.alpha.${vocabulary.domain}/metrics`;
    for (const text of ['{', '[{"type":"Moon"}]', '7']) {
      const stored = await conversion.toStorage(objectWith(old, { 'metadata.annotations': { [key]: text } }));
      expect(stored).toMatchObject({
        spec: { metrics: [{ resource: { target: { averageUtilization: 80 } } }] },
      });
      expect(stored.metadata.annotations).toBeUndefined();
    }
  });

  it('has the same row', () => {
    const row = ['web', 'Deployment/web', '<unknown>/80%', '1', '5', '0', '60s'];
    expect(rowOf(old)).toEqual(row);
  });
});
