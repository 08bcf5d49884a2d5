/** Message plans of the built-in types, each prepared once: fields in ascending order, each with its member
 *  name in JSON. Source: facts README, Reading api-types.json and Encodings. */

import { ProtobufError } from '../codec/protobuf/error.ts';
import type { Reader } from '../codec/protobuf/reader.ts';
import type { Writer } from '../codec/protobuf/writer.ts';
import { setMember } from '../codec/set-member.ts';
import { isObject } from '../kit/object.ts';
import {
  type FieldFact,
  formatTypeName,
  isRequired,
  type Scalar,
  shapeOf,
  type TypeName,
  typeOf,
  wireName,
} from '../schema/registry.ts';
import type { Vocabulary } from '../vocabulary.ts';
import {
  BOOL,
  BYTES,
  createRawCodec,
  DOUBLE,
  DURATION,
  FLOAT,
  INT_OR_STRING,
  INT32,
  INT64,
  MICRO_TIME,
  QUANTITY,
  type ReadEmbedded,
  STRING,
  TEXT_LIST,
  TIME,
  UINT64,
  type ValueCodec,
} from './values.ts';

type JsonObject = Record<string, unknown>;

export interface MessagePlan {
  /** Ascending. */
  readonly fields: readonly FieldPlan[];
  readonly byNumber: readonly (FieldPlan | undefined)[];
}

interface FieldBase {
  readonly tag: number;
  /** Member in JSON; empty for an inline field. */
  readonly name: string;
}

export type FieldPlan = FieldBase &
  (
    | { readonly shape: 'inline'; readonly message: MessagePlan }
    | {
        readonly shape: 'single';
        readonly value: ValueCodec;
        /** Written even if it is absent. */
        readonly always: boolean;
        /** Omitted from JSON if it is zero. */
        readonly omitZero: boolean;
      }
    | { readonly shape: 'list' | 'map'; readonly value: ValueCodec }
  );

interface MessageCodec extends ValueCodec {
  readonly plan: MessagePlan;
}

/** Reports whether the codec is that of a message with fields of its own. */
export const isMessage = (codec: ValueCodec): codec is MessageCodec => 'plan' in codec;

const KEY_TAG = 0x0a;

/** Writes the fields of a message.
 *  @throws ProtobufError `InvalidValue` */
export function writeMessage(plan: MessagePlan, writer: Writer, object: Readonly<JsonObject>): void {
  for (const field of plan.fields) {
    if (field.shape === 'inline') {
      writer.uint32(field.tag);
      const start = writer.beginLength();
      writeMessage(field.message, writer, object);
      writer.endLength(start);
      continue;
    }
    const value = object[field.name] ?? undefined;
    if (field.shape === 'single') {
      if (value === undefined && !field.always) continue;
      writer.uint32(field.tag);
      field.value.write(writer, value);
    } else if (value !== undefined) {
      writeMany(field, writer, value);
    }
  }
}

function writeMany(
  { shape, tag, value: codec, name }: FieldPlan & { readonly shape: 'list' | 'map' },
  writer: Writer,
  value: unknown,
): void {
  if (shape === 'list') {
    if (!Array.isArray(value)) throw new ProtobufError('InvalidValue', 'expected a list', name);
    for (const item of value) {
      writer.uint32(tag);
      codec.write(writer, item);
    }
    return;
  }
  if (!isObject(value)) throw new ProtobufError('InvalidValue', 'expected an object', name);
  for (const key of sortedKeys(value)) {
    writer.uint32(tag);
    const start = writer.beginLength();
    writer.uint32(KEY_TAG);
    writer.string(key);
    writer.uint32(16 | codec.wireType);
    codec.write(writer, value[key]);
    writer.endLength(start);
  }
}

const SURROGATES = /[\ud800-\udfff]/;

/** Returns the keys in the order of their UTF-8 bytes, which is that of UTF-16 except for surrogates. */
function sortedKeys(map: Readonly<JsonObject>): readonly string[] {
  const keys = Object.keys(map);
  // Objects are mostly stored with sorted keys, which takes one look at each.
  if (isAscending(keys)) return keys;
  return keys.some((key) => SURROGATES.test(key))
    ? keys.sort((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right)))
    : keys.sort();
}

const isAscending = (keys: readonly string[]): boolean =>
  keys.every((key, index) => !SURROGATES.test(key) && (index === 0 || (keys[index - 1] ?? '') < key));

/** Reads fields into an object, up to the end of the message that the reader is in.
 *  @throws ProtobufError */
export function readMessage(plan: MessagePlan, reader: Reader, into: JsonObject): JsonObject {
  while (reader.more()) readNext(plan, reader, into);
  return into;
}

/** Like `readMessage`, in steps of one field each; each item of a list is one.
 *  @throws ProtobufError */
