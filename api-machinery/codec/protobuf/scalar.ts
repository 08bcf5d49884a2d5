/** Value codecs: read, write and validate field values. One `ValueCodec` per scalar type or enum. */
import { ProtobufError } from './error.ts';
import type { Reader } from './reader.ts';
import type { Writer } from './writer.ts';

export interface ValueCodec {
  /** 0 varint, 1 eight bytes, 2 with a length, 5 four bytes. */
  readonly wireType: 0 | 1 | 2 | 5;
  /** Decoded value of an absent field; undefined for a message. */
  readonly zero: unknown;
  read(reader: Reader): unknown;
  /** @throws ProtobufError (`InvalidValue`) if `value` is not of the type. */
  write(writer: Writer, value: unknown): void;
  isZero(value: unknown): boolean;
  /** For a message: merges into the earlier value of the same field. */
  merge?(reader: Reader, earlier: unknown): unknown;
  /** For a message: the message with every field absent. */
  empty?(): unknown;
}

function invalid(expected: string, value: unknown): ProtobufError {
  const got = value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value;
  const shown = typeof value === 'number' || typeof value === 'bigint' ? `${got} ${value}` : got;
  return new ProtobufError('InvalidValue', `expected ${expected}, got ${shown}`);
}

const string: ValueCodec = {
  wireType: 2,
  zero: '',
  read: (reader) => reader.string(),
  write(writer, value) {
    if (typeof value !== 'string') throw invalid('string', value);
    writer.string(value);
  },
  isZero: (value) => value === '',
};

const bytes: ValueCodec = {
  wireType: 2,
  zero: new Uint8Array(0),
  read: (reader) => reader.blob(),
  write(writer, value) {
    if (!(value instanceof Uint8Array)) throw invalid('bytes', value);
    writer.blob(value);
  },
  isZero: (value) => value instanceof Uint8Array && value.length === 0,
};

const bool: ValueCodec = {
  wireType: 0,
  zero: false,
  read: (reader) => reader.bool(),
  write(writer, value) {
    if (typeof value !== 'boolean') throw invalid('bool', value);
    writer.bool(value);
  },
  isZero: (value) => value === false,
};

const int32: ValueCodec = {
  wireType: 0,
  zero: 0,
  read: (reader) => reader.int32(),
  write(writer, value) {
    if (typeof value !== 'number' || (value | 0) !== value) throw invalid('int32', value);
    writer.int32(value);
  },
  isZero: (value) => value === 0,
};

const uint32: ValueCodec = {
  wireType: 0,
  zero: 0,
  read: (reader) => reader.uint32(),
  write(writer, value) {
    if (typeof value !== 'number' || value >>> 0 !== value) throw invalid('uint32', value);
    writer.uint32(value);
  },
  isZero: (value) => value === 0,
};

function wide(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value;
  return Number.isSafeInteger(value) ? BigInt(Number(value)) : undefined;
}

const isWideZero = (value: unknown): boolean => value === 0n || value === 0;

const int64: ValueCodec = {
  wireType: 0,
  zero: 0n,
  read: (reader) => reader.int64(),
  write(writer, value) {
    const exact = wide(value);
    if (exact === undefined || BigInt.asIntN(64, exact) !== exact) throw invalid('int64', value);
    writer.int64(exact);
  },
  isZero: isWideZero,
};

const uint64: ValueCodec = {
  wireType: 0,
  zero: 0n,
  read: (reader) => reader.uint64(),
  write(writer, value) {
    const exact = wide(value);
    if (exact === undefined || BigInt.asUintN(64, exact) !== exact) throw invalid('uint64', value);
    writer.int64(exact);
  },
  isZero: isWideZero,
};

/** -0 differs from 0 on the wire. */
const isPlusZero = (value: unknown): boolean => Object.is(value, 0);

const double: ValueCodec = {
  wireType: 1,
  zero: 0,
  read: (reader) => reader.double(),
  write(writer, value) {
    if (typeof value !== 'number') throw invalid('double', value);
    writer.double(value);
  },
  isZero: isPlusZero,
};

const float: ValueCodec = {
  wireType: 5,
  zero: 0,
  read: (reader) => reader.float(),
  write(writer, value) {
    if (typeof value !== 'number') throw invalid('float', value);
    writer.float(value);
  },
  isZero: isPlusZero,
};

export const SCALARS: Readonly<Record<string, ValueCodec>> = {
  string,
  bytes,
  bool,
  int32,
  uint32,
  int64,
  uint64,
  double,
  float,
};

/** Creates the codec of an enum, which is decoded to its value's name. An unknown number, which a newer peer
 *  may send, becomes its decimal text, and such text is encoded back to the number. */
export function createEnumCodec(
  name: string,
  values: readonly (readonly [name: string, number: number])[],
): ValueCodec {
  const numbers = new Map(values);
  const names = new Map(values.toReversed().map(([text, number]) => [number, text]));
  const zero = names.get(0) ?? '0';

  function numberOf(value: unknown): number {
    const known = typeof value === 'string' ? numbers.get(value) : undefined;
    if (known !== undefined) return known;
    const number = typeof value === 'string' && /^-?\d{1,10}$/.test(value) ? Number(value) : value;
    if (typeof number !== 'number' || (number | 0) !== number) {
      throw invalid(`a value of ${name}`, value);
    }
    return number;
  }

  return {
    wireType: 0,
    zero,
    read(reader) {
      const number = reader.int32();
      return names.get(number) ?? String(number);
    },
    write: (writer, value) => writer.int32(numberOf(value)),
    isZero: (value) => value === zero || numberOf(value) === 0,
  };
}
