/** Random messages of a descriptor table for property tests, and the same table for the independent
 *  protobufjs. */
import * as fc from 'fast-check';
import protobuf from 'protobufjs';
import {
  type FieldFact,
  type ProtoTable,
  parseEnum,
  parseFields,
  resolveType,
} from '#api/codec/protobuf/table.ts';

export type SampleMessage = Readonly<Record<string, unknown>>;

const WELL_KNOWN: Readonly<Record<string, fc.Arbitrary<SampleMessage>>> = {
  'google.protobuf.BoolValue': fc.record({ value: fc.boolean() }),
  'google.protobuf.Timestamp': fc.record({
    seconds: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    nanos: fc.integer(),
  }),
};

const text = fc.string({ unit: 'grapheme', maxLength: 60 });

const SCALARS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  string: text,
  bool: fc.boolean(),
  bytes: fc.uint8Array({ maxLength: 200 }),
  int32: fc.oneof(fc.integer(), fc.integer({ min: -2, max: 300 })),
  uint32: fc.oneof(fc.nat(), fc.integer({ min: 0, max: 2 ** 32 - 1 })),
  int64: fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.bigInt({ min: -2n, max: 300n })),
  uint64: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  double: fc.double({ noNaN: true }),
};

/** Complete decoded messages of type `name`; nested messages are omitted below `depth` levels. */
export function messageArbitrary(table: ProtoTable, name: string, depth = 4): fc.Arbitrary<SampleMessage> {
  const members: Record<string, fc.Arbitrary<unknown>> = {};
  const fields = parseFields(name, table.messages[name]);
  for (const field of fields) members[field.name] = fieldArbitrary(table, name, field, depth);
  return fc.record(members).map((message) => keepOneOfEach(fields, message));
}

function keepOneOfEach(fields: readonly FieldFact[], message: SampleMessage): SampleMessage {
  const seen = new Set<string>();
  const entries = fields.map((field) => {
    const value = message[field.name];
    if (field.oneof === undefined || value === undefined) return [field.name, value] as const;
    if (seen.has(field.oneof)) return [field.name, undefined] as const;
    seen.add(field.oneof);
    return [field.name, value] as const;
  });
  return Object.fromEntries(entries);
}

function fieldArbitrary(
  table: ProtoTable,
  owner: string,
  field: FieldFact,
  depth: number,
): fc.Arbitrary<unknown> {
  const single = singleArbitrary(table, owner, field, depth);
  const maxLength = depth > 2 ? 3 : 1;
  if (field.mapKey !== undefined) {
    if (single === undefined) return fc.constant({});
    const key = fc.oneof(text, fc.constantFrom('__proto__', 'constructor', ''));
    return fc.dictionary(key, single, { maxKeys: 3, noNullPrototype: true });
  }
  if (field.repeated) return single === undefined ? fc.constant([]) : fc.array(single, { maxLength });
  if (single === undefined) return fc.constant(undefined);
  const isMessage =
    SCALARS[field.type] === undefined && resolveType(table.enums, owner, field.type) === undefined;
  return isMessage || field.optional ? fc.option(single, { nil: undefined }) : single;
}

function singleArbitrary(
  table: ProtoTable,
  owner: string,
  field: FieldFact,
  depth: number,
): fc.Arbitrary<unknown> | undefined {
  const known = SCALARS[field.type] ?? WELL_KNOWN[field.type];
  if (known !== undefined) return known;
  const enumName = resolveType(table.enums, owner, field.type);
  if (enumName !== undefined) {
    return fc.constantFrom(...parseEnum(enumName, table.enums?.[enumName]).map(([value]) => value));
  }
  const message = resolveType(table.messages, owner, field.type);
  if (message === undefined) throw new Error(`no type ${field.type}`);
  return depth === 0 ? undefined : messageArbitrary(table, message, depth - 1);
}

/** Drops fields that proto3 omits, since protobufjs writes explicit zeros. Converts 64-bit numbers to text. */
export function forProtobufjs(table: ProtoTable, name: string, message: SampleMessage): object {
  const result: Record<string, unknown> = {};
  for (const field of parseFields(name, table.messages[name] ?? WELL_KNOWN_TABLE[name])) {
    const value = message[field.name];
    if (value === undefined || (!field.optional && isZero(table, name, field, value))) continue;
    result[field.name] = mapValues(field, value, (single) => convert(table, name, field, single));
  }
  return result;
}