export function* readMessageInSteps(
  plan: MessagePlan,
  reader: Reader,
  into: JsonObject,
): Generator<undefined, JsonObject> {
  while (reader.more()) {
    readNext(plan, reader, into);
    yield;
  }
  return into;
}

function readNext(plan: MessagePlan, reader: Reader, into: JsonObject): void {
  const tag = reader.tag();
  const field = plan.byNumber[tag >>> 3];
  if (field === undefined) reader.skip(tag);
  else if (field.tag === tag) readField(field, reader, into);
  else readOtherwise(field, tag, reader, into);
}

function readField(field: FieldPlan, reader: Reader, into: JsonObject): void {
  const { name } = field;
  switch (field.shape) {
    case 'inline': {
      const end = reader.enterMessage();
      readMessage(field.message, reader, into);
      reader.leaveMessage(end);
      return;
    }
    case 'single': {
      const value = field.value.read(reader, into[name]);
      if (value !== undefined && !(field.omitZero && field.value.isZero(value))) into[name] = value;
      else if (Object.hasOwn(into, name)) into[name] = undefined;
      return;
    }
    case 'list': {
      const value = field.value.read(reader, undefined);
      const list = into[name];
      if (Array.isArray(list)) list.push(value);
      else into[name] = [value];
      return;
    }
    case 'map': {
      const known = into[name];
      const map: JsonObject = isObject(known) ? known : {};
      into[name] = map;
      readEntry(field.value, reader, map);
      return;
    }
    default:
      field satisfies never;
  }
}

/** Reports whether an object is equivalent to an absent one. */
function isBlank(plan: MessagePlan, object: Readonly<JsonObject>): boolean {
  return plan.fields.every((field) => {
    if (field.shape === 'inline') return isBlank(field.message, object);
    const value = object[field.name];
    return value === undefined || (field.shape === 'single' && field.always && field.value.isZero(value));
  });
}

function readEntry(codec: ValueCodec, reader: Reader, map: JsonObject): void {
  const end = reader.enterMessage();
  let key = '';
  let value: unknown;
  while (reader.more()) {
    const tag = reader.tag();
    if (tag === KEY_TAG) key = reader.key();
    else if (tag === (16 | codec.wireType)) value = codec.read(reader, value);
    else reader.skip(tag);
  }
  reader.leaveMessage(end);
  setMember(map, key, value ?? codec.absent());
}

/** A list of numbers may be packed; any other field of another wire type is malformed. */
function readOtherwise(field: FieldPlan, tag: number, reader: Reader, into: JsonObject): void {
  if (field.shape !== 'list' || field.value.wireType === 2 || (tag & 7) !== 2) {
    throw new ProtobufError('Malformed', `wire type ${tag & 7} of field ${tag >>> 3}`, field.name);
  }
  const end = reader.enterBytes();
  while (reader.more()) readField(field, reader, into);
  reader.leaveBytes(end);
}

const SCALAR_CODECS: Readonly<Partial<Record<Scalar, ValueCodec>>> = {
  string: STRING,
  bool: BOOL,
  int32: INT32,
  int64: INT64,
  uint32: INT64,
  uint64: UINT64,
  float: FLOAT,
  double: DOUBLE,
  bytes: BYTES,
  Time: TIME,
  MicroTime: MICRO_TIME,
  Duration: DURATION,
  Quantity: QUANTITY,
  QuantityValue: QUANTITY,
  IntOrString: INT_OR_STRING,
};

/** Creates the value codec of a message. An empty message decodes to an empty object, which JSON omits where
 *  it may. */
function messageCodec(plan: MessagePlan): MessageCodec {
  return {
    plan,
    wireType: 2,
    write(writer, value) {
      if (value !== undefined && !isObject(value)) {
        throw new ProtobufError('InvalidValue', `expected an object, got ${typeof value}`);
      }
      const start = writer.beginLength();
      writeMessage(plan, writer, value ?? {});
      writer.endLength(start);
    },
    read(reader, earlier) {
      const end = reader.enterMessage();
      const object = readMessage(plan, reader, isObject(earlier) ? earlier : {});
      reader.leaveMessage(end);
      return object;
    },
    absent: () => ({}),
    isZero: (value) => !isObject(value) || isBlank(plan, value),
  };
}

/** Members of the alternative JSON form beside the schema itself: a list of schemas or of names, or a flag. */
type OtherForm = 'schema-object|array' | 'schema-object|string-array' | 'schema-object|bool';

const SCHEMA_TAG: Readonly<Record<OtherForm, number>> = {
  'schema-object|array': 0x0a,
  'schema-object|string-array': 0x0a,
  'schema-object|bool': 0x12,
};

/** Creates the codec of a schema in one of two forms. In protobuf both have a field: a flag is field 1 and
 *  precedes its schema; otherwise the schema is field 1. */
