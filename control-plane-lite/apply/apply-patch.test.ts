import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../patch/json-value.ts';
import type { ApiObject } from '../resources/contract.ts';
import {
  apply,
  applyAll,
  entriesOf,
  fieldsOf,
  managersOf,
  specOf,
  statusOf,
  T0,
  thing,
  update,
} from './model.fixture.ts';

describe('what an applier owns (document 1, 4.9.3)', () => {
  test.each<[string, JsonObject, unknown]>([
    ['scalars', { replicas: 1, paused: null }, { 'f:replicas': {}, 'f:paused': {} }],
    [
      'keyed items and what is in them',
      { items: [{ name: 'a', image: 'i' }] },
      { 'f:items': { 'k:{"name":"a"}': { '.': {}, 'f:name': {}, 'f:image': {} } } },
    ],
    [
      'items by default keys',
      { items: [{ name: 'a', ports: [{ port: 1 }] }] },
      {
        'f:items': {
          'k:{"name":"a"}': {
            '.': {},
            'f:name': {},
            'f:ports': { 'k:{"port":1,"protocol":"TCP"}': { '.': {}, 'f:port': {} } },
          },
        },
      },
    ],
    ['items of sets', { tags: ['x', 'y'] }, { 'f:tags': { 'v:"x"': {}, 'v:"y"': {} } }],
    ['atomic lists whole', { list: ['x', 'y'] }, { 'f:list': {} }],
    ['map keys', { nodes: { a: '1' } }, { 'f:nodes': { 'f:a': {} } }],
    ['atomic maps whole', { selector: { a: '1' } }, { 'f:selector': {} }],
    ['members of structs, not the struct', { source: { a: 1 } }, { 'f:source': { 'f:a': {} } }],
    ['empty structs', { source: { empty: {} } }, { 'f:source': { 'f:empty': {} } }],
  ])('%s', (_, spec, fields) => {
    const { object } = apply(undefined, 'm', thing(spec, { labels: { l: '1' } }));
    expect(fieldsOf(object, 'm')).toEqual({ 'f:metadata': { 'f:labels': { 'f:l': {} } }, 'f:spec': fields });
  });

  test('writes the entry of 2.5', () => {
    const { object, changed } = apply(undefined, 'm', thing({ replicas: 1 }));
    expect(changed).toBe(true);
    expect(object.metadata.managedFields).toEqual([
      {
        manager: 'm',
        operation: 'Apply',
        apiVersion: 'v1',
        time: '2020-09-13T12:26:40Z',
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:spec': { 'f:replicas': {} } },
      },
    ]);
  });

  test('never owns identity and bookkeeping', () => {
    const meta = {
      name: 'x',
      namespace: 'n',
      uid: 'u',
      resourceVersion: '1',
      creationTimestamp: null,
      generation: 1,
    };
    expect(entriesOf(apply(undefined, 'm', thing({}, meta)).object)).toEqual([]);
  });

  test('does not own status but through its subresource', () => {
    const applied = { ...thing({ replicas: 1 }), status: { phase: 'x' } };
    expect(fieldsOf(apply(undefined, 'm', applied).object, 'm')).toEqual({ 'f:spec': { 'f:replicas': {} } });
    const live = applyAll(['other', { replicas: 1 }]);
    const { object } = apply(live, 'm', applied, { subresource: 'status' });
    expect(entriesOf(object).find(({ manager }) => manager === 'm')).toMatchObject({
      subresource: 'status',
      fieldsV1: { 'f:status': { 'f:phase': {} } },
    });
    expect(fieldsOf(apply(undefined, 'm', applied, { hasStatus: false }).object, 'm')).toHaveProperty([
      'f:status',
    ]);
  });
});

