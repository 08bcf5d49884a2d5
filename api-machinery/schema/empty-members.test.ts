/** Equivalence of objects from clients that write zero values, as those with upstream's types do, and from
 *  clients that omit them: both decode to the same text, for every type. The forms that such clients write
 *  are generated here from the tables, independently of the decoder. */
import { readdirSync, readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatYaml, parseYaml } from '../codec/yaml.ts';
import { createApiProtobuf } from '../protobuf/api-protobuf.ts';
import { VOCABULARIES } from '../vocabulary.ts';
import { completed } from './complete.ts';
import { decode } from './decode.ts';
import { printedForm } from './printed.ts';
import {
  isRequired,
  type JsonField,
  jsonFields,
  parseTypeName,
  type Scalar,
  shapeOf,
  typeOf,
  upstreamProtoPackage,
} from './registry.ts';

type Json = Record<string, unknown>;
type Pick = <T>(arbitrary: fc.Arbitrary<T>) => T;

const { plat } = VOCABULARIES;
const protobuf = createApiProtobuf(plat);
const SEED = 20_261_123;
const folder = new URL('./data/api-types/', import.meta.url);

interface Table {
  readonly package: string;
  readonly types: Readonly<Record<string, unknown>>;
}

const tables = readdirSync(folder).map(
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own table
  (file) => JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Table,
);
const typesOf = ({ package: packageName, types }: Table): readonly string[] =>
  Object.keys(types)
    .map((name) => `${packageName}.${name}`)
    .filter((typeRef) => {
      const { jsonForm, protoOnly, fields } = typeOf(typeRef);
      return jsonForm === undefined && protoOnly !== true && fields.length > 0;
    })
    .filter((typeRef) => shapeOf(typeRef, packageName).kind === 'struct');

const hasMessage = (typeRef: string): boolean => {
  const { packageName } = parseTypeName(typeRef);
  const { jsonOnly, fields } = typeOf(typeRef);
  // Kind and version are in the envelope, even for types that declare them as ordinary members.
  const isNamed = fields.some(({ inline, type }) => inline === true && type.endsWith('.TypeMeta'));
  const numbered = !isNamed && fields.some(({ proto }) => proto !== undefined);
  return upstreamProtoPackage(packageName) !== undefined && jsonOnly !== true && numbered;
};

const ZEROS: Readonly<Partial<Record<Scalar, unknown>>> = {
  string: '',
  bool: false,
  int32: 0,
  int64: 0,
  uint32: 0,
  uint64: 0,
  float: 0,
  double: 0,
};
/** Scalars that are structures upstream, which are printed even if they are empty. */
const PRINTED: Readonly<Partial<Record<Scalar, unknown>>> = {
  Time: null,
  MicroTime: null,
  Duration: '0s',
  Quantity: '0',
  QuantityValue: '0',
  IntOrString: 0,
  RawExtension: null,
  FieldsV1: null,
};
const SAMPLES: Readonly<Record<Scalar, unknown>> = {
  string: 'x',
  bool: true,
  int32: 7,
  int64: 8,
  uint32: 9,
  uint64: 10,
  float: 0.5,
  double: 1.5,
  bytes: 'AQI=',
  any: { z: 1 },
  Time: '2026-01-02T03:04:05Z',
  MicroTime: '2026-01-02T03:04:05.000006Z',
  Duration: '1m0s',
  Quantity: '100m',
  QuantityValue: '2',
  IntOrString: 'web',
  FieldsV1: { 'f:a': {} },
  RawExtension: { kind: 'X' },
};

/** Fields with the same number in protobuf, or none, are not part of the message. */
const isNumbered = (typeRef: string, field: JsonField): boolean =>
  field.proto !== undefined || !typeOf(typeRef).fields.some(({ json }) => json === field.json);

function sampleOf(type: string, packageName: string, depth: number, pick: Pick): unknown {
  const shape = shapeOf(type, packageName);
  switch (shape.kind) {
    case 'scalar':
      return SAMPLES[shape.scalar];
    case 'list':
      return Array.from({ length: pick(fc.integer({ min: 1, max: 2 })) }, () =>
        sampleOf(shape.element, packageName, depth, pick),
      );
    case 'map': {
      const k = sampleOf(shape.element, packageName, depth, pick);
      return k === undefined ? undefined : { k };
    }
    case 'struct': {
      const { jsonForm } = typeOf(shape.name);
      if (jsonForm === 'string-array') return ['get'];
      // Schemas in one of several forms have their own tests.
      if (jsonForm?.startsWith('schema-object') === true) return undefined;
      if (jsonForm !== undefined) return { a: 1 };
      return sparse(`${shape.name.packageName}.${shape.name.typeName}`, depth - 1, pick);
    }
    default:
      return shape satisfies never;
  }
}

/** Returns an object without empty members, except pointers to empty structures. */
function sparse(typeRef: string, depth: number, pick: Pick): Json {
  const result: Json = {};
  for (const field of jsonFields(parseTypeName(typeRef))) {
    if (!isNumbered(typeRef, field) && hasMessage(typeRef)) continue;
    if (depth <= 0 || pick(fc.integer({ min: 0, max: depth < 4 ? 7 : 2 })) > 0) continue;
    const word = field.enum?.find((candidate) => candidate !== '');
    const sample = sampleOf(field.type, field.packageName, depth, pick);
    const value = word === undefined ? sample : field.type.startsWith('[]') ? [word] : word;
    const isObject = typeof value === 'object' && value !== null;
    if (value === undefined || (isObject && field.ptr !== true && Object.keys(value).length === 0)) continue;
    const shape = shapeOf(field.type, field.packageName);
    const zero = shape.kind === 'scalar' && field.enum === undefined ? ZEROS[shape.scalar] : undefined;
    result[field.json] = zero !== undefined && field.ptr === true && pick(fc.boolean()) ? zero : value;
  }
  return result;
}

