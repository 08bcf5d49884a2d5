import { describe, expect, test } from 'vitest';
import type { LimitRangeItem, Pod } from '#api/gen/core-v1.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { claimErrors, podErrors } from './constraints.ts';
import { giveDefaults } from './defaults.ts';

type Amounts = Readonly<Record<string, string>>;

const container = (requests: Amounts, limits: Amounts = {}) => ({
  name: 'c',
  image: 'i',
  resources: { requests, limits },
});
const podOf = (...containers: readonly ReturnType<typeof container>[]): Pod => ({ spec: { containers } });
const item = (limit: Partial<LimitRangeItem>): LimitRangeItem => ({ type: 'Container', ...limit });

describe('podErrors', () => {
  test.each<[string, LimitRangeItem, Pod, readonly string[]]>([
    ['nothing is wrong', item({ min: { cpu: '1' } }), podOf(container({ cpu: '1' })), []],
    [
      'the request is below the minimum',
      item({ min: { cpu: '1' } }),
      podOf(container({ cpu: '900m' })),
      ['minimum cpu usage per Container is 1, but request is 900m'],
    ],
    [
      'there is no request',
      item({ min: { cpu: '1' } }),
      podOf(container({})),
      ['minimum cpu usage per Container is 1.  No request is specified'],
    ],
    [
      'the limit is too low',
      item({ min: { cpu: '1' } }),
      podOf(container({ cpu: '1' }, { cpu: '0.5' })),
      ['minimum cpu usage per Container is 1, but limit is 0.5'],
    ],
    [
      'there is no limit',
      item({ max: { cpu: '1' } }),
      podOf(container({ cpu: '1' })),
      ['maximum cpu usage per Container is 1.  No limit is specified'],
    ],
    [
      'the limit is too high',
      item({ max: { memory: '1Gi' } }),
      podOf(container({}, { memory: '2Gi' })),
      ['maximum memory usage per Container is 1Gi, but limit is 2Gi'],
    ],
    [
      'limit and request are too far apart',
      item({ maxLimitRequestRatio: { cpu: '2' } }),
      podOf(container({ cpu: '1' }, { cpu: '3' })),
      ['cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000'],
    ],
    [
      'a ratio needs a request',
      item({ maxLimitRequestRatio: { cpu: '2' } }),
      podOf(container({}, { cpu: '3' })),
      ['cpu max limit to request ratio per Container is 2, but no request is specified or request is 0'],
    ],
    [
      'containers are counted together for a pod',
      item({ type: 'Pod', max: { cpu: '3' } }),
      podOf(container({}, { cpu: '2' }), container({}, { cpu: '2' })),
      ['maximum cpu usage per Pod is 3, but limit is 4'],
    ],
    [
      'limits of claims are not for pods',
      item({ type: 'PersistentVolumeClaim', max: { cpu: '0' } }),
      podOf(),
      [],
    ],
  ])('%s', (_, limit, pod, errors) => expect(podErrors(pod, [limit])).toEqual(errors));

  test('init containers count alone, if they have more than all others', () => {
    const spec = { containers: [container({}, { cpu: '2' })], initContainers: [container({}, { cpu: '5' })] };
    expect(podErrors({ spec }, [item({ type: 'Pod', max: { cpu: '4' } })])).toEqual([
      'maximum cpu usage per Pod is 4, but limit is 5',
    ]);
  });
});

describe('claimErrors', () => {
  test.each([
    ['1Gi', []],
    ['3Gi', ['maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi']],
    ['100Mi', ['minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 100Mi']],
  ])('%s', (storage, errors) => {
    const limits = [
      item({ type: 'PersistentVolumeClaim', min: { storage: '1Gi' }, max: { storage: '2Gi' } }),
    ];
    const claim = { spec: { resources: { requests: { storage } } } };
    expect(claimErrors(claim, limits)).toEqual(errors);
  });
});

describe('giveDefaults', () => {
  const range = {
    spec: { limits: [item({ default: { cpu: '2', memory: '1Gi' }, defaultRequest: { cpu: '1' } })] },
  };
  const draftOf = (spec: object): ApiObject => ({ apiVersion: 'v1', kind: 'Pod', metadata: {}, spec });

  test('sets missing values, with an annotation', () => {
    const draft = draftOf({
      containers: [container({ cpu: '3' })],
      initContainers: [{ ...container({}, { memory: '2Gi' }), name: 'first' }],
    });
    giveDefaults(draft, range, 'note');
    expect(draft['spec']).toEqual({
      containers: [container({ cpu: '3' }, { cpu: '2', memory: '1Gi' })],
      initContainers: [{ ...container({ cpu: '1' }, { cpu: '2', memory: '2Gi' }), name: 'first' }],
    });
    expect(draft.metadata.annotations?.['note']).toBe(
      'LimitRanger plugin set: cpu, memory limit for container c; cpu request for init container first; cpu limit for init container first',
    );
  });

  test('sets no annotation where nothing is missing', () => {
    const draft = draftOf({ containers: [container({ cpu: '1' }, { cpu: '1', memory: '1' })] });
    giveDefaults(draft, range, 'note');
    expect(draft.metadata).toEqual({});
  });
});