describe('merging (4.9.7)', () => {
  test.each<[string, JsonObject, JsonObject, JsonObject]>([
    ['scalars take the applied value', { replicas: 1 }, { replicas: 2 }, { replicas: 2 }],
    [
      'keyed lists merge by item, live order first',
      { items: [{ name: 'a', image: '1' }, { name: 'b' }] },
      { items: [{ name: 'c' }, { name: 'a', image: '2' }] },
      { items: [{ name: 'a', image: '2' }, { name: 'b' }, { name: 'c' }] },
    ],
    [
      'keys left out have their default',
      { items: [{ name: 'a', ports: [{ port: 1, protocol: 'TCP' }] }] },
      {
        items: [
          {
            name: 'a',
            ports: [
              { port: 1, name: 'p' },
              { port: 1, protocol: 'UDP' },
            ],
          },
        ],
      },
      {
        items: [
          {
            name: 'a',
            ports: [
              { port: 1, protocol: 'TCP', name: 'p' },
              { port: 1, protocol: 'UDP' },
            ],
          },
        ],
      },
    ],
    ['sets unite', { tags: ['a', 'b'] }, { tags: ['c', 'b'] }, { tags: ['a', 'b', 'c'] }],
    ['atomic lists are replaced', { list: [1, 2] }, { list: [3] }, { list: [3] }],
    ['maps merge by key', { nodes: { a: '1' } }, { nodes: { b: '2' } }, { nodes: { a: '1', b: '2' } }],
    [
      'atomic maps are replaced',
      { selector: { a: '1' } },
      { selector: { b: '2' } },
      { selector: { b: '2' } },
    ],
    [
      'empty keyed lists change nothing',
      { items: [{ name: 'a' }] },
      { items: [] },
      { items: [{ name: 'a' }] },
    ],
    [
      'null of a list changes nothing',
      { items: [{ name: 'a' }] },
      { items: null },
      { items: [{ name: 'a' }] },
    ],
    ['null of a scalar stands for reading', { replicas: 1 }, { replicas: null }, { replicas: null }],
  ])('%s', (_, before, applied, after) => {
    const live = thing(before) as unknown as ApiObject;
    const { object } = apply(live, 'm', thing(applied), { force: true });
    expect(specOf(object)).toEqual(after);
  });

  test('an old object with an item twice gets it once', () => {
    const live = thing({
      items: [
        { name: 'a', image: '1' },
        { name: 'a', image: '2' },
      ],
    }) as unknown as ApiObject;
    const { object } = apply(live, 'm', thing({ items: [{ name: 'a', image: '3' }] }), { force: true });
    expect(specOf(object)).toEqual({ items: [{ name: 'a', image: '3' }] });
  });

  test('null for fields maintained by the server is ignored', () => {
    const live = { ...thing({}, { creationTimestamp: 't', uid: 'u' }) } as unknown as ApiObject;
    expect(
      apply(live, 'm', thing({}, { creationTimestamp: null, generation: null })).object.metadata,
    ).toEqual({ name: 'x', creationTimestamp: 't', uid: 'u' });
  });

  test('a custom resource without schema: keys are fields, lists are atomic', () => {
    const model = { root: { kind: 'untyped' } } as const;
    const live = apply(undefined, 'a', thing({ deep: { x: 1 }, items: [{ name: 'a' }] }), { model }).object;
    expect(fieldsOf(live, 'a')).toEqual({
      'f:spec': { '.': {}, 'f:deep': { '.': {}, 'f:x': {} }, 'f:items': {} },
    });
    const { object } = apply(live, 'b', thing({ deep: { y: 2 } }), { model });
    expect(specOf(object)).toEqual({ deep: { x: 1, y: 2 }, items: [{ name: 'a' }] });
    expect(statusOf(() => apply(live, 'b', thing({ items: [{ name: 'b' }] }), { model })).message).toContain(
      '.spec.items',
    );
  });
});

