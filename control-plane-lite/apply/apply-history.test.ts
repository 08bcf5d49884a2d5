/** Apply on objects with a history: other types, other versions, client-side apply. */
import { describe, expect, test } from 'vitest';
import { CLIENT_SIDE_APPLY } from '#api/vocabulary.ts';
import type { JsonObject } from '../patch/json-value.ts';
import type { ApiObject } from '../resources/contract.ts';
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
  statusOf,
  struct,
  thing,
  update,
} from './model.fixture.ts';

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

  test('fields that became granular cause no conflict', () => {
    const live = applyAll(['a', { selector: { x: '1' } }]);
    const model = modelWith({ selector: map(SCALAR) });
    const { object } = apply(live, 'b', thing({ selector: { x: '2', y: '3' } }), { model });
    expect(specOf(object)).toEqual({ selector: { x: '2', y: '3' } });
  });
});

describe('coming from client-side apply', () => {
  test.each(CLIENT_SIDE_APPLY)(
    '$manager takes ownership of the fields in its annotation',
    ({ manager, annotation }) => {
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
    },
  );

  test('what defaults completed is still what was applied', () => {
    const [tool] = CLIENT_SIDE_APPLY;
    const { manager = '', annotation = '' } = tool ?? {};
    const csa = thing({ selector: { x: '1' } });
    const completed = { selector: { x: '1', filled: 'in' } };
    const annotations = { [annotation]: JSON.stringify(csa) };
    const live = update(undefined, 'client-side-apply', {
      spec: completed,
      metadata: { name: 'x', annotations },
    });
    expect(statusOf(() => apply(live, manager, csa)).code).toBe(409);
    const canonical = (object: JsonObject): JsonObject => ({ ...object, spec: completed });
    expect(apply(live, manager, csa, { canonical }).changed).toBe(true);
  });

  test('fields changed by another manager since remain a conflict', () => {
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
