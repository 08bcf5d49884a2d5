import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ManagedFieldsEntry } from '#api/gen/meta-v1.ts';
import { finish } from '#api/kit/steps.ts';
import { typeModelOf } from '#api/schema/type-model-builtin.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { JsonObject } from '../patch/json-value.ts';
import type { ApiObject } from '../resources/contract.ts';
import { capOwners } from './cap-owners.ts';
import { type FieldSet, union } from './field-set.ts';
import {
  applyAll,
  entriesOf,
  fieldsOf,
  list,
  managersOf,
  modelWith,
  SCALAR,
  specOf,
  T0,
  thing,
  update,
} from './model.fixture.ts';
import { storedOwners } from './owners.ts';
import { trackUpdate } from './track-update.ts';

const withEntries = (object: ApiObject, managedFields: unknown): JsonObject => ({
  metadata: { ...object.metadata, managedFields },
});

describe('creation', () => {
  test('gives everything to the creator, structures included', () => {
    const object = update(undefined, 'c', {
      metadata: { name: 'x', uid: 'u', labels: { l: '1' }, finalizers: ['f'] },
      spec: {
        replicas: 1,
        items: [{ name: 'a', ports: [{ port: 1 }] }],
        tags: ['t'],
        list: [1],
        source: { empty: {} },
      },
      status: { phase: 'p' },
    });
    expect(object.metadata.managedFields).toEqual([
      {
        manager: 'c',
        operation: 'Update',
        apiVersion: 'v1',
        time: '2020-09-13T12:26:40Z',
        fieldsType: 'FieldsV1',
        fieldsV1: {
          'f:metadata': { 'f:labels': { '.': {}, 'f:l': {} }, 'f:finalizers': { '.': {}, 'v:"f"': {} } },
          'f:spec': {
            'f:replicas': {},
            'f:items': {
              '.': {},
              'k:{"name":"a"}': {
                '.': {},
                'f:name': {},
                'f:ports': { '.': {}, 'k:{"port":1,"protocol":"TCP"}': { '.': {}, 'f:port': {} } },
              },
            },
            'f:tags': { '.': {}, 'v:"t"': {} },
            'f:list': {},
            'f:source': { '.': {}, 'f:empty': {} },
          },
        },
      },
    ]);
  });

  test('of a pod is noted as upstream notes it', () => {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'n', labels: { run: 'n' } },
      spec: {
        containers: [
          { name: 'n', image: 'i', resources: {}, ports: [{ containerPort: 80, protocol: 'TCP' }] },
        ],
        securityContext: {},
        nodeSelector: { a: 'b' },
        volumes: [{ name: 'v', emptyDir: {} }],
      },
    } as unknown as ApiObject;
    finish(
      trackUpdate({
        live: undefined,
        next: pod,
        model: typeModelOf('core/v1.Pod', VOCABULARIES.plat),
        manager: 'run',
        apiVersion: 'v1',
        subresource: '',
        nowMs: T0,
      }),
    );
    expect(fieldsOf(pod, 'run')).toEqual({
      'f:metadata': { 'f:labels': { '.': {}, 'f:run': {} } },
      'f:spec': {
        'f:containers': {
          'k:{"name":"n"}': {
            '.': {},
            'f:name': {},
            'f:image': {},
            'f:resources': {},
            'f:ports': {
              '.': {},
              'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {}, 'f:protocol': {} },
            },
          },
        },
        'f:securityContext': {},
        'f:nodeSelector': {},
        'f:volumes': { '.': {}, 'k:{"name":"v"}': { '.': {}, 'f:emptyDir': {}, 'f:name': {} } },
      },
    });
  });

  test('without a manager is by unknown', () => {
    expect(managersOf(update(undefined, '', { spec: { replicas: 1 } }))).toEqual(['unknown Update']);
  });

  test('keeps managers that the client sent', () => {
    const sent = [
      {
        manager: 'a',
        operation: 'Apply',
        apiVersion: 'v1',
        time: '2020-01-01T00:00:00Z',
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:spec': { 'f:replicas': {} } },
      },
    ];
    const object = update(undefined, 'c', { ...thing({ replicas: 1 }, { managedFields: sent }) });
    expect(managersOf(object)).toEqual(['a Apply', 'c Update']);
  });
});

