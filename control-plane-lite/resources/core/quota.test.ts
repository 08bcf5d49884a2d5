import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { ApiObject } from '../contract.ts';
import { limitRangeKind } from './limit-range.ts';
import { resourceQuotaKind } from './resource-quota.ts';
import { contextWith, createFaultsOf, NOW_MS, objectOf, updateFaultsOf } from './strategy.fixture.ts';

const metadata = { name: 'q', namespace: 'default' };

describe('LimitRange', () => {
  const limitRange = (...limits: readonly object[]): ApiObject =>
    objectOf('core/v1.LimitRange', { metadata, spec: { limits } });
  const L = 'spec.limits[0]';

  test.each<[string, object, readonly string[]]>([
    [
      'bounds containers',
      {
        type: 'Container',
        min: { cpu: '1' },
        max: { cpu: '4' },
        default: { cpu: '3' },
        defaultRequest: { cpu: '2' },
        maxLimitRequestRatio: { cpu: '4' },
      },
      [],
    ],
    ['bounds pods', { type: 'Pod', max: { memory: '1Gi' } }, []],
    ['bounds claims', { type: 'PersistentVolumeClaim', max: { storage: '1Gi' } }, []],
    ['bounds what others know of', { type: 'example.com/x', max: { 'example.com/y': '1' } }, []],
    ['knows its types', { type: 'Node' }, [`FieldValueInvalid ${L}.type`]],
    [
      'knows resources',
      { type: 'Container', max: { dogs: '1' } },
      [
        `FieldValueInvalid ${L}.max[dogs]`,
        `FieldValueInvalid ${L}.default[dogs]`,
        `FieldValueInvalid ${L}.defaultRequest[dogs]`,
      ],
    ],
    ['has no negative amounts', { type: 'Pod', min: { cpu: '-1' } }, [`FieldValueInvalid ${L}.min[cpu]`]],
    [
      'has whole numbers of what is counted',
      { type: 'x.io/y', min: { pods: '500m' } },
      [`FieldValueInvalid ${L}.min[pods]`],
    ],
    [
      'has no defaults of pods',
      { type: 'Pod', default: { cpu: '1' }, defaultRequest: { cpu: '1' } },
      [`FieldValueForbidden ${L}.default`, `FieldValueForbidden ${L}.defaultRequest`],
    ],
    ['bounds the size of claims', { type: 'PersistentVolumeClaim' }, [`FieldValueRequired ${L}.limits`]],
    [
      'has its least below its most',
      { type: 'Pod', min: { cpu: '2' }, max: { cpu: '1' } },
      [`FieldValueInvalid ${L}.min[cpu]`],
    ],
    [
      'has requests above the least',
      { type: 'Container', min: { cpu: '2' }, defaultRequest: { cpu: '1' } },
      [`FieldValueInvalid ${L}.defaultRequest[cpu]`],
    ],
    [
      'has requests below the most',
      { type: 'x.io/y', max: { cpu: '1' }, defaultRequest: { cpu: '2' } },
      [`FieldValueInvalid ${L}.defaultRequest[cpu]`],
    ],
    [
      'has requests below limits',
      { type: 'x.io/y', default: { cpu: '1' }, defaultRequest: { cpu: '2' } },
      [`FieldValueInvalid ${L}.defaultRequest[cpu]`],
    ],
    [
      'has limits above the least',
      { type: 'x.io/y', min: { cpu: '2' }, default: { cpu: '1' } },
      [`FieldValueInvalid ${L}.default[cpu]`],
    ],
    [
      'has limits below the most',
      { type: 'x.io/y', max: { cpu: '1' }, default: { cpu: '2' } },
      [`FieldValueInvalid ${L}.default[cpu]`],
    ],
    [
      'has a ratio above one',
      { type: 'Pod', maxLimitRequestRatio: { cpu: '500m' } },
      [`FieldValueInvalid ${L}.maxLimitRequestRatio[cpu]`],
    ],
    [
      'has a ratio that its bounds allow',
      { type: 'Pod', min: { cpu: '1' }, max: { cpu: '2' }, maxLimitRequestRatio: { cpu: '3' } },
      [`FieldValueInvalid ${L}.maxLimitRequestRatio[cpu]`],
    ],
    [
      'promises nothing twice that is handed out whole',
      { type: 'Container', default: { 'example.com/gpu': '2' }, defaultRequest: { 'example.com/gpu': '1' } },
      [`FieldValueInvalid ${L}.defaultRequest[example.com/gpu]`],
    ],
  ])('%s', (_, item, errors) => {
    expect(createFaultsOf(limitRangeKind, limitRange(item))).toEqual(errors);
  });

  test('has each type once', () => {
    const errors = createFaultsOf(limitRangeKind, limitRange({ type: 'Pod' }, { type: 'Pod' }));
    expect(errors).toEqual(['FieldValueDuplicate spec.limits[1].type']);
  });
});

