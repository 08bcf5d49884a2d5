/** Field codec: reads and writes the fields of one message by its plan. */
import { isObject } from '../../kit/object.ts';
import { ProtobufError, withinField } from './error.ts';
import type { Reader } from './reader.ts';
import type { ValueCodec } from './scalar.ts';
import type { Writer } from './writer.ts';

export type DecodedMessage = Readonly<Record<string, unknown>>;

export interface Field {
  readonly name: string;
  /** Field number times 8 plus the wire type in which it is written. */
  readonly tag: number;
  readonly shape: 'single' | 'list' | 'map';
  readonly value: ValueCodec;
  /** The numbers of a list are written as one value. */
  readonly packed: boolean;
  readonly sortedKeys: boolean;
  /** When a single value is written. */
  readonly presence: 'nonZero' | 'always' | 'whenSet';
  /** Names of the other members of its oneof. */
  readonly rivals: readonly string[];
}

export interface Plan {
  /** By ascending number. */
  readonly fields: readonly Field[];
  readonly byNumber: ReadonlyMap<number, Field>;
  /** The message with every field absent. */
  readonly blank: DecodedMessage;
}

type Values = Record<string, unknown>;

const NO_ELEMENTS: readonly unknown[] = Object.freeze([]);
const NO_ENTRIES: DecodedMessage = Object.freeze({});

/** Field 1 with a length. Only maps keyed by text exist in the tables. */
const MAP_KEY_TAG = 10;

/** Returns the decoded value of a field that the bytes do not contain. */
export function absentValue(field: Field): unknown {
  if (field.shape === 'list') return NO_ELEMENTS;
  if (field.shape === 'map') return NO_ENTRIES;
  return field.presence === 'whenSet' ? undefined : field.value.zero;
}

/** The codec of a message as the value of a field. */
export function createMessageCodec(plan: () => Plan): ValueCodec {
  return {
    wireType: 2,
    zero: undefined,
    read: (reader) => readNested(plan(), reader, undefined),
    merge: (reader, earlier) => readNested(plan(), reader, isMessage(earlier) ? earlier : undefined),
    write(writer, value) {
      const start = writer.beginLength();
      writeFields(plan(), writer, value);
      writer.endLength(start);
    },
    isZero: () => false,
    empty: () => ({ ...plan().blank }),
  };
}

function readNested(plan: Plan, reader: Reader, earlier: DecodedMessage | undefined): DecodedMessage {
  const outerEnd = reader.enterMessage();
  const message = readFields(plan, reader, earlier);
  reader.leaveMessage(outerEnd);
  return message;
}

/** Reads to the end of the message; merges into `earlier` if the field occurred before. */
export function readFields(plan: Plan, reader: Reader, earlier: DecodedMessage | undefined): DecodedMessage {
  const message: Values = { ...(earlier ?? plan.blank) };
  while (reader.more()) {
    const tag = reader.tag();
    const field = plan.byNumber.get(tag >>> 3);
    if (field === undefined) {
      reader.skip(tag);
      continue;
    }
    try {
      readField(field, tag & 7, reader, message);
    } catch (thrown) {
      throw withinField(thrown, field.name);
    }
  }
  return message;
}

function readField(field: Field, wireType: number, reader: Reader, message: Values): void {
  const { name, value } = field;
  if (field.shape === 'map') {
    requireWireType(wireType, 2);
    readEntry(value, reader, ownEntries(message, name));
  } else if (field.shape === 'list') {
    readElements(field, wireType, reader, ownElements(message, name));
  } else {
    requireWireType(wireType, value.wireType);
    const earlier = message[name];
    message[name] =
      earlier === undefined || value.merge === undefined ? value.read(reader) : value.merge(reader, earlier);
    for (const rival of field.rivals) message[rival] = undefined;
  }
}

function requireWireType(got: number, wanted: number): void {
  if (got !== wanted) throw new ProtobufError('Malformed', `wire type ${got}, not ${wanted}`);
}

/** The message's own list: the absent one is shared by all. */
function ownElements(message: Values, name: string): unknown[] {
  const present = message[name];
  if (present !== NO_ELEMENTS && Array.isArray(present)) return present;
  const own: unknown[] = [];
  message[name] = own;
  return own;
}

