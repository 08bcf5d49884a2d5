import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { ProtobufError } from '../codec/protobuf/error.ts';
import { finish } from '../kit/steps.ts';
import resources from '../schema/data/api-resources.json' with { type: 'json' };
import { decode } from '../schema/decode.ts';
import {
  isRequired,
  type JsonField,
  jsonFields,
  parseTypeName,
  shapeOf,
  typeOf,
  wireApiVersion,
} from '../schema/registry.ts';
import { VOCABULARIES } from '../vocabulary.ts';
import { createApiProtobuf } from './api-protobuf.ts';
import { unwrapMessage, wrapMessage } from './envelope.ts';
import { protobufLengthSteps } from './length.ts';

const { plat, kubernetes } = VOCABULARIES;
const protobuf = createApiProtobuf(plat);
const typeRefs: readonly string[] = [
  ...resources.resources.flatMap(({ group, version, kind, verbs }) => {
    const packageName = `${group === '' ? 'core' : group}/${version}`;
    const hasList = verbs.includes('list') && isType(`${packageName}.${kind}List`);
    return [`${packageName}.${kind}`, ...(hasList ? [`${packageName}.${kind}List`] : [])];
  }),
  ...['Status', 'DeleteOptions', 'PartialObjectMetadata', 'APIResourceList'].map(
    (kind) => `meta.${plat.apiGroupDomain}/v1.${kind}`,
  ),
];

function isType(typeRef: string): boolean {
  try {
    return Array.isArray(typeOf(typeRef).fields);
  } catch {
    return false;
  }
}

type Pick = <T>(arbitrary: fc.Arbitrary<T>) => T;

const text = fc.string({ minLength: 1, maxLength: 8, unit: 'grapheme' });
const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }).filter((value) => value !== 0);
const seconds = fc.integer({ min: -62_000_000_000, max: 253_402_300_799 });
const SCALARS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  string: text,
  bool: fc.constant(true),
  int32,
  int64: fc.maxSafeInteger().filter((value) => value !== 0),
  uint32: fc.integer({ min: 1, max: 2 ** 32 - 1 }),
  uint64: fc.integer({ min: 1 }),
  float: fc.constantFrom(0.5, -2, 1024),
  double: fc.double({ noNaN: true, noDefaultInfinity: true }).filter((value) => value !== 0),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 5 }).map((bytes) => Buffer.from(bytes).toString('base64')),
  any: fc.constantFrom<unknown>(1, 'x', { a: [1] }),
  Time: seconds.map((value) => `${new Date(value * 1000).toISOString().slice(0, 19)}Z`),
  MicroTime: seconds.map((value) => `${new Date(value * 1000).toISOString().slice(0, 19)}.012345Z`),
  Duration: fc.constantFrom('1s', '1h30m0s', '1.5s', '-2ms'),
  Quantity: fc.constantFrom('1', '100m', '1Gi', '-5', '12e6'),
  QuantityValue: fc.constantFrom('1', '100m'),
  IntOrString: fc.oneof(int32, text),
  FieldsV1: fc.constant({ 'f:metadata': { 'f:labels': {} } }),
  RawExtension: fc.constantFrom<unknown>({ kind: 'X', a: [1, null] }, [1], 'text'),
};

/** Generates no value that is absent in protobuf: `always` fields are zero only where JSON requires them. */
function valueOf(type: string, packageName: string, depth: number, pick: Pick): unknown {
  const shape = shapeOf(type, packageName);
  switch (shape.kind) {
    case 'scalar':
      return pick(SCALARS[shape.scalar] ?? text);
    case 'list':
      return pick(fc.constantFrom([0], [0, 0])).map(() => valueOf(shape.element, packageName, depth, pick));
    case 'map':
      return Object.fromEntries(
        pick(fc.uniqueArray(text, { minLength: 1, maxLength: 3 })).map((key) => [
          key,
          valueOf(shape.element, packageName, depth, pick),
        ]),
      );
    case 'struct': {
      const { jsonForm } = typeOf(shape.name);
      const schema = { ...shape.name, typeName: 'JSONSchemaProps' };
      if (jsonForm === 'string-array') return [pick(text)];
      if (jsonForm === 'schema-object|bool' && pick(fc.boolean())) return pick(fc.boolean());
      if (jsonForm?.startsWith('schema') === true)
        return objectOf(`${schema.packageName}.${schema.typeName}`, depth, pick);
      if (jsonForm !== undefined) return pick(fc.constantFrom<unknown>({ a: 1 }, 'x', [null], true));
      return objectOf(`${shape.name.packageName}.${shape.name.typeName}`, depth, pick);
    }
    default:
      return shape satisfies never;
  }
}

