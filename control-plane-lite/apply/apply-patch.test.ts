import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { StatusError } from '#api/meta/status-error.ts';
import { CLIENT_SIDE_APPLY } from '#api/vocabulary.ts';
import type { JsonObject } from '../patch/json-value.ts';
import type { ApiObject } from '../resources/contract.ts';
import { type FieldSet, intersects } from './field-set.ts';
import {
  apply,
  applyAll,
  entriesOf,
  fieldsOf,
  list,
  managersOf,
  map,
  modelWith,
  SCALAR,
  specOf,
  struct,
  T0,
  thing,
  update,
} from './model.fixture.ts';

function statusOf(work: () => unknown): {
  code: number;
  reason: string;
  message: string;
  causes: readonly unknown[];
} {
  try {
    work();
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    const { code, reason, message, causes } = error;
    return { code, reason, message, causes };
  }
  throw new Error('it did not fail');
}

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

  test('null for what the server keeps is ignored', () => {
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

  test('one is told in upstream’s words', () => {
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

  test('an item keeps what an updater set in it while somebody holds the item', () => {
    const live = applyAll(['m', { items: [{ name: 'a' }] }], ['n', { items: [{ name: 'a' }] }]);
    const updated = update(live, 'u', { spec: { items: [{ name: 'a', image: '1' }] } });
    expect(specOf(apply(updated, 'm', thing({ replicas: 1 })).object)).toEqual({
      items: [{ name: 'a', image: '1' }],
      replicas: 1,
    });
  });

  test('what nobody owned stays', () => {
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

  test('(4.9.9) a manager that owns nothing is no manager', () => {
    const live = applyAll(['a', { replicas: 1 }], ['b', { paused: true }]);
    const { object } = apply(live, 'b', thing({}));
    expect(managersOf(object)).toEqual(['a Apply']);
    expect(specOf(object)).toEqual({ replicas: 1 });
  });
});

describe('what is refused', () => {
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

  test('all faults at once', () => {
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

  test('a resource version that differs lets the write go on', () => {
    const live = applyAll(['m', { replicas: 1 }]);
    expect(apply(live, 'm', thing({ replicas: 1 }, { resourceVersion: '7' })).changed).toBe(true);
  });
});

describe('objects that nobody was tracked on', () => {
  test('belong to a manager of their own, with which appliers conflict', () => {
    const live = thing({ replicas: 1, paused: true }) as unknown as ApiObject;
    expect(statusOf(() => apply(live, 'm', thing({ replicas: 2 }))).message).toBe(
      'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .spec.replicas',
    );
    const { object } = apply(live, 'm', thing({ replicas: 1 }));
    expect(managersOf(object)).toEqual(['m Apply', 'before-first-apply Update']);
  });
});

describe('change of types (4.9.8)', () => {
  test('who owned an element of what became atomic owns the whole', () => {
    const live = applyAll(['a', { nodes: { x: '1' } }], ['b', { nodes: { y: '2' } }]);
    const model = modelWith({ nodes: map(SCALAR, 'atomic') });
    const { message } = statusOf(() => apply(live, 'b', thing({ nodes: { y: '3' } }), { model }));
    expect(message).toBe('Apply failed with 1 conflict: conflict with "a": .spec.nodes');
    const { object } = apply(live, 'b', thing({ nodes: { y: '3' } }), { model, force: true });
    expect(specOf(object)).toEqual({ nodes: { y: '3' } });
    expect(managersOf(object)).toEqual(['b Apply']);
  });

  test('the same for lists and structs', () => {
    const live = applyAll(['a', { items: [{ name: 'x' }], source: { a: 1 } }]);
    const model = modelWith({ items: list('atomic', SCALAR), source: struct({ a: SCALAR }, 'atomic') });
    const { object } = apply(live, 'b', thing({ paused: true }), { model });
    expect(fieldsOf(object, 'a')).toEqual({ 'f:spec': { 'f:items': {}, 'f:source': {} } });
  });

  test('what became granular makes no conflict', () => {
    const live = applyAll(['a', { selector: { x: '1' } }]);
    const model = modelWith({ selector: map(SCALAR) });
    const { object } = apply(live, 'b', thing({ selector: { x: '2', y: '3' } }), { model });
    expect(specOf(object)).toEqual({ selector: { x: '2', y: '3' } });
  });
});

describe('coming from client-side apply', () => {
  test.each(CLIENT_SIDE_APPLY)('$manager takes over what its annotation names', ({ manager, annotation }) => {
    const csa = (replicas: number): JsonObject => thing({ replicas }, { labels: { l: '1' } });
    const annotations = { [annotation]: JSON.stringify(csa(1)) };
    const live = update(undefined, 'client-side-apply', {
      ...csa(1),
      metadata: { name: 'x', labels: { l: '1' }, annotations },
    });
    expect(statusOf(() => apply(live, 'other', csa(2))).code).toBe(409);
    const { object } = apply(live, manager, csa(2));
    expect(specOf(object)).toEqual({ replicas: 2 });
    expect(object.metadata.annotations?.[annotation]).toBe(`${JSON.stringify(csa(2))}\n`);
    expect(fieldsOf(object, manager)).toMatchObject({ 'f:spec': { 'f:replicas': {} } });
    expect(fieldsOf(object, 'client-side-apply')).not.toHaveProperty(['f:spec', 'f:replicas']);
  });

  test('what somebody else changed since remains a conflict', () => {
    const [tool] = CLIENT_SIDE_APPLY;
    const { manager = '', annotation = '' } = tool ?? {};
    const annotations = { [annotation]: JSON.stringify(thing({ replicas: 1 })) };
    const first = update(undefined, 'client-side-apply', {
      spec: { replicas: 1 },
      metadata: { name: 'x', annotations },
    });
    const live = update(first, 'autoscaler', { spec: { replicas: 5 } });
    expect(statusOf(() => apply(live, manager, thing({ replicas: 2 }))).message).toBe(
      'Apply failed with 1 conflict: conflict with "autoscaler" using v1: .spec.replicas',
    );
  });
});

describe('several versions', () => {
  // v2 calls `replicas` `count`.
  const v2 = modelWith({ count: SCALAR });
  const convert = (
    object: ApiObject,
    apiVersion: string,
  ): { object: ApiObject; model: typeof v2 } | undefined => {
    if (apiVersion !== 'v1' && apiVersion !== 'v2') return undefined;
    const [from, to] = apiVersion === 'v2' ? ['replicas', 'count'] : ['count', 'replicas'];
    const { [from]: value, ...rest } = specOf(object);
    return {
      object: { ...object, apiVersion, spec: value === undefined ? rest : { ...rest, [to]: value } },
      model: v2,
    };
  };
  const options = { model: v2, convert };
  const inV2 = (spec: JsonObject): JsonObject => ({ ...thing(spec), apiVersion: 'v2' });
  const live = apply(undefined, 'a', thing({ replicas: 1, paused: true }), options).object;
  const liveV2 = convert(live, 'v2')?.object;

  test('a conflict is found in the version of its owner', () => {
    expect(
      statusOf(() => apply(liveV2, 'b', inV2({ count: 2 }), { ...options, apiVersion: 'v2' })).message,
    ).toBe('Apply failed with 1 conflict: conflict with "a": .spec.replicas');
  });

  test('an applier gives up in one version what it applied in the other', () => {
    const { object } = apply(liveV2, 'a', inV2({ paused: true }), { ...options, apiVersion: 'v2' });
    expect(specOf(object)).toEqual({ paused: true });
    expect(entriesOf(object)).toMatchObject([
      { manager: 'a', apiVersion: 'v2', fieldsV1: { 'f:spec': { 'f:paused': {} } } },
    ]);
  });

  test('an applier goes on in another version', () => {
    const { object } = apply(liveV2, 'a', inV2({ count: 3, paused: true }), { ...options, apiVersion: 'v2' });
    expect(specOf(object)).toEqual({ count: 3, paused: true });
    expect(entriesOf(object)).toHaveLength(1);
  });

  test('managers of a version that is gone are forgotten', () => {
    const [entry] = entriesOf(live);
    const old = {
      ...live,
      metadata: { ...live.metadata, managedFields: [{ ...entry, apiVersion: 'v0' }] },
    } as ApiObject;
    expect(managersOf(apply(old, 'b', thing({ replicas: 2 }), options).object)).toEqual(['b Apply']);
  });
});

const spec = fc.record(
  {
    replicas: fc.integer({ min: 0, max: 3 }),
    items: fc
      .uniqueArray(fc.constantFrom('a', 'b', 'c'))
      .chain((names) =>
        fc.tuple(
          ...names.map((name) =>
            fc.record(
              { name: fc.constant(name), image: fc.constantFrom('1', '2') },
              { requiredKeys: ['name'] },
            ),
          ),
        ),
      ),
    tags: fc.uniqueArray(fc.constantFrom('x', 'y', 'z')),
    nodes: fc.dictionary(fc.constantFrom('k', 'l', 'constructor'), fc.constantFrom('1', '2')),
    list: fc.array(fc.integer({ max: 2 })),
    source: fc.record({ a: fc.integer({ max: 2 }), empty: fc.constant({}) }, { requiredKeys: [] }),
  },
  { requiredKeys: [] },
);

/** Order of maps and merged lists doesn't matter. */
function unordered(value: unknown): unknown {
  if (Array.isArray(value))
    return value.map(unordered).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, child]) => [name, unordered(child)])
      .sort(),
  );
}

describe('properties', () => {
  test('applying the same twice is once', () => {
    fc.assert(
      fc.property(spec, spec, (first, second) => {
        const live = apply(applyAll(['a', first]), 'b', thing(second), { force: true }).object;
        const again = apply(live, 'b', thing(second), { nowMs: T0 + 1000 });
        expect(again.changed).toBe(false);
      }),
    );
  });

  test('the only applier gets exactly what it applies', () => {
    fc.assert(
      fc.property(spec, spec, (first, second) => {
        const { object } = apply(applyAll(['m', first]), 'm', thing(second));
        const fresh = applyAll(['m', second]);
        expect(fieldsOf(object, 'm')).toEqual(fieldsOf(fresh, 'm'));
        expect(unordered(withoutEmpty(specOf(object)))).toEqual(unordered(withoutEmpty(specOf(fresh))));
      }),
    );
  });

  test('disjoint managers come to the same in any order', () => {
    const mine = fc.record(
      { replicas: fc.integer({ max: 3 }), tags: fc.subarray(['x', 'y'], { minLength: 1 }) },
      { requiredKeys: [] },
    );
    const theirs = fc.record(
      {
        paused: fc.boolean(),
        tags: fc.subarray(['p', 'q'], { minLength: 1 }),
        nodes: fc.dictionary(fc.constantFrom('k'), fc.constantFrom('1')),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(mine, theirs, (a, b) => {
        const [left, right] = [applyAll(['a', a], ['b', b]), applyAll(['b', b], ['a', a])];
        expect(unordered(left)).toEqual(unordered(right));
      }),
    );
  });

  test('nobody owns what force took', () => {
    fc.assert(
      fc.property(spec, spec, (first, second) => {
        const before = applyAll(['a', first]);
        const { object } = apply(before, 'b', thing(second), { force: true });
        const mine = (fieldsOf(object, 'a') ?? {}) as FieldSet;
        for (const [name, value] of Object.entries(second)) {
          const old = (first as JsonObject)[name];
          if (typeof value !== 'number' || old === value) continue;
          expect(intersects(mine, { 'f:spec': { [`f:${name}`]: {} } })).toBe(false);
        }
      }),
    );
  });
});

function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value) || typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, child]) => {
      const rest = withoutEmpty(child);
      const hollow = typeof rest === 'object' && rest !== null && Object.keys(rest).length === 0;
      return hollow ? [] : [[name, rest]];
    }),
  );
}
