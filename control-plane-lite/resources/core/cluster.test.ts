import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { ApiObject, Cell } from '../contract.ts';
import { componentStatusKind } from './component-status.ts';
import { namespaceKind } from './namespace.ts';
import { nodeKind } from './node.ts';
import {
  changed,
  contextWith,
  createFaultsOf,
  NOW,
  NOW_MS,
  objectOf,
  updateFaultsOf,
} from './strategy.fixture.ts';

const vocabulary = VOCABULARIES.plat;
const DOMAIN = vocabulary.domain;
const FINALIZER = vocabulary.namespaceFinalizer;

describe('Namespace', () => {
  const kind = namespaceKind(vocabulary);
  const namespace = (changes: object = {}): ApiObject =>
    objectOf('core/v1.Namespace', changed({ metadata: { name: 'shop' } }, changes));

  test('is active and held by its content at first', () => {
    const draft = namespace({ spec: { finalizers: ['example.com/x'] }, status: { phase: 'Terminating' } });
    kind.strategy.normalize?.(draft);
    kind.strategy.prepareForCreate?.(draft, contextWith());
    expect(draft).toMatchObject({
      metadata: { labels: { [`${DOMAIN}/metadata.name`]: 'shop' } },
      spec: { finalizers: ['example.com/x', FINALIZER] },
      status: { phase: 'Active' },
    });
    kind.strategy.prepareForCreate?.(draft, contextWith());
    expect(draft['spec']).toEqual({ finalizers: ['example.com/x', FINALIZER] });
  });

  test.each([
    ['shop', 0],
    ['shop.example', 1],
    ['x'.repeat(64), 1],
  ])('is named by a label: %s', (name, errors) => {
    expect(kind.strategy.nameErrors?.(name)).toHaveLength(errors);
  });

  test.each<[string, readonly string[]]>([
    [FINALIZER, []],
    ['orphan', []],
    ['example.com/x', []],
    ['x', ['FieldValueInvalid spec.finalizers']],
    ['a b', ['FieldValueInvalid spec.finalizers']],
  ])('may be held by %s: %j', (finalizer, errors) => {
    const object = namespace({ spec: { finalizers: [finalizer] } });
    expect(createFaultsOf(kind, object)).toEqual(errors);
    expect(updateFaultsOf(kind, object, namespace(), 'finalize')).toEqual(errors);
  });

  test('is held by finalizers, which change through finalize only', () => {
    const old = namespace({ spec: { finalizers: [FINALIZER] }, status: { phase: 'Terminating' } });
    const draft = namespace({ metadata: { labels: { a: 'b' } }, status: { phase: 'Active' } });
    const update = structuredClone(draft);
    kind.strategy.prepareForUpdate?.(update, old, contextWith());
    expect(update['spec']).toEqual(old['spec']);
    expect(kind.strategy.holdsDeletion?.(update)).toBe(true);
    kind.parts?.['finalize']?.prepareForUpdate(draft, old, contextWith());
    expect(draft['status']).toEqual(old['status']);
    expect(kind.strategy.holdsDeletion?.(draft)).toBe(false);
  });

  test('says that it ends', () => {
    const draft = namespace({ status: { phase: 'Active' } });
    kind.strategy.markDeleting?.(draft);
    expect(draft['status']).toEqual({ phase: 'Terminating' });
  });

  test.each<[string | undefined, string, readonly string[]]>([
    [undefined, 'Active', []],
    [undefined, 'Terminating', ['FieldValueInvalid status.Phase']],
    [NOW, 'Active', ['FieldValueInvalid status.Phase']],
    [NOW, 'Terminating', []],
  ])('deleted at %s may be %s: %j', (deletionTimestamp, phase, errors) => {
    const object = namespace({ metadata: { deletionTimestamp }, status: { phase } });
    expect(updateFaultsOf(kind, object, namespace(), 'status')).toEqual(errors);
  });

  test('keeps what holds it when its status changes', () => {
    const draft = namespace({ status: { phase: 'Active' } });
    kind.parts?.['status']?.prepareForUpdate(
      draft,
      namespace({ spec: { finalizers: ['a.b/c'] } }),
      contextWith(),
    );
    expect(draft['spec']).toEqual({ finalizers: ['a.b/c'] });
  });

  test('shows its phase', () => {
    const object = namespace({ metadata: { creationTimestamp: NOW }, status: { phase: 'Active' } });
    expect(kind.strategy.row?.(object, { nowMs: NOW_MS, vocabulary })).toEqual(['shop', 'Active', '0s']);
    expect(kind.strategy.selectableFields?.['status.phase']?.(object)).toBe('Active');
    expect(kind.strategy.selectableFields?.['name']?.(object)).toBe('shop');
  });
});