const WELL_KNOWN_TABLE: Readonly<Record<string, unknown>> = {
  'google.protobuf.BoolValue': { value: { number: 1, type: 'bool' } },
  'google.protobuf.Timestamp': { seconds: { number: 1, type: 'int64' }, nanos: { number: 2, type: 'int32' } },
};

function isZero(table: ProtoTable, owner: string, field: FieldFact, value: unknown): boolean {
  if (value instanceof Uint8Array || Array.isArray(value)) return value.length === 0;
  if (typeof value === 'string') {
    const enumName = resolveType(table.enums, owner, field.type);
    if (enumName === undefined) return value === '';
    return parseEnum(enumName, table.enums?.[enumName]).some(
      ([text_, number]) => text_ === value && number === 0,
    );
  }
  return value === false || Object.is(value, 0) || value === 0n;
}

function mapValues(field: FieldFact, value: unknown, convertOne: (single: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map(convertOne);
  if (field.mapKey === undefined || typeof value !== 'object' || value === null) return convertOne(value);
  return Object.fromEntries(Object.entries(value).map(([key, single]) => [key, convertOne(single)]));
}

function convert(table: ProtoTable, owner: string, field: FieldFact, value: unknown): unknown {
  if (typeof value === 'bigint') return longOf(value, field.type === 'uint64');
  if (typeof value === 'string') {
    const enumName = resolveType(table.enums, owner, field.type);
    if (enumName === undefined) return value;
    return parseEnum(enumName, table.enums?.[enumName]).find(([text_]) => text_ === value)?.[1];
  }
  if (!isSample(value) || value instanceof Uint8Array) return value;
  return forProtobufjs(table, resolveType(table.messages, owner, field.type) ?? field.type, value);
}

function isSample(value: unknown): value is SampleMessage {
  return typeof value === 'object' && value !== null;
}

/** The protobufjs representation of 64-bit numbers. */
function longOf(value: bigint, unsigned: boolean): { low: number; high: number; unsigned: boolean } {
  const high = Number(BigInt.asIntN(32, value >> 32n));
  return { low: Number(BigInt.asIntN(32, value)), high, unsigned };
}

/** Converts the table for protobufjs. */
export function protobufjsRoot(table: ProtoTable): protobuf.Root {
  const root = new protobuf.Root();
  const space = root.define(table.protoPackage);
  for (const [name, message] of Object.entries(WELL_KNOWN_TABLE)) {
    defineMessage(root.define('google.protobuf'), name.slice('google.protobuf.'.length), name, message);
  }
  const names = Object.keys(table.messages).sort((a, b) => a.split('.').length - b.split('.').length);
  for (const name of names) {
    const parts = name.split('.');
    const own = parts.pop() ?? name;
    const outer = parts.length === 0 ? space : space.lookupType(parts);
    defineMessage(outer, own, name, table.messages[name]);
  }
  for (const [name, values] of Object.entries(table.enums ?? {})) {
    const parts = name.split('.');
    const own = parts.pop() ?? name;
    const outer = parts.length === 0 ? space : space.lookupType(parts);
    outer.add(new protobuf.Enum(own, Object.fromEntries(parseEnum(name, values))));
  }
  root.resolveAll();
  return root;
}

function defineMessage(outer: protobuf.NamespaceBase, own: string, name: string, entry: unknown): void {
  const type = new protobuf.Type(own);
  for (const field of parseFields(name, entry)) {
    if (field.mapKey !== undefined) {
      type.add(new protobuf.MapField(field.name, field.number, field.mapKey, field.type));
    } else {
      const packable = field.repeated && !['string', 'bytes'].includes(field.type);
      const options = packable ? { packed: true } : {};
      type.add(
        new protobuf.Field(
          field.name,
          field.number,
          field.type,
          field.repeated ? 'repeated' : 'optional',
          undefined,
          options,
        ),
      );
    }
  }
  outer.add(type);
}
