/** Value codecs of API objects in protobuf, from and to their JSON form. An absent value is written as the
 *  zero of its type. Source: facts README, Encodings. */

import { Buffer } from 'node:buffer';
import { embeddedText } from '../codec/embedded-text.ts';
import { parseJsonBytes } from '../codec/json-bytes.ts';
import { TextSyntaxError } from '../codec/limits.ts';
import { ProtobufError } from '../codec/protobuf/error.ts';
import type { Reader } from '../codec/protobuf/reader.ts';
import type { Writer } from '../codec/protobuf/writer.ts';
import type { Int64 } from '../kit/int64.ts';
import { int64Of, MAX_INT64, MAX_UINT64, MIN_INT64 } from '../kit/int64.ts';
import { formatDuration, parseDuration } from '../meta/duration.ts';
import { formatMicroTime, formatTime, parseTimeNanos } from '../meta/time.ts';

export type WireType = 0 | 1 | 2 | 5;

export interface ValueCodec {
  readonly wireType: WireType;
  /** @throws ProtobufError `InvalidValue` */
  write(writer: Writer, value: unknown): void;
  /** Decodes a value. `earlier`: the earlier value of the same field, into which a message is merged. Returns
   *  `undefined` for no value.
   *  @throws ProtobufError */
  read(reader: Reader, earlier: unknown): unknown;
  /** Value of a map's entry that has none. */
  absent(): unknown;
  /** Reports whether JSON omits the value where it may. */
  isZero(value: unknown): boolean;
}

function invalid(expected: string, value: unknown): ProtobufError {
  return new ProtobufError('InvalidValue', `expected ${expected}, got ${typeof value}`);
}
const malformed = (what: string): ProtobufError => new ProtobufError('Malformed', what);

function numberOf(value: unknown): number {
  if (value === undefined) return 0;
  if (typeof value !== 'number') throw invalid('a number', value);
  return value;
}

/** @throws ProtobufError `InvalidValue` unless the value is an integer of 64 bits */
function wholeOf(value: unknown, min: bigint, max: bigint): Int64 {
  if (value === undefined) return 0;
  if (typeof value === 'bigint' && value >= min && value <= max) return value;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw invalid('a whole number of 64 bits', value);
}

function textOf(value: unknown): string {
  if (value === undefined) return '';
  if (typeof value !== 'string') throw invalid('text', value);
  return value;
}

const isZeroNumber = (value: unknown): boolean => value === 0;

export const STRING: ValueCodec = {
  wireType: 2,
  write: (writer, value) => writer.string(textOf(value)),
  read: (reader) => reader.string(),
  absent: () => '',
  isZero: (value) => value === '',
};

export const BOOL: ValueCodec = {
  wireType: 0,
  write: (writer, value) => writer.bool(value === true),
  read: (reader) => reader.bool(),
  absent: () => false,
  isZero: (value) => value === false,
};

export const INT32: ValueCodec = {
  wireType: 0,
  write: (writer, value) => writer.int32(numberOf(value)),
  read: (reader) => reader.int32(),
  absent: () => 0,
  isZero: isZeroNumber,
};

function writeWhole(writer: Writer, value: Int64): void {
  if (typeof value === 'bigint') writer.int64(value);
  else writer.safeInt64(value);
}

export const INT64: ValueCodec = {
  wireType: 0,
  write: (writer, value) => writeWhole(writer, wholeOf(value, MIN_INT64, MAX_INT64)),
  read: (reader) => reader.exactInt64(),
  absent: () => 0,
  isZero: isZeroNumber,
};

export const UINT64: ValueCodec = {
  wireType: 0,
  write: (writer, value) => writeWhole(writer, wholeOf(value, 0n, MAX_UINT64)),
  read: (reader) => int64Of(reader.uint64()),
  absent: () => 0,
  isZero: isZeroNumber,
};

export const DOUBLE: ValueCodec = {
  wireType: 1,
  write: (writer, value) => writer.double(numberOf(value)),
  read: (reader) => reader.double(),
  absent: () => 0,
  isZero: isZeroNumber,
};

export const FLOAT: ValueCodec = {
  wireType: 5,
  write: (writer, value) => writer.float(numberOf(value)),
  read: (reader) => reader.float(),
  absent: () => 0,
  isZero: isZeroNumber,
};

/** Base64 in JSON. */
export const BYTES: ValueCodec = {
  wireType: 2,
  write: (writer, value) => writer.blob(Buffer.from(textOf(value), 'base64')),
  read: (reader) => asBuffer(reader.blob()).toString('base64'),
  absent: () => '',
  isZero: (value) => value === '',
};

const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

const FIELD_1_VARINT = 0x08;
const FIELD_1_BYTES = 0x0a;
const FIELD_2_VARINT = 0x10;
const FIELD_3_BYTES = 0x1a;
const NEVER_ZERO = (): boolean => false;

/** Go's zero time, which JSON has as null. */
const ZERO_TIME = '0001-01-01T00:00:00Z';

function timeText(seconds: number, nanos: number, micro: boolean): string {
  try {
    if (!micro) return formatTime(seconds * 1000);
    return formatMicroTime(BigInt(seconds) * 1_000_000_000n + BigInt(nanos));
  } catch (error) {
    if (error instanceof RangeError) throw malformed('time out of range');
    throw error;
  }
}

/** Returns whole seconds in the API's canonical text; Time has no nanoseconds on the wire. */
function writeTime(writer: Writer, value: unknown, micro: boolean): void {
  const text = textOf(value);
  if (text === '' || text === ZERO_TIME) return;
  const seconds = Math.floor(Date.parse(text) / 1000);
  if (Number.isNaN(seconds)) throw invalid('a time', value);
  writer.uint32(FIELD_1_VARINT);
  writer.safeInt64(seconds);
  writer.uint32(FIELD_2_VARINT);
  writer.int32(micro ? Number(parseTimeNanos(text) - BigInt(seconds) * 1_000_000_000n) : 0);
}