describe('Node', () => {
  const node = (changes: object = {}): ApiObject =>
    objectOf('core/v1.Node', changed({ metadata: { name: 'n1' } }, changes));
  const taint = (key: string, effect = 'NoSchedule', value = ''): object => ({ key, effect, value });

  test('registers with its status', () => {
    const draft = node({ status: { capacity: { cpu: '2' } } });
    nodeKind.strategy.prepareForCreate?.(draft, contextWith());
    expect(draft['status']).toMatchObject({ capacity: { cpu: '2' } });
    expect(nodeKind.strategy.keepsStatusOnCreate).toBe(true);
  });

  test.each<[object, object]>([
    [{ podCIDR: '10.0.0.0/24' }, { podCIDR: '10.0.0.0/24', podCIDRs: ['10.0.0.0/24'] }],
    [{ podCIDRs: ['10.0.0.0/24'] }, { podCIDR: '10.0.0.0/24', podCIDRs: ['10.0.0.0/24'] }],
    [
      { podCIDR: '10.0.1.0/24', podCIDRs: ['10.0.0.0/24'] },
      { podCIDR: '10.0.1.0/24', podCIDRs: ['10.0.1.0/24'] },
    ],
  ])('shows the range of %j in both spellings', (spec, expected) => {
    const draft = node({ spec });
    nodeKind.strategy.normalize?.(draft);
    expect(draft['spec']).toEqual(expected);
  });

  test.each<[string, object, readonly string[]]>([
    ['takes taints', { spec: { taints: [taint('a'), taint('a', 'NoExecute')] } }, []],
    [
      'has each taint once',
      { spec: { taints: [taint('a'), taint('a', 'NoSchedule', 'x')] } },
      ['FieldValueDuplicate spec.taints[1]'],
    ],
    ['wants keys of taints', { spec: { taints: [taint('')] } }, ['FieldValueRequired spec.taints[0].key']],
    ['checks keys of taints', { spec: { taints: [taint('a b')] } }, ['FieldValueInvalid spec.taints[0].key']],
    [
      'checks values of taints',
      { spec: { taints: [taint('a', 'NoSchedule', 'b c')] } },
      ['FieldValueInvalid spec.taints[0].value'],
    ],
    ['has a range of each family', { spec: { podCIDRs: ['10.0.0.0/24', 'fd00::/64'] } }, []],
    ['checks ranges', { spec: { podCIDRs: ['x'] } }, ['FieldValueInvalid spec.podCIDRs[0]']],
    [
      'has one range of a family',
      { spec: { podCIDRs: ['10.0.0.0/24', '10.0.1.0/24'] } },
      ['FieldValueInvalid spec.podCIDRs'],
    ],
    [
      'has no negative amounts',
      { status: { allocatable: { cpu: '-1' } } },
      ['FieldValueInvalid status.allocatable[cpu]'],
    ],
  ])('%s', (_, changes, errors) => {
    expect(createFaultsOf(nodeKind, node(changes))).toEqual(errors);
  });

  test.each<[string, object, object, readonly string[]]>([
    ['is cordoned', {}, { spec: { unschedulable: true } }, []],
    ['is tainted', {}, { spec: { taints: [taint('a')] } }, []],
    ['is given a range', {}, { spec: { podCIDRs: ['10.0.0.0/24'] } }, []],
    [
      'keeps its range',
      { spec: { podCIDRs: ['10.0.0.0/24'] } },
      { spec: { podCIDRs: ['10.0.1.0/24'] } },
      ['FieldValueForbidden spec.podCIDRs'],
    ],
    ['keeps a range', { spec: { podCIDRs: ['10.0.0.0/24'] } }, {}, ['FieldValueForbidden spec.podCIDRs']],
    ['is known to a provider', {}, { spec: { providerID: 'p://1' } }, []],
    [
      'stays known to it',
      { spec: { providerID: 'p://1' } },
      { spec: { providerID: 'p://2' } },
      ['FieldValueForbidden spec.providerID'],
    ],
    ['gets no old identity', {}, { spec: { externalID: 'x' } }, ['FieldValueForbidden spec.externalID']],
    [
      'has each address once',
      {},
      {
        status: {
          addresses: [
            { type: 'InternalIP', address: '10.0.0.1' },
            { type: 'InternalIP', address: '10.0.0.1' },
          ],
        },
      },
      ['FieldValueDuplicate status.addresses[1]'],
    ],
  ])('%s', (_, before, now, errors) => {
    expect(updateFaultsOf(nodeKind, node(now), node(before))).toEqual(errors);
    expect(updateFaultsOf(nodeKind, node(now), node(before), 'status')).toEqual(errors);
  });

  test('keeps its spec when its status changes', () => {
    const draft = node({
      metadata: { annotations: { a: 'b' } },
      spec: { unschedulable: true },
      status: { phase: 'Running' },
    });
    nodeKind.parts?.['status']?.prepareForUpdate(draft, node(), contextWith());
    expect(draft['spec']).toBeUndefined();
    expect(draft.metadata.annotations).toEqual({ a: 'b' });
  });

  test('warns of fields of the past', () => {
    const object = node({ spec: { externalID: 'x', configSource: {} } });
    expect(nodeKind.strategy.warnings?.(object, undefined)).toHaveLength(2);
    expect(nodeKind.strategy.warnings?.(node(), undefined)).toEqual([]);
  });

  const ready = (status: string): object => ({ conditions: [{ type: 'Ready', status }] });
  test.each<[object, readonly Cell[]]>([
    [
      {},
      ['n1', 'Unknown', '<none>', '<unknown>', '', '<none>', '<none>', '<unknown>', '<unknown>', '<unknown>'],
    ],
    [
      { status: ready('Unknown') },
      [
        'n1',
        'NotReady',
        '<none>',
        '<unknown>',
        '',
        '<none>',
        '<none>',
        '<unknown>',
        '<unknown>',
        '<unknown>',
      ],
    ],
    [
      {
        metadata: {
          creationTimestamp: '2022-05-03T11:00:00Z',
          labels: {
            [`node-role.${DOMAIN}/worker`]: '',
            [`node-role.${DOMAIN}/control-plane`]: '',
            [`${DOMAIN}/role`]: 'edge',
          },
        },
        spec: { unschedulable: true },
        status: {
          ...ready('True'),
          addresses: [
            { type: 'ExternalIP', address: '1.2.3.4' },
            { type: 'InternalIP', address: '10.0.0.1' },
          ],
          nodeInfo: {
            nodeAgentVersion: 'v1.24.0',
            osImage: 'Debian',
            kernelVersion: '6.1',
            containerRuntimeVersion: 'containerd://1.6',
          },
        },
      },
      [
        'n1',
        'Ready,SchedulingDisabled',
        'control-plane,edge,worker',
        '60m',
        'v1.24.0',
        '10.0.0.1',
        '1.2.3.4',
        'Debian',
        '6.1',
        'containerd://1.6',
      ],
    ],
  ])('shows %j', (changes, row) => {
    expect(nodeKind.strategy.row?.(node(changes), { nowMs: NOW_MS, vocabulary })).toEqual(row);
  });

  test('shows the version under the word of the other vocabulary', () => {
    const other = VOCABULARIES.kubernetes;
    const object = { ...node(), status: { nodeInfo: { [other.nodeAgentVersionMember]: 'v1.30.0' } } };
    expect(nodeKind.strategy.row?.(object, { nowMs: NOW_MS, vocabulary: other })[4]).toBe('v1.30.0');
  });

  test.each([
    [{}, 'false'],
    [{ spec: { unschedulable: true } }, 'true'],
  ])('is selected by whether it takes pods: %j', (changes, text) => {
    expect(nodeKind.strategy.selectableFields?.['spec.unschedulable']?.(node(changes))).toBe(text);
  });
});

describe('ComponentStatus', () => {
  const component = (...conditions: readonly object[]): ApiObject =>
    objectOf('core/v1.ComponentStatus', { metadata: { name: 'store' }, conditions });

  test.each<[readonly object[], readonly Cell[]]>([
    [[], ['store', 'Unknown', '', '']],
    [[{ type: 'Healthy', status: 'True', message: 'ok' }], ['store', 'Healthy', 'ok', '']],
    [[{ type: 'Healthy', status: 'False', error: 'down' }], ['store', 'Unhealthy', '', 'down']],
  ])('shows %j', (conditions, row) => {
    expect(
      componentStatusKind.strategy.row?.(component(...conditions), { nowMs: NOW_MS, vocabulary }),
    ).toEqual(row);
  });
});