/** Returns the equal object as upstream's types print it. `eager`: as other clients may write it, with all
 *  empty members, and null for pointers. */
function asPrinted(typeRef: string, object: Json, eager = false): Json {
  const result: Json = {};
  for (const field of jsonFields(parseTypeName(typeRef))) {
    const value = fieldAsPrinted(field, object[field.json], eager);
    if (value !== undefined) result[field.json] = value;
  }
  return result;
}

function fieldAsPrinted(field: JsonField, value: unknown, eager: boolean): unknown {
  if (value !== undefined) return valueAsPrinted(field.type, field.packageName, value, eager);
  if (field.ptr === true) return field.omitempty === true && !eager ? undefined : null;
  const shape = shapeOf(field.type, field.packageName);
  if (shape.kind === 'struct') {
    const { jsonForm } = typeOf(shape.name);
    if (jsonForm === undefined)
      return asPrinted(`${shape.name.packageName}.${shape.name.typeName}`, {}, eager);
    return field.omitempty === true ? undefined : null;
  }
  if (shape.kind === 'scalar') {
    const printed = PRINTED[shape.scalar];
    if (printed !== undefined) return printed;
  }
  if (field.omitempty === true && !eager) return undefined;
  if (shape.kind === 'scalar') return ZEROS[shape.scalar] ?? null;
  if (!eager) return null;
  return shape.kind === 'list' ? [] : {};
}

function valueAsPrinted(type: string, packageName: string, value: unknown, eager: boolean): unknown {
  const shape = shapeOf(type, packageName);
  if (shape.kind === 'list' && Array.isArray(value))
    return value.map((item) => valueAsPrinted(shape.element, packageName, item, eager));
  if (typeof value !== 'object' || value === null || shape.kind === 'scalar') return value;
  if (shape.kind === 'struct') {
    const { packageName: own, typeName } = shape.name;
    return typeOf(shape.name).jsonForm === undefined
      ? asPrinted(`${own}.${typeName}`, { ...value }, eager)
      : value;
  }
  if (shape.kind !== 'map') return value;
  const items = Object.entries(value);
  return Object.fromEntries(
    items.map(([key, item]) => [key, valueAsPrinted(shape.element, packageName, item, eager)]),
  );
}

const read = (typeRef: string, value: unknown): unknown =>
  decode(typeRef, value, { vocabulary: plat, missingFields: 'ignore', emptyFields: 'canonical' }).value;
const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
const textOf = (value: unknown): string => JSON.stringify(value);

/** Returns the members in the type's order, without those that JSON does not have. */
const throughYaml = (value: unknown): unknown => parseYaml(formatYaml(value))[0]?.value;

const structs = tables
  .map((table) => [table.package, typesOf(table)] as const)
  .filter(([, typeRefs]) => typeRefs.length > 0);

/** The value itself where its type has no message. */
const throughProtobuf = (typeRef: string, value: Json): unknown =>
  hasMessage(typeRef) ? protobuf.decodeMessage(typeRef, protobuf.encodeMessage(typeRef, value)) : value;

describe.each(structs)('%s', (_, typeRefs) => {
  it.each(typeRefs)('%s is the same from every kind of client', (typeRef) => {
    fc.assert(
      fc.property(fc.gen(), (generate) => {
        const object = sparse(typeRef, 4, (arbitrary) => generate(() => arbitrary));
        const wanted = read(typeRef, object);
        const forms = [asPrinted(typeRef, object), asPrinted(typeRef, object, true)];
        for (const form of forms) {
          expect(textOf(read(typeRef, form))).toBe(textOf(wanted));
          expect(textOf(read(typeRef, throughYaml(form)))).toBe(textOf(wanted));
          expect(textOf(completed(typeRef, form, plat))).toBe(textOf(wanted));
        }
        expect(textOf(read(typeRef, throughProtobuf(typeRef, object)))).toBe(textOf(wanted));
        expect(textOf(completed(typeRef, object, plat))).toBe(textOf(wanted));
        expect(completed(typeRef, wanted, plat)).toBe(wanted);
        expect(textOf(read(typeRef, wanted))).toBe(textOf(wanted));
        expect(textOf(printedForm(typeRef, object, plat))).toBe(textOf(forms[0]));
      }),
      { numRuns: 3, seed: SEED, endOnFailure: true },
    );
  });
});

/** Fields that are pointers to structures, lists or maps: absent and empty differ. */
const pointers = tables.flatMap(typesOf).flatMap((typeRef) =>
  jsonFields(parseTypeName(typeRef))
    .filter(({ ptr, type, packageName }) => {
      const shape = shapeOf(type, packageName);
      return ptr === true && shape.kind === 'struct' && typeOf(shape.name).jsonForm === undefined;
    })
    .map((field) => ({ typeRef, field })),
);

describe('a pointer to an empty structure', () => {
  it('is something, in every form, for every such field', () => {
    expect(pointers.length).toBeGreaterThan(300);
    for (const { typeRef, field } of pointers) {
      const name = `${typeRef}.${field.json}`;
      const given = { [field.json]: {} };
      const found = read(typeRef, given);
      expect([name, typeof memberOf(found, field.json)]).toEqual([name, 'object']);
      // Required members are filled in.
      const other = isRequired(field) ? undefined : read(typeRef, {});
      expect([name, other]).not.toEqual([name, found]);
      expect([name, completed(typeRef, given, plat)]).toEqual([name, found]);
      const sent = isNumbered(typeRef, field) ? throughProtobuf(typeRef, given) : given;
      expect([name, read(typeRef, sent)]).toEqual([name, found]);
    }
  });
});