describe('conflicts (4.9.2, 4.9.4, 4.9.5)', () => {
  const live = applyAll(['a', { replicas: 1, items: [{ name: 'x', image: '1' }] }]);

  test('one is reported with upstream’s message', () => {
    const updated = update(undefined, 'kubectl', { spec: { replicas: 1 } });
    const failure = statusOf(() => apply(updated, 'm', thing({ replicas: 2 })));
    expect(failure).toEqual({
      code: 409,
      reason: 'Conflict',
      message: 'Apply failed with 1 conflict: conflict with "kubectl" using v1: .spec.replicas',
      causes: [
        {
          reason: 'FieldManagerConflict',
          message: 'conflict with "kubectl" using v1',
          field: '.spec.replicas',
        },
      ],
    });
  });

  test('several name every manager and field', () => {
    const status = update(
      applyAll(['a', { replicas: 1 }], ['b', { tags: ['t'], selector: { k: '1' } }]),
      'u',
      { status: { phase: 'p' } },
      { subresource: 'status' },
    );
    const { message, causes } = statusOf(() =>
      apply(
        status,
        'm',
        { ...thing({ replicas: 2, selector: { k: '2' } }), status: { phase: 'q' } },
        { hasStatus: false },
      ),
    );
    expect(message).toBe(
      'Apply failed with 3 conflicts: conflicts with "a":\n- .spec.replicas\nconflicts with "b":\n- .spec.selector\nconflicts with "u" with subresource "status" using v1:\n- .status.phase',
    );
    expect(causes).toHaveLength(3);
  });

  test('paths name items by their keys', () => {
    const { message } = statusOf(() => apply(live, 'b', thing({ items: [{ name: 'x', image: '2' }] })));
    expect(message).toContain('.spec.items[name="x"].image');
  });

  test('(a) force takes the field away from others', () => {
    const { object } = apply(live, 'b', thing({ replicas: 2 }), { force: true });
    expect(specOf(object)['replicas']).toBe(2);
    expect(fieldsOf(object, 'a')).toEqual({
      'f:spec': { 'f:items': { 'k:{"name":"x"}': { '.': {}, 'f:name': {}, 'f:image': {} } } },
    });
    expect(fieldsOf(object, 'b')).toEqual({ 'f:spec': { 'f:replicas': {} } });
  });

  test('(b) a field left out is given up, its value stays with whom else owns it', () => {
    const shared = apply(live, 'b', thing({ replicas: 1 })).object;
    const { object } = apply(shared, 'a', thing({ items: [{ name: 'x', image: '1' }] }));
    expect(specOf(object)['replicas']).toBe(1);
    expect(fieldsOf(object, 'b')).toEqual({ 'f:spec': { 'f:replicas': {} } });
  });

  test('(c) the same value makes a shared owner, and changing it conflicts', () => {
    const shared = apply(live, 'b', thing({ replicas: 1 })).object;
    expect(managersOf(shared)).toEqual(['a Apply', 'b Apply']);
    expect(statusOf(() => apply(shared, 'b', thing({ replicas: 2 }))).message).toBe(
      'Apply failed with 1 conflict: conflict with "a": .spec.replicas',
    );
    expect(statusOf(() => apply(shared, 'a', thing({ replicas: 2 }))).code).toBe(409);
  });

  test('null over the value of another conflicts', () => {
    expect(statusOf(() => apply(live, 'b', thing({ replicas: null }))).message).toContain('.spec.replicas');
  });
});

describe('giving up (4.9.6)', () => {
  test.each<[string, JsonObject, JsonObject, JsonObject]>([
    ['a scalar', { replicas: 1, paused: true }, { paused: true }, { paused: true }],
    [
      'a keyed item',
      { items: [{ name: 'a' }, { name: 'b' }] },
      { items: [{ name: 'b' }] },
      { items: [{ name: 'b' }] },
    ],
    [
      'a member of an item',
      { items: [{ name: 'a', image: '1' }] },
      { items: [{ name: 'a' }] },
      { items: [{ name: 'a' }] },
    ],
    ['an item of a set', { tags: ['a', 'b'] }, { tags: ['b'] }, { tags: ['b'] }],
    ['a map key', { nodes: { a: '1', b: '2' } }, { nodes: { b: '2' } }, { nodes: { b: '2' } }],
    ['an atomic list', { list: [1], replicas: 1 }, { replicas: 1 }, { replicas: 1 }],
    ['a whole list', { items: [{ name: 'a' }], replicas: 1 }, { replicas: 1 }, { replicas: 1 }],
    ['an empty struct', { source: { empty: {}, a: 1 } }, { source: { a: 1 } }, { source: { a: 1 } }],
  ])('%s removes it', (_, before, after, expected) => {
    const { object, changed } = apply(applyAll(['m', before]), 'm', thing(after));
    expect(specOf(object)).toEqual(expected);
    expect(changed).toBe(true);
  });

  test('an empty struct that got defaults goes with them', () => {
    const live = applyAll(['m', { source: { empty: {}, a: 1 } }]);
    const filled = { ...live, spec: { source: { a: 1, empty: { size: 5 } } } } as ApiObject;
    expect(specOf(apply(filled, 'm', thing({ source: { a: 1 } })).object)).toEqual({ source: { a: 1 } });
  });

  test('an item retains fields of an updater while it has another owner', () => {
    const live = applyAll(['m', { items: [{ name: 'a' }] }], ['n', { items: [{ name: 'a' }] }]);
    const updated = update(live, 'u', { spec: { items: [{ name: 'a', image: '1' }] } });
    expect(specOf(apply(updated, 'm', thing({ replicas: 1 })).object)).toEqual({
      items: [{ name: 'a', image: '1' }],
      replicas: 1,
    });
  });

  test('fields without an owner stay', () => {
    const live = applyAll(['m', { replicas: 1, nodes: { a: '1' } }]);
    const defaulted = {
      ...live,
      spec: { replicas: 1, nodes: { a: '1', b: '2' }, paused: false },
    } as ApiObject;
    expect(specOf(apply(defaulted, 'm', thing({ replicas: 1 })).object)).toEqual({
      replicas: 1,
      nodes: { b: '2' },
      paused: false,
    });
  });

  test('(4.9.9) a manager that owns nothing is removed', () => {
    const live = applyAll(['a', { replicas: 1 }], ['b', { paused: true }]);
    const { object } = apply(live, 'b', thing({}));
    expect(managersOf(object)).toEqual(['a Apply']);
    expect(specOf(object)).toEqual({ replicas: 1 });
  });
});