const isBlank = (value: unknown): boolean =>
  typeof value === 'object' && value !== null ? Object.values(value).every(isBlank) : !value || value === '0';

function objectOf(typeRef: string, depth: number, pick: Pick): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  const wanted = (field: JsonField): boolean =>
    isRequired(field) || (depth > 0 && pick(fc.integer({ min: 0, max: depth < 4 ? 3 : 1 })) === 0);
  for (const field of jsonFields(parseTypeName(typeRef))) {
    if (!wanted(field) || (field.proto === undefined && field.inline !== true && !isInline(typeRef, field)))
      continue;
    const value =
      field.enum === undefined ? valueOf(field.type, field.packageName, depth - 1, pick) : undefined;
    const word = field.enum?.find((candidate) => candidate !== '');
    const given = word === undefined ? value : field.type.startsWith('[]') ? [word] : word;
    if (given === undefined || (field.ptr !== true && !isRequired(field) && isBlank(given))) continue;
    result[field.json] = given;
  }
  return result;
}

/** Members of an inline parent have a number in the parent. */
const isInline = (typeRef: string, field: JsonField): boolean =>
  !typeOf(typeRef).fields.some(({ json }) => json === field.json);

const canonical = (typeRef: string, value: unknown): unknown =>
  decode(typeRef, value, { missingFields: 'ignore' }).value;

describe('round trips', () => {
  test.each(typeRefs)('%s', (typeRef) => {
    fc.assert(
      fc.property(fc.gen(), (generate) => {
        const object = objectOf(typeRef, 5, (arbitrary) => generate(() => arbitrary));
        const bytes = protobuf.encodeMessage(typeRef, object);
        const back = protobuf.decodeMessage(typeRef, bytes);
        expect(canonical(typeRef, back)).toEqual(canonical(typeRef, object));
        expect(protobuf.encodeMessage(typeRef, back).equals(bytes)).toBe(true);
        const length = finish(protobufLengthSteps(typeRef, object, plat, { most: 1e9 }));
        expect(length).toBeLessThanOrEqual(bytes.length);
      }),
      { numRuns: 15 },
    );
  });

  test.each(typeRefs.filter((typeRef) => typeRef.endsWith('List')))('%s in steps, as at once', (typeRef) => {
    const { packageName, typeName: kind } = parseTypeName(typeRef);
    const meta = { apiVersion: wireApiVersion(packageName, plat), kind };
    fc.assert(
      fc.property(fc.gen(), (generate) => {
        const object = objectOf(typeRef, 4, (arbitrary) => generate(() => arbitrary));
        const bytes = protobuf.encode({ ...object, ...meta });
        const steps = protobuf.decodeInSteps(bytes);
        let step = steps.next();
        while (step.done !== true) step = steps.next();
        expect(step.value).toEqual(protobuf.decode(bytes));
      }),
      { numRuns: 5 },
    );
  });
});

const bytesOf = (...parts: readonly (string | readonly number[])[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))));

/** Metadata of an object that has only a name: the other members that are not pointers follow, empty. */
const NAMED = bytesOf(
  [0x0a, 1],
  'a',
  [0x12, 0, 0x1a, 0, 0x22, 0, 0x2a, 0, 0x32, 0, 0x38, 0, 0x42, 0, 0x7a, 0],
);
const withLength = (tag: number, bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from([tag, bytes.length]), bytes]);

