import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { copyJson } from '#api/codec/copy-json.ts';
import { typeModelOf } from '#api/schema/type-model-builtin.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { type JsonObject, sameJson } from './json-value.ts';
import { applyStrategicMergePatch } from './strategic-merge.ts';

const pod = typeModelOf('core/v1.Pod', VOCABULARIES.plat);
const deployment = typeModelOf('apps/v1.Deployment', VOCABULARIES.plat);
const budget = typeModelOf('policy/v1.PodDisruptionBudget', VOCABULARIES.plat);

type Row = readonly [string, JsonObject, JsonObject, JsonObject];

/** Returns the patched document, after verifying that neither it nor the patch was modified. */
function patched(model: typeof pod, document: JsonObject, patch: JsonObject): JsonObject {
  const before = copyJson([document, patch]);
  const result = applyStrategicMergePatch(document, patch, model);
  return sameJson(before, [document, patch]) ? result : { changed: before };
}

const containers = (...list: readonly JsonObject[]): JsonObject => ({ spec: { containers: list } });
const finalizers = (...list: readonly string[]): JsonObject => ({ metadata: { finalizers: list } });

describe('maps', () => {
  test.each<Row>([
    ['merge', { spec: { a: 1, b: 2 } }, { spec: { b: 3 } }, { spec: { a: 1, b: 3 } }],
    ['lose what is null', { spec: { a: 1, b: 2 } }, { spec: { b: null } }, { spec: { a: 1 } }],
    ['take no null that deletes nothing', { spec: {} }, { spec: { x: { y: null } } }, { spec: { x: {} } }],
    [
      'merge labels by key',
      { metadata: { labels: { a: '1' } } },
      { metadata: { labels: { b: '2' } } },
      { metadata: { labels: { a: '1', b: '2' } } },
    ],
    [
      'are replaced by $patch: replace',
      { spec: { a: 1 } },
      { spec: { $patch: 'replace', b: 2 } },
      { spec: { b: 2 } },
    ],
    ['are emptied by $patch: delete', { spec: { a: 1 } }, { spec: { $patch: 'delete' } }, { spec: {} }],
    [
      'merge by $patch: merge',
      { spec: { a: 1 } },
      { spec: { $patch: 'merge', b: 2 } },
      { spec: { a: 1, b: 2 } },
    ],
    ['store no directive where nothing was', {}, { spec: { $patch: 'replace', b: 2 } }, { spec: { b: 2 } }],
    [
      'are replaced by another kind of value',
      { spec: { nodeName: { a: 1 } } },
      { spec: { nodeName: 'n' } },
      { spec: { nodeName: 'n' } },
    ],
  ])('%s', (_, document, patch, result) => {
    expect(patched(pod, document, patch)).toEqual(result);
  });

  test('with strategy replace are replaced', () => {
    expect(
      patched(
        budget,
        { spec: { selector: { matchLabels: { a: '1' } }, minAvailable: 1 } },
        { spec: { selector: { matchLabels: { b: '2' } } } },
      ),
    ).toEqual({ spec: { selector: { matchLabels: { b: '2' } }, minAvailable: 1 } });
  });

  test.each<Row>([
    [
      'drop what is not retained',
      { spec: { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } } },
      { spec: { strategy: { $retainKeys: ['type'], type: 'Recreate' } } },
      { spec: { strategy: { type: 'Recreate' } } },
    ],
    [
      'retain the named members',
      { spec: { strategy: { type: 'A', rollingUpdate: { x: 1 } } } },
      { spec: { strategy: { $retainKeys: ['type', 'rollingUpdate'], rollingUpdate: { y: 2 } } } },
      { spec: { strategy: { type: 'A', rollingUpdate: { x: 1, y: 2 } } } },
    ],
    [
      'are no member themselves',
      { spec: {} },
      { spec: { strategy: { $retainKeys: ['type'], type: 'A' } } },
      { spec: { strategy: { type: 'A' } } },
    ],
  ])('$retainKeys: %s', (_, document, patch, result) => {
    expect(patched(deployment, document, patch)).toEqual(result);
  });

  test('$retainKeys in an item of a list', () => {
    expect(
      patched(
        pod,
        { spec: { volumes: [{ name: 'v', emptyDir: {} }] } },
        { spec: { volumes: [{ name: 'v', $retainKeys: ['name', 'configMap'], configMap: { name: 'c' } }] } },
      ),
    ).toEqual({ spec: { volumes: [{ name: 'v', configMap: { name: 'c' } }] } });
  });
});