describe('rejections', () => {
  test.each<[string, unknown, string]>([
    ['managedFields', thing({}, { managedFields: [] }), 'metadata.managedFields must be nil'],
    [
      'another version',
      { ...thing({}), apiVersion: 'v2' },
      'Incorrect version specified in apply patch. Specified patch version: v2, expected: v1',
    ],
    ['what is no object', [], 'the applied configuration must be an object'],
    [
      'unknown members',
      thing({ nope: 1 }, { namespace: 'n' }),
      'failed to create typed patch object (n/x; /v1, Kind=Thing): .spec.nope: field not declared in schema',
    ],
    [
      'an item twice',
      thing({ items: [{ name: 'a' }, { name: 'a' }] }),
      '.spec.items: duplicate entries for key [name="a"]',
    ],
    ['a set item twice', thing({ tags: ['a', 'a'] }), '.spec.tags: duplicate entries for key [="a"]'],
    [
      'an item without key',
      thing({ items: [{}] }),
      '.spec.items: element 0: associative list with keys has an element that omits key field "name"',
    ],
    ['a list for a map', thing({ nodes: [] }), '.spec.nodes: expected map, got []'],
    ['a map for a list', thing({ items: {} }), '.spec.items: expected list, got {}'],
    ['an object for a scalar', thing({ replicas: {} }), '.spec.replicas: expected a scalar'],
  ])('%s', (_, applied, message) => {
    const failure = statusOf(() => apply(undefined, 'm', applied as JsonObject));
    expect([failure.code, failure.reason]).toEqual([400, 'BadRequest']);
    expect(failure.message).toContain(message);
  });

  test('all errors at once', () => {
    expect(statusOf(() => apply(undefined, 'm', thing({ x: 1, y: 2 }))).message).toContain(
      'errors:\n  .spec.x: field not declared in schema\n  .spec.y: ',
    );
  });
});

describe('times and unchanged objects', () => {
  test('the same again changes nothing, not even the time', () => {
    const live = applyAll(['m', { replicas: 1, items: [{ name: 'a' }] }]);
    const { object, changed } = apply(live, 'm', thing({ replicas: 1, items: [{ name: 'a' }] }), {
      nowMs: T0 + 60_000,
    });
    expect(changed).toBe(false);
    expect(object).toBe(live);
  });

  test('a change sets the manager’s time and no other', () => {
    const live = applyAll(['a', { replicas: 1 }], ['b', { paused: true }]);
    const { object } = apply(live, 'b', thing({ paused: false }), { nowMs: T0 + 60_000 });
    expect(entriesOf(object).map(({ time }) => time)).toEqual([
      '2020-09-13T12:26:40Z',
      '2020-09-13T12:27:40Z',
    ]);
  });

  test('a different resource version does not stop the write', () => {
    const live = applyAll(['m', { replicas: 1 }]);
    expect(apply(live, 'm', thing({ replicas: 1 }, { resourceVersion: '7' })).changed).toBe(true);
  });
});

describe('objects without managedFields', () => {
  test('belong to a manager of their own, with which appliers conflict', () => {
    const live = thing({ replicas: 1, paused: true }) as unknown as ApiObject;
    expect(statusOf(() => apply(live, 'm', thing({ replicas: 2 }))).message).toBe(
      'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .spec.replicas',
    );
    const { object } = apply(live, 'm', thing({ replicas: 1 }));
    expect(managersOf(object)).toEqual(['m Apply', 'before-first-apply Update']);
  });
});