function ownEntries(message: Values, name: string): Values {
  const present = message[name];
  if (present !== NO_ENTRIES && isMessage(present)) return present;
  const own: Values = {};
  message[name] = own;
  return own;
}

/** Lists of numbers may be packed or not, whatever the table specifies. */
function readElements(field: Field, wireType: number, reader: Reader, elements: unknown[]): void {
  const { value } = field;
  if (wireType !== 2 || value.wireType === 2) {
    requireWireType(wireType, value.wireType);
    elements.push(value.read(reader));
    return;
  }
  const outerEnd = reader.enterBytes();
  while (reader.more()) elements.push(value.read(reader));
  reader.leaveBytes(outerEnd);
}

/** A map entry is a message of the key (1) and the value (2); each may be left out. */
function readEntry(codec: ValueCodec, reader: Reader, entries: Values): void {
  let key = '';
  let value: unknown;
  const outerEnd = reader.enterMessage();
  while (reader.more()) {
    const tag = reader.tag();
    if (tag === MAP_KEY_TAG) {
      key = reader.key();
    } else if (tag >>> 3 === 2) {
      requireWireType(tag & 7, codec.wireType);
      value = codec.read(reader);
    } else {
      reader.skip(tag);
    }
  }
  reader.leaveMessage(outerEnd);
  setEntry(entries, key, value ?? codec.empty?.() ?? codec.zero);
}

/** Sets an own member even if its name is `__proto__`. */
function setEntry(entries: Values, key: string, value: unknown): void {
  if (key !== '__proto__') entries[key] = value;
  else Object.defineProperty(entries, key, { value, enumerable: true, configurable: true, writable: true });
}

/** @throws ProtobufError (`InvalidValue`) with the path of the invalid field. */
export function writeFields(plan: Plan, writer: Writer, message: unknown): void {
  if (!isMessage(message)) throw new ProtobufError('InvalidValue', `expected object, got ${typeof message}`);
  for (const field of plan.fields) {
    const value = message[field.name] ?? undefined;
    try {
      if (field.shape === 'single') writeSingle(field, writer, value);
      else if (value !== undefined && field.shape === 'list') writeElements(field, writer, value);
      else if (value !== undefined) writeEntries(field, writer, value);
    } catch (thrown) {
      throw withinField(thrown, field.name);
    }
  }
}

function writeSingle(field: Field, writer: Writer, given: unknown): void {
  const { value: codec, presence } = field;
  const value = given === undefined && presence === 'always' ? (codec.zero ?? {}) : given;
  if (value === undefined || (presence === 'nonZero' && codec.isZero(value))) return;
  writer.uint32(field.tag);
  codec.write(writer, value);
}

function writeElements(field: Field, writer: Writer, elements: unknown): void {
  if (!Array.isArray(elements))
    throw new ProtobufError('InvalidValue', `expected list, got ${typeof elements}`);
  if (elements.length === 0) return;
  let start = 0;
  if (field.packed) {
    writer.uint32(field.tag);
    start = writer.beginLength();
  }
  for (let i = 0; i < elements.length; i += 1) {
    if (!field.packed) writer.uint32(field.tag);
    try {
      field.value.write(writer, elements[i]);
    } catch (thrown) {
      throw withinField(thrown, `[${i}]`);
    }
  }
  if (field.packed) writer.endLength(start);
}

function writeEntries(field: Field, writer: Writer, entries: unknown): void {
  if (!isMessage(entries)) throw new ProtobufError('InvalidValue', `expected map, got ${typeof entries}`);
  const keys = Object.keys(entries);
  for (const key of field.sortedKeys ? keys.sort() : keys) {
    const value = entries[key];
    if (value === undefined) continue;
    writer.uint32(field.tag);
    const start = writer.beginLength();
    try {
      writeEntry(field.value, writer, key, value);
    } catch (thrown) {
      throw withinField(thrown, `[${JSON.stringify(key)}]`);
    }
    writer.endLength(start);
  }
}

function writeEntry(codec: ValueCodec, writer: Writer, key: string, value: unknown): void {
  writer.uint32(MAP_KEY_TAG);
  writer.string(key);
  writer.uint32((2 << 3) | codec.wireType);
  codec.write(writer, value);
}

/** Reports whether a value has members: a message or a map. */
function isMessage(value: unknown): value is Values {
  return isObject(value);
}