describe('lists', () => {
  test.each<Row>([
    [
      'of keyed items merge by key',
      containers({ name: 'a', image: '1' }, { name: 'b' }),
      containers({ name: 'a', image: '2' }),
      containers({ name: 'a', image: '2' }, { name: 'b' }),
    ],
    // Upstream's order: items of the patch precede items that only the server has, unless those came before
    // them.
    [
      'put new items of the patch in front',
      containers({ name: 'a' }),
      containers({ name: 'b' }),
      containers({ name: 'b' }, { name: 'a' }),
    ],
    [
      'lose items by $patch: delete',
      containers({ name: 'a' }, { name: 'b' }),
      containers({ name: 'a', $patch: 'delete' }),
      containers({ name: 'b' }),
    ],
    [
      'are replaced by an item $patch: replace',
      containers({ name: 'a' }, { name: 'b' }),
      containers({ $patch: 'replace' }, { name: 'c' }),
      containers({ name: 'c' }),
    ],
    [
      'replace one item by its $patch: merge and values',
      containers({ name: 'a', x: 1 }),
      containers({ name: 'a', $patch: 'merge', y: 2 }),
      containers({ name: 'a', x: 1, y: 2 }),
    ],
    [
      'store no deletion where nothing was',
      { spec: {} },
      containers({ name: 'a', $patch: 'delete' }, { name: 'b' }),
      containers({ name: 'b' }),
    ],
    [
      'without strategy are replaced',
      { spec: { tolerations: [{ key: 'a' }] } },
      { spec: { tolerations: [{ key: 'b' }] } },
      { spec: { tolerations: [{ key: 'b' }] } },
    ],
    [
      'of scalars without strategy are replaced',
      containers({ name: 'a', args: ['1', '2'] }),
      containers({ name: 'a', args: ['3'] }),
      containers({ name: 'a', args: ['3'] }),
    ],
    ['of scalars merge as sets', finalizers('a', 'b'), finalizers('b', 'c'), finalizers('a', 'b', 'c')],
    [
      'lose scalars by $deleteFromPrimitiveList',
      finalizers('a', 'b', 'c'),
      { metadata: { '$deleteFromPrimitiveList/finalizers': ['b', 'x'] } },
      finalizers('a', 'c'),
    ],
    [
      'lose and gain scalars at once',
      finalizers('a', 'b'),
      { metadata: { '$deleteFromPrimitiveList/finalizers': ['a'], finalizers: ['c'] } },
      finalizers('c', 'b'),
    ],
    [
      'merge ports by containerPort alone',
      containers({ name: 'a', ports: [{ containerPort: 80, protocol: 'TCP' }] }),
      containers({ name: 'a', ports: [{ containerPort: 80, name: 'web' }] }),
      containers({ name: 'a', ports: [{ containerPort: 80, protocol: 'TCP', name: 'web' }] }),
    ],
    ['disappear by null', containers({ name: 'a' }), { spec: { containers: null } }, { spec: {} }],
  ])('%s', (_, document, patch, result) => {
    expect(patched(pod, document, patch)).toEqual(result);
  });

  const order = (names: readonly string[], ...list: readonly JsonObject[]): JsonObject => ({
    spec: { '$setElementOrder/containers': names.map((name) => ({ name })), containers: list },
  });

  test.each<Row>([
    [
      'orders maps',
      containers({ name: 'a' }, { name: 'b' }),
      order(['b', 'a'], { name: 'a', image: '1' }),
      containers({ name: 'b' }, { name: 'a', image: '1' }),
    ],
    [
      'places new items',
      containers({ name: 'a' }, { name: 'b' }),
      order(['a', 'c', 'b'], { name: 'c' }),
      containers({ name: 'a' }, { name: 'c' }, { name: 'b' }),
    ],
    [
      'leaves items that only the server has before those that they stood before',
      containers({ name: 's' }, { name: 'a' }, { name: 'b' }),
      order(['b', 'a'], { name: 'b', image: '1' }),
      containers({ name: 's' }, { name: 'b', image: '1' }, { name: 'a' }),
    ],
    [
      'leaves items that only the server has behind others',
      containers({ name: 'a' }, { name: 's' }, { name: 'b' }),
      order(['a', 'b'], { name: 'b', x: 1 }),
      containers({ name: 'a' }, { name: 's' }, { name: 'b', x: 1 }),
    ],
    [
      'deletes while ordering',
      containers({ name: 'a' }, { name: 'b' }),
      order(['b'], { name: 'a', $patch: 'delete' }),
      containers({ name: 'b' }),
    ],
    [
      'orders without a list of changes',
      containers({ name: 'a' }, { name: 'b' }),
      { spec: { '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }] } },
      containers({ name: 'b' }, { name: 'a' }),
    ],
    [
      'orders nothing',
      { spec: {} },
      { spec: { '$setElementOrder/containers': [{ name: 'b' }] } },
      { spec: {} },
    ],
    [
      'orders scalars',
      finalizers('a', 'b', 's'),
      { metadata: { '$setElementOrder/finalizers': ['b', 'c', 'a'], finalizers: ['c'] } },
      finalizers('b', 'c', 'a', 's'),
    ],
    [
      'orders scalars while deleting',
      finalizers('a', 'b', 'd'),
      {
        metadata: { '$setElementOrder/finalizers': ['d', 'a'], '$deleteFromPrimitiveList/finalizers': ['b'] },
      },
      finalizers('d', 'a'),
    ],
  ])('$setElementOrder %s', (_, document, patch, result) => {
    expect(patched(pod, document, patch)).toEqual(result);
  });
});

describe('failures', () => {
  test.each<[string, JsonObject, string, number]>([
    ['an unknown $patch', { spec: { $patch: 'x' } }, 'unknown patch type', 400],
    ['$retainKeys that is no list', { spec: { $retainKeys: 1 } }, 'invalid patch format of retainKeys', 400],
    [
      'members that are not retained',
      { spec: { $retainKeys: ['a'], b: 1 } },
      'invalid patch format of retainKeys',
      400,
    ],
    [
      '$deleteFromPrimitiveList that is no list',
      { metadata: { '$deleteFromPrimitiveList/finalizers': 'a' } },
      'invalid patch format of primitive list',
      400,
    ],
    [
      '$setElementOrder that is no list',
      { metadata: { '$setElementOrder/finalizers': {} } },
      'invalid patch format of setElementOrder list',
      400,
    ],
    [
      'items that the order does not name',
      { metadata: { '$setElementOrder/finalizers': ['a'], finalizers: ['b'] } },
      'setElementOrder',
      400,
    ],
    [
      'items in another order',
      { metadata: { '$setElementOrder/finalizers': ['a', 'b'], finalizers: ['b', 'a'] } },
      'setElementOrder',
      400,
    ],
    [
      'items without key',
      { spec: { containers: [{ image: 'x' }] } },
      'does not contain declared merge key: name',
      422,
    ],
    [
      'a deletion without key',
      { spec: { containers: [{ $patch: 'delete' }] } },
      'does not contain declared merge key: name',
      422,
    ],
    ['scalars among keyed items', { spec: { containers: [1] } }, 'must be maps', 422],
  ])('%s', (_, patch, message, code) => {
    const document = { spec: { containers: [{ name: 'a' }] } };
    expect(() => applyStrategicMergePatch(document, patch, pod)).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(message) as unknown }),
    );
  });

  test('a patch that is no object', () => {
    expect(() => applyStrategicMergePatch({}, [], pod)).toThrow(expect.objectContaining({ code: 400 }));
  });

  test('a type that is not known', () => {
    expect(() => applyStrategicMergePatch({}, {}, { root: { kind: 'untyped' } })).toThrow(
      expect.objectContaining({ code: 415, reason: 'UnsupportedMediaType' }),
    );
  });

  test('prototypes are left alone', () => {
    const patch: unknown = JSON.parse(
      '{"metadata":{"labels":{"__proto__":{"polluted":true}}},"__proto__":{"x":1}}',
    );
    const result = applyStrategicMergePatch({ metadata: { labels: {} } }, patch, pod);
    expect(Object.keys(result)).toEqual(['metadata', '__proto__']);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

/** A pod's part with a keyed list, a set, an atomic list and a map. */
interface Part {
  readonly containers: ReadonlyMap<string, string>;
  readonly finalizers: readonly string[];
  readonly tolerations: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'));
const part: fc.Arbitrary<Part> = fc.record({
  containers: names.chain((keys) =>
    fc
      .tuple(...keys.map((key) => fc.tuple(fc.constant(key), fc.constantFrom('1', '2'))))
      .map((entries) => new Map(entries)),
  ),
  finalizers: names,
  tolerations: fc.array(fc.constantFrom('x', 'y')),
  labels: fc.dictionary(fc.constantFrom('k', 'l', '__proto__'), fc.constantFrom('1', '2')),
});

const objectOf = ({ containers: list, finalizers: set, tolerations, labels }: Part): JsonObject => ({
  metadata: { finalizers: [...set], labels: copyJson(labels) },
  spec: {
    containers: [...list].map(([name, image]) => ({ name, image })),
    tolerations: tolerations.map((key) => ({ key })),
  },
});

/** Returns the patch that a client would send to get from the first to the second. */
function twoWay(before: Part, after: Part): JsonObject {
  const changed = [...after.containers].filter(([name, image]) => before.containers.get(name) !== image);
  const gone = [...before.containers.keys()].filter((name) => !after.containers.has(name));
  const labels = copyJson(after.labels) as JsonObject;
  for (const name of Object.keys(before.labels)) {
    if (!Object.hasOwn(after.labels, name))
      Object.defineProperty(labels, name, { value: null, enumerable: true });
  }
  return {
    metadata: {
      labels,
      '$setElementOrder/finalizers': after.finalizers,
      '$deleteFromPrimitiveList/finalizers': before.finalizers.filter(
        (name) => !after.finalizers.includes(name),
      ),
      finalizers: after.finalizers.filter((name) => !before.finalizers.includes(name)),
    },
    spec: {
      '$setElementOrder/containers': [...after.containers.keys()].map((name) => ({ name })),
      containers: [
        ...changed.map(([name, image]) => ({ name, image })),
        ...gone.map((name) => ({ name, $patch: 'delete' })),
      ],
      tolerations: after.tolerations.map((key) => ({ key })),
    },
  };
}

describe('properties', () => {
  test('a computed patch gives the target, and the same when repeated', () => {
    fc.assert(
      fc.property(part, part, (before, after) => {
        const patch = twoWay(before, after);
        const once = applyStrategicMergePatch(objectOf(before), patch, pod);
        expect(once).toEqual(objectOf(after));
        expect(applyStrategicMergePatch(once, patch, pod)).toEqual(once);
      }),
    );
  });

  test('an object patched with itself stays', () => {
    fc.assert(
      fc.property(part, (value) => {
        expect(applyStrategicMergePatch(objectOf(value), objectOf(value), pod)).toEqual(objectOf(value));
      }),
    );
  });
});
