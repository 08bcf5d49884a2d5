import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseJson } from '#api/codec/json.ts';
import type { ApiObject } from '../../resources/contract.ts';
import {
  lengthWithoutRevision,
  replaceRevision,
  StoredFormError,
  scanLabels,
  toStored,
  uidOf,
  withoutRevision,
  withRevision,
} from './stored-form.ts';

const UID = '0b6ad4a5-6d0b-4a53-8c45-2f2f3b2b8a11';
const TRAP = '"uid":"trap","resourceVersion":"666"';

function pod(change: Partial<ApiObject> = {}, metadata: ApiObject['metadata'] = {}): ApiObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'default', uid: UID, creationTimestamp: 'now', ...metadata },
    spec: { containers: [] },
    ...change,
  };
}

/** With our own reader: V8's takes keys for others that it has seen before (`json-text.ts`). */
const parseText = (text: string): unknown => parseJson(text).value;
const parse = (bytes: Buffer): unknown => parseText(bytes.toString());

describe('toStored', () => {
  test('orders members and drops the resource version', () => {
    const object = {
      spec: { a: 1 },
      metadata: {
        labels: { app: 'web' },
        resourceVersion: '7',
        uid: UID,
        namespace: 'n',
        generateName: 'web-',
        name: 'web-1',
      },
      apiVersion: 'v1',
      kind: 'Pod',
    };
    expect(toStored(object).toString()).toBe(
      `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-1","generateName":"web-","namespace":"n","uid":"${UID}","labels":{"app":"web"}},"spec":{"a":1}}`,
    );
  });

  test('writes an object that has nothing else', () => {
    const object: ApiObject = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n', uid: UID } };
    expect(toStored(object).toString()).toBe(
      `{"kind":"Node","apiVersion":"v1","metadata":{"name":"n","uid":"${UID}"}}`,
    );
  });

  test.each([
    ['no uid', undefined],
    ['an empty uid', ''],
    ['a uid with a quote', 'a"b'],
    ['a line end', 'a\n'],
  ])('rejects %s', (_what, uid) => {
    const object = pod();
    if (uid === undefined) delete object.metadata.uid;
    else object.metadata.uid = uid;
    expect(() => toStored(object)).toThrow(StoredFormError);
  });
});

/** Objects that try to get the revision inserted at the wrong place. */
const hostile: readonly (readonly [string, ApiObject])[] = [
  ['an annotation', pod({}, { annotations: { a: TRAP, [TRAP]: 'x', 'ends with "uid': 'x' } })],
  ['a label', pod({}, { labels: { uid: TRAP, 'x"uid': 'y}' } })],
  ['a name', pod({}, { name: TRAP, generateName: TRAP, namespace: TRAP })],
  ['names that end like a member', pod({}, { name: '"uid', generateName: '"uid":', namespace: '\\"uid":"' })],
  ['a kind and version', pod({ kind: TRAP, apiVersion: '"uid":"x"' })],
  ['a member that an object puts first', pod({ 0: { uid: 'trap' }, 1: TRAP })],
  ['a metadata member that an object puts first', pod({}, { 0: { uid: 'trap' } } as ApiObject['metadata'])],
  ['an owner', pod({}, { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'x', uid: 'trap' }] })],
  ['a member called uid', pod({ uid: 'trap', spec: { uid: 'trap', metadata: { uid: 'trap' } } })],
  [
    'a member called __proto__',
    JSON.parse(JSON.stringify(pod()).replace('{', '{"__proto__":{"uid":"trap"},')),
  ],
  ['a backslash at the end', pod({}, { annotations: { 'a\\': '\\' } })],
];

describe('withRevision', () => {
  test.each(hostile)('puts the revision into metadata whatever is in %s', (_what, object) => {
    const shown = withRevision(toStored(object), 42);
    const text = JSON.stringify({ ...object, metadata: { ...object.metadata, resourceVersion: '42' } });
    expect(parse(shown)).toEqual(parseText(text));
    expect(uidOf(shown)).toBe(UID);
  });

  test('puts it right after the uid', () => {
    expect(withRevision(toStored(pod()), 42).toString()).toContain(
      `"uid":"${UID}","resourceVersion":"42","creationTimestamp"`,
    );
  });

  test.each(['', '{}', '{"uid":"x', 'nonsense'])('rejects %j', (text) => {
    expect(() => withRevision(Buffer.from(text), 1)).toThrow(StoredFormError);
  });

  test('holds for any object', () => {
    const text = fc.oneof(fc.string(), fc.constantFrom(TRAP, '"uid', '"uid":"', '\\', '\u2028😀\0'));
    const members = fc.dictionary(text, fc.oneof(text, fc.jsonValue()));
    const meta = fc.record(
      { name: text, generateName: text, namespace: text, annotations: fc.dictionary(text, text) },
      { requiredKeys: ['name'] },
    );
    fc.assert(
      fc.property(members, meta, fc.nat(), fc.nat(), (others, metadata, first, second) => {
        const object = {
          ...others,
          apiVersion: 'v1',
          kind: 'Thing',
          metadata: { ...metadata, uid: UID },
        } as ApiObject;
        const stored = toStored(object);
        const shown = withRevision(stored, first);
        const expected = { ...object, metadata: { ...object.metadata, resourceVersion: String(first) } };
        expect(parse(shown)).toEqual(parseText(JSON.stringify(expected)));
        expect(withoutRevision(shown).equals(stored)).toBe(true);
        expect(lengthWithoutRevision(shown)).toBe(stored.length);
        expect(replaceRevision(shown, second).equals(withRevision(stored, second))).toBe(true);
      }),
    );
  });
});

describe('scanLabels', () => {
  const shown = (object: ApiObject): Buffer => withRevision(toStored(object), 9);

  test.each<[string, ApiObject, unknown]>([
    ['finds labels', pod({}, { labels: { app: 'web', 'a.b/c': '' } }), { app: 'web', 'a.b/c': '' }],
    ['finds that there are none', pod(), {}],
    ['finds empty labels', pod({}, { labels: {} }), {}],
    ['leaves labels of others alone', pod({ spec: { labels: { app: 'x' } } }), undefined],
    ['gives up on labels that no one may have', pod({}, { labels: { a: '}' } }), undefined],
    ['reads labels that are not ASCII', pod({}, { labels: { a: 'ä' } }), { a: 'ä' }],
  ])('%s', (_what, object, expected) => {
    expect(scanLabels(shown(object))).toEqual(expected);
  });
});