describe('bytes', () => {
  test.each<[string, string, object, Buffer]>([
    [
      'an object with nothing but a name',
      'core/v1.ConfigMap',
      { metadata: { name: 'a' } },
      withLength(0x0a, NAMED),
    ],
    [
      'maps, sorted by their keys',
      'core/v1.ConfigMap',
      { metadata: { name: 'a' }, data: { z: '', b: 'c' }, immutable: false, binaryData: { k: 'AQI=' } },
      bytesOf(
        [...withLength(0x0a, NAMED)],
        [0x12, 6, 0x0a, 1, 0x62, 0x12, 1, 0x63],
        [0x12, 5, 0x0a, 1, 0x7a, 0x12, 0],
        [0x1a, 7, 0x0a, 1, 0x6b, 0x12, 2, 1, 2],
        [0x20, 0],
      ),
    ],
    [
      'a number or text, both ways',
      'core/v1.HTTPGetAction',
      { path: '/', port: 8080 },
      bytesOf([0x0a, 1, 0x2f, 0x12, 7, 0x08, 0, 0x10, 0x90, 0x3f, 0x1a, 0, 0x1a, 0, 0x22, 0]),
    ],
    [
      'text in place of a number',
      'core/v1.HTTPGetAction',
      { port: 'web' },
      bytesOf([0x0a, 0, 0x12, 9, 0x08, 1, 0x10, 0, 0x1a, 3], 'web', [0x1a, 0, 0x22, 0]),
    ],
    [
      'a time, without its nanoseconds',
      'core/v1.ContainerStateRunning',
      { startedAt: '1970-01-01T00:05:00Z' },
      bytesOf([0x0a, 5, 0x08, 0xac, 2, 0x10, 0]),
    ],
    ['no time', 'core/v1.ContainerStateRunning', {}, bytesOf([0x0a, 0])],
    [
      'quantities',
      'core/v1.ResourceRequirements',
      { limits: { cpu: '100m' } },
      bytesOf([0x0a, 13, 0x0a, 3], 'cpu', [0x12, 6, 0x0a, 4], '100m'),
    ],
    [
      'a quantity that is not there',
      'core/v1.ResourceFieldSelector',
      { resource: 'c' },
      bytesOf([0x0a, 0, 0x12, 1, 0x63, 0x1a, 3, 0x0a, 1, 0x30]),
    ],
    [
      'a negative number',
      'core/v1.ContainerStateTerminated',
      { exitCode: -1 },
      bytesOf([
        0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 0x10, 0, 0x1a, 0, 0x22, 0, 0x2a, 0, 0x32, 0,
        0x3a, 0,
      ]),
    ],
    [
      'the members of an inline parent',
      'core/v1.SecretKeySelector',
      { name: 'n', key: 'k' },
      bytesOf([0x0a, 3, 0x0a, 1], 'n', [0x12, 1], 'k'),
    ],
    [
      'lists of texts in messages',
      `authentication.${plat.apiGroupDomain}/v1.UserInfo`,
      { username: 'u', extra: { s: ['x', 'y'] } },
      bytesOf([0x0a, 1], 'u', [0x12, 0, 0x22, 11, 0x0a, 1], 's', [0x12, 6, 0x0a, 1], 'x', [0x0a, 1], 'y'),
    ],
    [
      'embedded JSON',
      'apps/v1.ControllerRevision',
      { metadata: { name: 'a' }, data: { b: 1 }, revision: 2 },
      bytesOf([...withLength(0x0a, NAMED)], [0x12, 9, 0x0a, 7], '{"b":1}', [0x18, 2]),
    ],
    ['a pointer to zero', 'apps/v1.RollingUpdateStatefulSetStrategy', { partition: 0 }, bytesOf([0x08, 0])],
  ])('hold %s', (_, typeRef, object, expected) => {
    expect(protobuf.encodeMessage(typeRef, { ...object }).toString('hex')).toBe(expected.toString('hex'));
  });

  it('are those of a namespace as stores of the field have it', () => {
    const meta = bytesOf(
      [0x0a, 7],
      'default',
      [0x12, 0, 0x1a, 0, 0x22, 0, 0x2a, 4],
      'u-id',
      [0x32, 0, 0x38, 0, 0x42, 8, 8, 0xc0, 0xf8, 0xfc, 0xf3, 5, 0x10, 0, 0x7a, 0],
    );
    const message = bytesOf(
      [...withLength(0x0a, meta)],
      [0x12, 6, 0x0a, 4],
      'main',
      [0x1a, 8, 0x0a, 6],
      'Active',
    );
    const object = {
      kind: 'Namespace',
      apiVersion: 'v1',
      metadata: { name: 'default', uid: 'u-id', creationTimestamp: '2020-03-28T12:00:00Z' },
      spec: { finalizers: ['main'] },
      status: { phase: 'Active' },
    };
    const head = bytesOf([0x6b, 0x38, 0x73, 0, 0x0a, 15, 0x0a, 2], 'v1', [0x12, 9], 'Namespace', [
      0x12,
      message.length,
    ]);
    expect(protobuf.encode(object).toString('hex')).toBe(
      Buffer.concat([head, message, Buffer.from([0x1a, 0, 0x22, 0])]).toString('hex'),
    );
    expect(protobuf.decode(protobuf.encode(object))).toEqual(object);
  });
});

describe('typeRefOf', () => {
  const group = `storage.${kubernetes.apiGroupDomain}/v1`;
  test.each([
    ['v1', 'Pod', 'core/v1.Pod'],
    ['v1', 'PodList', 'core/v1.PodList'],
    ['v1', 'Status', `meta.${plat.apiGroupDomain}/v1.Status`],
    ['apps/v1', 'DeleteOptions', `meta.${plat.apiGroupDomain}/v1.DeleteOptions`],
    [group, 'StorageClass', `storage.${plat.apiGroupDomain}/v1.StorageClass`],
    [`storage.${plat.apiGroupDomain}/v1`, 'StorageClass', undefined],
    [`meta.${kubernetes.apiGroupDomain}/v1`, 'Table', undefined],
    ['v1', 'PodSpec', undefined],
    ['example.com/v1', 'Widget', undefined],
    ['../../x', 'Pod', undefined],
    ['v1', '', undefined],
  ])('%s %s', (apiVersion, kind, expected) => {
    expect(createApiProtobuf(kubernetes).typeRefOf({ apiVersion, kind })).toBe(expected);
  });
});