describe('updates (4.9.1, 4.9.2)', () => {
  const live = applyAll(['a', { replicas: 1, items: [{ name: 'x', image: '1' }], tags: ['t'] }]);

  test('take ownership without a conflict', () => {
    const object = update(live, 'u', { spec: { ...specOf(live), replicas: 2 } });
    expect(fieldsOf(object, 'a')).not.toHaveProperty(['f:spec', 'f:replicas']);
    expect(fieldsOf(object, 'u')).toEqual({ 'f:spec': { 'f:replicas': {} } });
  });

  test('take away what they remove', () => {
    const object = update(live, 'u', { spec: { replicas: 1, tags: [] } });
    expect(fieldsOf(object, 'a')).toEqual({ 'f:spec': { 'f:replicas': {} } });
    expect(managersOf(object)).toEqual(['a Apply']);
  });

  test('that add an item own it whole', () => {
    const object = update(live, 'u', {
      spec: {
        ...specOf(live),
        items: [
          { name: 'x', image: '1' },
          { name: 'y', image: '2' },
        ],
      },
    });
    expect(fieldsOf(object, 'u')).toEqual({
      'f:spec': { 'f:items': { 'k:{"name":"y"}': { '.': {}, 'f:name': {}, 'f:image': {} } } },
    });
    expect(fieldsOf(object, 'a')).toEqual(fieldsOf(live, 'a'));
  });

  test('that only reorder named items change nothing', () => {
    const two = applyAll(['a', { tags: ['x', 'y'], items: [{ name: '1' }, { name: '2' }] }]);
    const object = update(two, 'u', { spec: { tags: ['y', 'x'], items: [{ name: '2' }, { name: '1' }] } });
    expect(object.metadata.managedFields).toEqual(two.metadata.managedFields);
  });

  test('that change nothing leave the list itself, times and all', () => {
    const object = update(live, 'u', {}, { nowMs: T0 + 60_000 });
    expect(object.metadata.managedFields).toBe(live.metadata.managedFields);
  });

  test('of the same manager go together, with a new time', () => {
    const first = update(live, 'u', { spec: { ...specOf(live), replicas: 2 } });
    const object = update(
      first,
      'u',
      { spec: { ...specOf(live), replicas: 2, paused: true } },
      { nowMs: T0 + 60_000 },
    );
    const mine = entriesOf(object).filter(({ manager }) => manager === 'u');
    expect(mine).toMatchObject([
      { time: '2020-09-13T12:27:40Z', fieldsV1: { 'f:spec': { 'f:replicas': {}, 'f:paused': {} } } },
    ]);
  });

  test('of status and of the object are of two managers', () => {
    const first = update(live, 'u', { spec: { ...specOf(live), replicas: 2 } });
    const object = update(
      first,
      'u',
      { status: { phase: 'p', conditions: [{ type: 'Ready', status: 'True' }] } },
      { subresource: 'status' },
    );
    expect(entriesOf(object).map(({ manager, subresource = '' }) => `${manager}/${subresource}`)).toEqual([
      'a/',
      'u/',
      'u/status',
    ]);
    expect(fieldsOf({ ...object, metadata: { managedFields: entriesOf(object).slice(2) } }, 'u')).toEqual({
      'f:status': {
        '.': {},
        'f:phase': {},
        'f:conditions': { '.': {}, 'k:{"type":"Ready"}': { '.': {}, 'f:type': {}, 'f:status': {} } },
      },
    });
  });

  test('note no part of the object that their endpoint leaves alone', () => {
    expect(update(live, 'u', { status: { phase: 'p' } }).metadata.managedFields).toBe(
      live.metadata.managedFields,
    );
    const object = update(
      live,
      'u',
      { spec: {}, metadata: { ...live.metadata, labels: { l: '1' } } },
      { subresource: 'status' },
    );
    expect(object.metadata.managedFields).toBe(live.metadata.managedFields);
  });

  test('of objects without managedFields are not tracked', () => {
    const untracked = thing({ replicas: 1 }) as unknown as ApiObject;
    expect(update(untracked, 'u', { spec: { replicas: 2 } }).metadata.managedFields).toBeUndefined();
  });

  test('note the status that a pod gets as upstream notes it', () => {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'n', managedFields: entriesOf(applyAll(['a', { replicas: 1 }])) },
    } as unknown as ApiObject;
    const next = structuredClone({
      ...live,
      status: { phase: 'Running', podIPs: [{ ip: '10.0.0.1' }] },
    }) as ApiObject;
    finish(
      trackUpdate({
        live: pod,
        next,
        model: typeModelOf('core/v1.Pod', VOCABULARIES.plat),
        manager: 'n',
        apiVersion: 'v1',
        subresource: 'status',
        nowMs: T0,
      }),
    );
    expect(fieldsOf(next, 'n')).toEqual({
      'f:status': { 'f:phase': {}, 'f:podIPs': { '.': {}, 'k:{"ip":"10.0.0.1"}': { '.': {}, 'f:ip': {} } } },
    });
  });

  test('treat items that an old object has twice as one', () => {
    const old = {
      ...live,
      spec: {
        items: [
          { name: 'x', image: '1' },
          { name: 'x', image: '2' },
        ],
      },
    } as ApiObject;
    const object = update(old, 'u', {
      spec: { items: [{ name: 'x', image: '1' }, { name: 'x', image: '3' }, { name: 'z' }] },
    });
    expect(fieldsOf(object, 'u')).toEqual({
      'f:spec': { 'f:items': { 'k:{"name":"x"}': {}, 'k:{"name":"z"}': { '.': {}, 'f:name': {} } } },
    });
  });

  test('(4.9.8) owners of what became atomic lose it as a whole', () => {
    const model = modelWith({ items: list('atomic', SCALAR) });
    const object = update(live, 'u', { spec: { ...specOf(live), items: [] } }, { model });
    expect(fieldsOf(object, 'a')).toEqual({ 'f:spec': { 'f:replicas': {}, 'f:tags': { 'v:"t"': {} } } });
    expect(fieldsOf(object, 'u')).toEqual({ 'f:spec': { 'f:items': {} } });
  });
});