function schemaFormCodec(form: OtherForm, schema: ValueCodec): ValueCodec {
  const schemaTag = SCHEMA_TAG[form];
  const item = form === 'schema-object|array' ? schema : STRING;
  return {
    wireType: 2,
    write(writer, value) {
      const start = writer.beginLength();
      if (form === 'schema-object|bool') {
        writer.uint32(0x08);
        // A schema allows what matches it.
        writer.bool(value !== false && value !== undefined);
      }
      if (isObject(value)) {
        writer.uint32(schemaTag);
        schema.write(writer, value);
      }
      for (const one of Array.isArray(value) ? value : []) {
        writer.uint32(0x12);
        item.write(writer, one);
      }
      writer.endLength(start);
    },
    read(reader) {
      const end = reader.enterMessage();
      const list: unknown[] = [];
      let found: unknown;
      let allows = false;
      while (reader.more()) {
        const tag = reader.tag();
        if (tag === schemaTag) found = schema.read(reader, found);
        else if (tag === 0x12) list.push(item.read(reader, undefined));
        else if (tag === 0x08) allows = reader.bool();
        else reader.skip(tag);
      }
      reader.leaveMessage(end);
      return found ?? (form === 'schema-object|bool' ? allows : list);
    },
    absent: () => ({}),
    isZero: () => false,
  };
}

const isOtherForm = (form: string): form is OtherForm => Object.hasOwn(SCHEMA_TAG, form);

/** Creates the plans of types, each at its first use, with the types that it contains.
 *  `readEmbedded` reads an embedded object that is not JSON. */
export function createPlanner(
  vocabulary: Vocabulary,
  readEmbedded: ReadEmbedded,
): (name: TypeName) => MessagePlan {
  const plans = new Map<string, MessagePlan>();
  const raw = createRawCodec();
  const embedded = createRawCodec(readEmbedded);

  function valueCodec(type: string, packageName: string): ValueCodec {
    const shape = shapeOf(type, packageName);
    if (shape.kind === 'scalar') {
      return SCALAR_CODECS[shape.scalar] ?? (shape.scalar === 'RawExtension' ? embedded : raw);
    }
    if (shape.kind !== 'struct') throw new ProtobufError('UnknownType', `no ${type} inside of a list or map`);
    const { jsonForm } = typeOf(shape.name);
    if (jsonForm === undefined) return messageCodec(planOf(shape.name));
    if (jsonForm === 'string-array') return TEXT_LIST;
    if (!isOtherForm(jsonForm)) return raw;
    return schemaFormCodec(
      jsonForm,
      messageCodec(planOf({ packageName: shape.name.packageName, typeName: 'JSONSchemaProps' })),
    );
  }

  function fieldPlan(fact: FieldFact, number: number, packageName: string): FieldPlan {
    const name = fact.upstream === undefined ? nameOf(fact) : wireName(fact, vocabulary);
    const type = fact.protoType ?? fact.type;
    const shape = shapeOf(type, packageName);
    if (fact.inline === true && shape.kind === 'struct') {
      return { tag: tagOf(number, 2), name: '', shape: 'inline', message: planOf(shape.name) };
    }
    if (shape.kind === 'list' || shape.kind === 'map') {
      const value = valueCodec(shape.element, packageName);
      return {
        tag: tagOf(number, shape.kind === 'map' ? 2 : value.wireType),
        name,
        shape: shape.kind,
        value,
      };
    }
    const value = valueCodec(type, packageName);
    // Lists and bytes are nil until they are set, even if protobuf marks them as required.
    const nil = fact.ptr === true || type === 'bytes' || fact.protoType !== undefined;
    const omitZero = !nil && !isRequired(fact);
    return { tag: tagOf(number, value.wireType), name, shape: 'single', value, always: !nil, omitZero };
  }

  function planOf(typeName: TypeName): MessagePlan {
    const key = formatTypeName(typeName);
    const known = plans.get(key);
    if (known !== undefined) return known;
    const fields: FieldPlan[] = [];
    const byNumber: (FieldPlan | undefined)[] = [];
    // Registered before its fields are complete: types contain themselves.
    const plan: MessagePlan = { fields, byNumber };
    plans.set(key, plan);
    for (const fact of typeOf(typeName).fields) {
      if (fact.proto === undefined || (nameOf(fact) === '' && fact.inline !== true)) continue;
      const field = fieldPlan(fact, fact.proto, typeName.packageName);
      fields.push(field);
      byNumber[fact.proto] = field;
    }
    fields.sort((left, right) => left.tag - right.tag);
    return plan;
  }
  return planOf;
}

/** A field that exists only in protobuf has its protobuf name. */
const nameOf = (fact: FieldFact): string =>
  fact.json === '' && fact.protoOnly === true ? (fact.protoName ?? '') : fact.json;

const tagOf = (number: number, wireType: number): number => ((number << 3) | wireType) >>> 0;