describe('untrusted input', () => {
  const reasonOf = (work: () => unknown): string => {
    try {
      work();
      return 'none';
    } catch (error) {
      return error instanceof ProtobufError ? error.reason : String(error);
    }
  };
  const pod = (raw: Buffer): Buffer => wrapMessage({ apiVersion: 'v1', kind: 'Pod' }, raw);

  it('gives an object or a ProtobufError, whatever the bytes', () => {
    const real = protobuf.encode({
      kind: 'Pod',
      apiVersion: 'v1',
      metadata: { name: 'a', labels: { b: 'c' } },
      spec: { containers: [{ name: 'c', ports: [{ containerPort: 80 }] }] },
    });
    const spoiled = fc
      .tuple(fc.nat(real.length - 1), fc.uint8Array({ maxLength: 3 }))
      .map(([at, bytes]) => Buffer.concat([real.subarray(0, at), bytes, real.subarray(at + bytes.length)]));
    const anything = fc.uint8Array({ maxLength: 60 }).map((bytes) => pod(Buffer.from(bytes)));
    fc.assert(
      fc.property(fc.oneof(spoiled, anything), (bytes) => {
        expect(['none', 'Malformed', 'Truncated', 'LimitExceeded', 'UnknownType']).toContain(
          reasonOf(() => protobuf.decode(bytes)),
        );
      }),
      { numRuns: 2000 },
    );
  });

  test.each([
    ['no prefix', Buffer.from('{}'), 'Malformed'],
    ['nothing', Buffer.alloc(0), 'Malformed'],
    ['an unknown kind', wrapMessage({ apiVersion: 'v1', kind: 'Nope' }, Buffer.alloc(0)), 'UnknownType'],
    ['a message that ends early', pod(Buffer.from([0x0a, 5, 1])), 'Truncated'],
    ['a field of another type', pod(Buffer.from([0x08, 1])), 'Malformed'],
    [
      'very many messages',
      pod(Buffer.concat([Buffer.from([0x12, 0xd0, 0xa5, 0x4c]), Buffer.from('1200'.repeat(625_000), 'hex')])),
      'LimitExceeded',
    ],
    ['a time beyond time', pod(Buffer.from('0a0c420a08ffffffffffffffff7f', 'hex')), 'Malformed'],
  ])('%s', (_, bytes, reason) => {
    expect(reasonOf(() => protobuf.decode(bytes))).toBe(reason);
  });

  it('may embed objects, but not without end', () => {
    const revision = (raw: Buffer): Buffer => {
      const data = bytesOf([0x0a], varint(raw.length), [...raw]);
      return wrapMessage(
        { apiVersion: 'apps/v1', kind: 'ControllerRevision' },
        bytesOf([0x12], varint(data.length), [...data]),
      );
    };
    const varint = (length: number): number[] =>
      length < 128 ? [length] : [(length & 127) | 128, length >> 7];
    let bytes = revision(Buffer.from('{}'));
    expect(protobuf.decode(revision(bytes))).toMatchObject({
      data: { kind: 'ControllerRevision', data: {} },
    });
    for (let level = 0; level < 20; level += 1) bytes = revision(bytes);
    expect(reasonOf(() => protobuf.decode(bytes))).toBe('LimitExceeded');
  });

  it('keeps a key that is a word of the language', () => {
    const object = { kind: 'ConfigMap', apiVersion: 'v1', data: JSON.parse('{"__proto__":"x"}') as unknown };
    expect(JSON.stringify(protobuf.decode(protobuf.encode(object))['data'])).toBe('{"__proto__":"x"}');
  });

  it('names the missing member', () => {
    expect(unwrapMessage(pod(Buffer.alloc(0)))).toMatchObject({
      apiVersion: 'v1',
      kind: 'Pod',
      contentType: '',
    });
    const bare = wrapMessage({ apiVersion: '', kind: '' }, Buffer.alloc(0));
    expect(protobuf.decode(bare, { apiVersion: 'v1', kind: 'Pod' })).toEqual({
      apiVersion: 'v1',
      kind: 'Pod',
    });
    expect(reasonOf(() => protobuf.decode(bare))).toBe('UnknownType');
  });
});