describe('managedFields in the request', () => {
  const live = applyAll(['a', { replicas: 1 }], ['b', { paused: true }]);

  test('(4.9.10) a list of one empty entry starts anew', () => {
    expect(update(live, 'u', withEntries(live, [{}])).metadata.managedFields).toBeUndefined();
  });

  test('(4.9.10) with other changes, these are owned by who makes them', () => {
    const object = update(live, 'u', { ...withEntries(live, [{}]), spec: { replicas: 2, paused: true } });
    expect(entriesOf(object)).toMatchObject([{ manager: 'u', fieldsV1: { 'f:spec': { 'f:replicas': {} } } }]);
  });

  test.each<[string, unknown]>([
    ['(4.9.10) an empty list', []],
    ['none', undefined],
    ['nonsense', [{ manager: 'x', operation: 'Steal', fieldsType: 'FieldsV1' }]],
    ['unknown types of fields', [{ manager: 'x', operation: 'Apply', fieldsType: 'FieldsV9', fieldsV1: {} }]],
    ['no objects', ['x', 1]],
  ])('%s changes nothing', (_, entries) => {
    expect(update(live, 'u', withEntries(live, entries)).metadata.managedFields).toEqual(
      live.metadata.managedFields,
    );
  });

  test('may take a manager out', () => {
    const [, second] = entriesOf(live);
    expect(managersOf(update(live, 'u', withEntries(live, [second])))).toEqual(['b Apply']);
  });

  test('are ignored by subresources', () => {
    const object = update(live, 'u', withEntries(live, [{}]), { subresource: 'status' });
    expect(object.metadata.managedFields).toEqual(live.metadata.managedFields);
  });
});