describe('ResourceQuota', () => {
  const quota = (spec: object, status: object = {}): ApiObject =>
    objectOf('core/v1.ResourceQuota', { metadata, spec, status });
  const expressions = (...matchExpressions: readonly object[]): object => ({
    scopeSelector: { matchExpressions },
  });
  const M = 'spec.scopeSelector.matchExpressions';

  test.each<[string, object, readonly string[]]>([
    [
      'bounds amounts and numbers',
      {
        hard: {
          'limits.cpu': '4',
          pods: '10',
          'count/jobs.batch': '3',
          'requests.example.com/gpu': '2',
          'hugepages-2Mi': '1Gi',
        },
      },
      [],
    ],
    ['knows resources', { hard: { dogs: '1' } }, ['FieldValueInvalid spec.hard[dogs]']],
    ['has no negative amounts', { hard: { cpu: '-1' } }, ['FieldValueInvalid spec.hard[cpu]']],
    [
      'has whole numbers of what is counted',
      { hard: { pods: '1500m' } },
      ['FieldValueInvalid spec.hard[pods]'],
    ],
    ['takes scopes', { hard: { cpu: '1', pods: '1' }, scopes: ['NotBestEffort', 'Terminating'] }, []],
    [
      'sums nothing of best effort',
      { hard: { cpu: '1' }, scopes: ['BestEffort'] },
      ['FieldValueInvalid spec.scopes'],
    ],
    [
      'has scopes of pods only',
      { hard: { secrets: '1' }, scopes: ['Terminating'] },
      ['FieldValueInvalid spec.scopes'],
    ],
    [
      'has no scopes that exclude each other',
      { scopes: ['BestEffort', 'NotBestEffort'] },
      ['FieldValueInvalid spec.scopes'],
    ],
    ['nor two other ones', { scopes: ['Terminating', 'NotTerminating'] }, ['FieldValueInvalid spec.scopes']],
    [
      'selects by class',
      {
        hard: { pods: '1' },
        ...expressions({ scopeName: 'PriorityClass', operator: 'In', values: ['high'] }),
      },
      [],
    ],
    [
      'selects pods only',
      { hard: { secrets: '1' }, ...expressions({ scopeName: 'PriorityClass', operator: 'Exists' }) },
      [`FieldValueInvalid ${M}`],
    ],
    [
      'wants values',
      expressions({ scopeName: 'PriorityClass', operator: 'In' }),
      [`FieldValueRequired ${M}.values`],
    ],
    [
      'wants no values',
      expressions({ scopeName: 'PriorityClass', operator: 'Exists', values: ['a'] }),
      [`FieldValueInvalid ${M}.values`],
    ],
    [
      'has no values of other scopes',
      expressions({ scopeName: 'BestEffort', operator: 'In', values: ['a'] }),
      [`FieldValueInvalid ${M}.operator`],
    ],
    [
      'selects nothing that excludes itself',
      expressions(
        { scopeName: 'BestEffort', operator: 'Exists' },
        { scopeName: 'NotBestEffort', operator: 'Exists' },
      ),
      [`FieldValueInvalid ${M}`],
    ],
  ])('%s', (_, spec, errors) => {
    expect(createFaultsOf(resourceQuotaKind, quota(spec))).toEqual(errors);
  });

  test.each<[readonly string[], readonly string[], readonly string[]]>([
    [['BestEffort'], ['BestEffort'], []],
    [['NotBestEffort', 'Terminating'], ['Terminating', 'NotBestEffort'], []],
    [['BestEffort'], [], ['FieldValueInvalid spec.scopes']],
    [[], ['BestEffort'], ['FieldValueInvalid spec.scopes']],
  ])('keeps its scopes: %j to %j', (before, now, errors) => {
    expect(updateFaultsOf(resourceQuotaKind, quota({ scopes: now }), quota({ scopes: before }))).toEqual(
      errors,
    );
  });

  test('has a status of its own', () => {
    const old = quota({ hard: { pods: '1' } });
    const draft = quota({ hard: { pods: '9' } }, { hard: { pods: '1' }, used: { pods: '0' } });
    resourceQuotaKind.parts?.['status']?.prepareForUpdate(draft, old, contextWith());
    expect(draft['spec']).toEqual(old['spec']);
    expect(draft['status']).toEqual({ hard: { pods: '1' }, used: { pods: '0' } });
    const bad = quota({}, { hard: { dogs: '1' }, used: { pods: '-1' } });
    expect(updateFaultsOf(resourceQuotaKind, bad, old, 'status')).toEqual([
      'FieldValueInvalid status.hard[dogs]',
      'FieldValueInvalid status.used[pods]',
    ]);
  });

  test('shows requests and limits apart', () => {
    const hard = { pods: '10', 'limits.cpu': '4', cpu: '2' };
    const row = resourceQuotaKind.strategy.row?.(quota({}, { hard, used: { pods: '3' } }), {
      nowMs: NOW_MS,
      vocabulary: VOCABULARIES.plat,
    });
    expect(row).toEqual(['q', '<unknown>', 'cpu: 0/2, pods: 3/10', 'limits.cpu: 0/4']);
  });
});