function timeCodec(micro: boolean): ValueCodec {
  return {
    wireType: 2,
    write(writer, value) {
      const start = writer.beginLength();
      writeTime(writer, value, micro);
      writer.endLength(start);
    },
    read(reader) {
      const end = reader.enterMessage();
      const empty = !reader.more();
      let seconds = 0;
      let nanos = 0;
      while (reader.more()) {
        const tag = reader.tag();
        if (tag === FIELD_1_VARINT) seconds = reader.safeInt64();
        else if (tag === FIELD_2_VARINT) nanos = reader.int32();
        else reader.skip(tag);
      }
      reader.leaveMessage(end);
      return empty ? undefined : timeText(seconds, nanos, micro);
    },
    absent: () => undefined,
    isZero: NEVER_ZERO,
  };
}

export const TIME: ValueCodec = timeCodec(false);
export const MICRO_TIME: ValueCodec = timeCodec(true);

export const DURATION: ValueCodec = {
  wireType: 2,
  write(writer, value) {
    const start = writer.beginLength();
    writer.uint32(FIELD_1_VARINT);
    writer.int64(value === undefined ? 0n : parseDuration(textOf(value)));
    writer.endLength(start);
  },
  read(reader) {
    const end = reader.enterMessage();
    let nanos = 0n;
    while (reader.more()) {
      const tag = reader.tag();
      if (tag === FIELD_1_VARINT) nanos = reader.int64();
      else reader.skip(tag);
    }
    reader.leaveMessage(end);
    return formatDuration(nanos);
  },
  absent: () => '0s',
  isZero: NEVER_ZERO,
};

/** Reads the message's only field; its last occurrence counts. */
function readSingle<T>(reader: Reader, absent: T, read: () => T): T {
  const end = reader.enterMessage();
  let value = absent;
  while (reader.more()) {
    const tag = reader.tag();
    if (tag === FIELD_1_BYTES) value = read();
    else reader.skip(tag);
  }
  reader.leaveMessage(end);
  return value;
}

export const QUANTITY: ValueCodec = {
  wireType: 2,
  write(writer, value) {
    const start = writer.beginLength();
    writer.uint32(FIELD_1_BYTES);
    writer.string(value === undefined ? '0' : textOf(value));
    writer.endLength(start);
  },
  read: (reader) => readSingle(reader, '0', () => reader.string()),
  absent: () => '0',
  isZero: (value) => value === '0',
};

/** A whole number or text. */
export const INT_OR_STRING: ValueCodec = {
  wireType: 2,
  write(writer, value) {
    const isText = typeof value === 'string';
    const start = writer.beginLength();
    writer.uint32(FIELD_1_VARINT);
    writer.uint32(isText ? 1 : 0);
    writer.uint32(FIELD_2_VARINT);
    writer.int32(isText ? 0 : numberOf(value));
    writer.uint32(FIELD_3_BYTES);
    writer.string(isText ? value : '');
    writer.endLength(start);
  },
  read(reader) {
    const end = reader.enterMessage();
    let type = 0;
    let number = 0;
    let text = '';
    while (reader.more()) {
      const tag = reader.tag();
      if (tag === FIELD_1_VARINT) type = reader.safeInt64();
      else if (tag === FIELD_2_VARINT) number = reader.int32();
      else if (tag === FIELD_3_BYTES) text = reader.string();
      else reader.skip(tag);
    }
    reader.leaveMessage(end);
    return type === 0 ? number : text;
  },
  absent: () => 0,
  isZero: isZeroNumber,
};

/** A list of strings in a message of its own. */
export const TEXT_LIST: ValueCodec = {
  wireType: 2,
  write(writer, value) {
    const start = writer.beginLength();
    for (const item of Array.isArray(value) ? value : []) {
      writer.uint32(FIELD_1_BYTES);
      writer.string(textOf(item));
    }
    writer.endLength(start);
  },
  read(reader, earlier) {
    const texts: unknown[] = Array.isArray(earlier) ? earlier : [];
    readSingle(reader, 0, () => texts.push(reader.string()));
    return texts;
  },
  absent: () => [],
  isZero: NEVER_ZERO,
};

/** Decodes an embedded object's bytes that are not JSON. */
export type ReadEmbedded = (bytes: Buffer) => unknown;

function parseEmbedded(bytes: Buffer): unknown {
  try {
    return parseJsonBytes(bytes).value;
  } catch (error) {
    if (error instanceof TextSyntaxError) throw malformed(`embedded JSON: ${error.message}`);
    throw error;
  }
}

/** Creates the codec of any JSON value, encoded as text. `readOther` reads bytes that do not begin like JSON. */
export function createRawCodec(readOther?: ReadEmbedded): ValueCodec {
  return {
    wireType: 2,
    write(writer, value) {
      const start = writer.beginLength();
      if (value !== undefined) {
        writer.uint32(FIELD_1_BYTES);
        writer.string(readOther === undefined ? JSON.stringify(value) : embeddedText(value));
      }
      writer.endLength(start);
    },
    read(reader) {
      const bytes = readSingle<Buffer | undefined>(reader, undefined, () => asBuffer(reader.blob()));
      if (bytes === undefined || bytes.length === 0) return undefined;
      return bytes[0] === 0x6b && readOther !== undefined ? readOther(bytes) : parseEmbedded(bytes);
    },
    absent: () => undefined,
    isZero: NEVER_ZERO,
  };
}