describe('capOwners', () => {
  const entry = (
    manager: string,
    seconds: number,
    apiVersion = 'v1',
    operation = 'Update',
  ): ManagedFieldsEntry => ({
    manager,
    operation,
    apiVersion,
    time: new Date(seconds * 1000).toISOString().replace('.000', ''),
    fieldsType: 'FieldsV1',
    fieldsV1: { [`f:${manager}`]: {} },
  });
  const cap = (entries: readonly ManagedFieldsEntry[], most: number): string[] =>
    capOwners(storedOwners(entries), most).map(
      ({ manager, apiVersion, set }) => `${manager} ${apiVersion} ${Object.keys(set).sort().join(' ')}`,
    );

  test('merges the oldest of a version', () => {
    expect(cap([entry('d', 4), entry('a', 1), entry('b', 2), entry('c', 3)], 2)).toEqual([
      'd v1 f:d',
      'ancient-changes v1 f:a f:b f:c',
    ]);
  });

  test('keeps appliers', () => {
    expect(cap([entry('x', 0, 'v1', 'Apply'), entry('a', 1), entry('b', 2)], 2)).toHaveLength(3);
  });

  test('merges each version for itself', () => {
    expect(cap([entry('a', 1), entry('b', 2, 'v2'), entry('c', 3), entry('d', 4)], 3)).toEqual([
      'b v2 f:b',
      'd v1 f:d',
      'ancient-changes v1 f:a f:c',
    ]);
  });

  test('adds to those that are ancient already', () => {
    expect(cap([entry('ancient-changes', 2), entry('b', 3), entry('c', 4)], 2)).toEqual([
      'c v1 f:c',
      'ancient-changes v1 f:ancient-changes f:b',
    ]);
  });

  test('holds an object’s updaters to ten', () => {
    let object = update(undefined, 'm0', { spec: { nodes: { n0: '' } } });
    for (let index = 1; index < 30; index += 1) {
      const nodes = { ...(specOf(object)['nodes'] as JsonObject), [`n${index}`]: '' };
      object = update(object, `m${index}`, { spec: { nodes } }, { nowMs: T0 + index * 1000 });
      expect(entriesOf(object).length).toBeLessThanOrEqual(10);
    }
    expect(entriesOf(object)[0]?.manager).toBe('ancient-changes');
    expect(
      Object.keys(
        (fieldsOf(object, 'ancient-changes') as { 'f:spec': { 'f:nodes': object } })['f:spec']['f:nodes'],
      ),
    ).toHaveLength(22);
  });
});

describe('properties', () => {
  const spec = fc.record(
    {
      replicas: fc.integer({ min: 0, max: 2 }),
      items: fc
        .uniqueArray(fc.constantFrom('a', 'b'))
        .map((names) => names.map((name) => ({ name, image: '1' }))),
      tags: fc.uniqueArray(fc.constantFrom('x', 'y'), { minLength: 1 }),
      nodes: fc.dictionary(fc.constantFrom('k', 'l', 'constructor'), fc.constantFrom('1', '2')),
    },
    { requiredKeys: [] },
  );

  test('updates by several managers own, together, what one creator would own; removed fields have no owner', () => {
    fc.assert(
      fc.property(fc.array(spec, { minLength: 1, maxLength: 5 }), (states) => {
        let object = update(undefined, 'm', { spec: { replicas: 0, ...states[0] } });
        for (const [index, state] of states.entries())
          object = update(object, `m${index}`, { spec: { replicas: 0, ...state } });
        const all = entriesOf(object).reduce<FieldSet>(
          (set, { fieldsV1 }) => union(set, fieldsV1 as FieldSet),
          {},
        );
        const whole = fieldsOf(update(undefined, 'm', { spec: specOf(object) }), 'm') as FieldSet;
        // Structures that existed before are not added fields.
        expect(union(whole, all)).toEqual(whole);
        expect(leaves(all)).toEqual(leaves(whole));
      }),
    );
  });
});

function leaves(set: FieldSet, prefix = ''): string[] {
  return Object.entries(set)
    .flatMap(([element, child]) => {
      if (element === '.') return [];
      return Object.keys(child).length === 0
        ? [`${prefix} ${element}`]
        : leaves(child, `${prefix} ${element}`);
    })
    .sort();
}

describe('of a large object', () => {
  const many = (value: unknown): Record<string, unknown> =>
    Object.fromEntries(Array.from({ length: 9000 }, (_, index) => [`k${index}`, value]));

  test.each([
    ['members', { data: many('v') }],
    ['objects', { data: many({ a: { b: [1] } }), labels: {} }],
    [
      'items',
      {
        spec: { containers: Array.from({ length: 9000 }, (_, index) => ({ name: `c${index}`, ports: [] })) },
      },
    ],
  ])('notes many %s in slices as at once', (_name, members) => {
    const track = (inSlices: boolean): ApiObject => {
      const next: ApiObject = { apiVersion: 'v1', kind: 'Thing', metadata: { name: 'a' }, ...members };
      const steps = trackUpdate({
        live: undefined,
        next,
        manager: 'm',
        model: typeModelOf('core/v1.Pod', VOCABULARIES.plat),
        nowMs: 0,
        apiVersion: 'v1',
        subresource: '',
        inSlices,
      });
      finish(steps);
      return next;
    };
    expect(JSON.stringify(track(true)) === JSON.stringify(track(false))).toBe(true);
  });
});
