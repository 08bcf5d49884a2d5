/** Every 64-bit field at the limits of exact JavaScript numbers and of its range, encoded and decoded in
 *  every encoding: numbers are preserved exactly, and the error of one out of range names its field. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { copyJson } from '../codec/copy-json.ts';
import { embeddedText } from '../codec/embedded-text.ts';
import { parseJson } from '../codec/json.ts';
import { parseJsonBytes } from '../codec/json-bytes.ts';
import { parseJsonText } from '../codec/json-text.ts';
import { formatYaml, parseYaml } from '../codec/yaml.ts';
import { MAX_INT64, MAX_UINT64, MIN_INT64 } from '../kit/int64.ts';
import { createApiProtobuf } from '../protobuf/api-protobuf.ts';
import { VOCABULARIES } from '../vocabulary.ts';
import { decode } from './decode.ts';
import { jsonFields, parseTypeName, typeOf, upstreamProtoPackage } from './registry.ts';

const protobuf = createApiProtobuf(VOCABULARIES.plat);
const SAFE = 2n ** 53n - 1n;
const SIGNED = [
  0n,
  1n,
  SAFE - 1n,
  SAFE,
  SAFE + 1n,
  SAFE + 2n,
  2n ** 62n + 1n,
  MAX_INT64 - 1n,
  MAX_INT64,
].flatMap((value) => [value, -value]);
const IN_RANGE = {
  int64: [...SIGNED, MIN_INT64],
  uint64: SIGNED.filter((value) => value >= 0n),
};
const BEYOND = {
  int64: [MAX_INT64 + 1n, MIN_INT64 - 1n, 2n ** 64n, 10n ** 30n],
  uint64: [-1n, MIN_INT64, MAX_UINT64 + 1n, 10n ** 30n],
};

const folder = new URL('./data/api-types/', import.meta.url);
interface Field {
  readonly typeRef: string;
  readonly name: string;
  readonly number: number | undefined;
  readonly type: 'int64' | 'uint64';
  readonly isList: boolean;
}

interface Table {
  readonly package: string;
  readonly types: Readonly<Record<string, unknown>>;
}

const fields: readonly Field[] = readdirSync(folder).flatMap((file) => {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own table
  const table = JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Table;
  return Object.keys(table.types).flatMap((typeName): readonly Field[] => {
    const typeRef = `${table.package}.${typeName}`;
    if (typeOf(typeRef).jsonForm !== undefined) return [];
    return jsonFields(parseTypeName(typeRef))
      .filter(({ type }) => /^(?:\[\])?u?int64$/.test(type))
      .map(({ json, proto, type }) => ({
        typeRef,
        name: json,
        number: proto,
        type: type.endsWith('uint64') ? 'uint64' : 'int64',
        isList: type.startsWith('['),
      }));
  });
});

/** Decoded result: the JSON of the object, or the field of the error. */
function outcome(typeRef: string, name: string, value: unknown): string {
  const { value: object, errors } = decode<Record<string, unknown>>(typeRef, value, {
    missingFields: 'ignore',
  });
  return errors.length === 0
    ? JSON.stringify({ [name]: object[name] })
    : `${errors[0]?.kind} ${errors[0]?.field}`;
}

/** Encodes a message with one field: a 64-bit varint. */
function messageOf(number: number, value: bigint): Buffer {
  const bytes: number[] = [];
  for (let rest of [BigInt(number << 3), BigInt.asUintN(64, value)]) {
    for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
    bytes.push(Number(rest));
  }
  return Buffer.from(bytes);
}

const hasMessage = (typeRef: string): boolean =>
  upstreamProtoPackage(parseTypeName(typeRef).packageName) !== undefined && typeOf(typeRef).jsonOnly !== true;

/** Returns the results of decoding a JSON text as the type in every encoding. */
function readings({ typeRef, name }: Field, text: string): readonly string[] {
  return [
    parseJsonText(text),
    parseJsonText(`{"\\\\":0,${text.slice(1)}`),
    parseJsonBytes(Buffer.from(text)).value,
    parseJson(text).value,
    parseYaml(text)[0]?.value,
    parseYaml(formatYaml(parseJsonText(text)))[0]?.value,
    structuredClone(copyJson(parseJsonText(text))),
    parseJsonText(embeddedText(parseJsonText(text))),
  ].map((value) => {
    if (typeof value === 'object' && value !== null) Reflect.deleteProperty(value, '\\');
    return outcome(typeRef, name, value);
  });
}

describe.each(fields)('$typeRef.$name', (field) => {
  const { typeRef, name, number, type, isList } = field;
  const textOf = (value: bigint): string => `{"${name}":${isList ? `[${value}]` : value}}`;

  it('is exact in JSON and YAML', () => {
    for (const value of IN_RANGE[type]) {
      const text = textOf(value);
      expect(new Set(readings(field, text))).toEqual(new Set([text]));
    }
  });

  it('is refused by its name where it does not fit', () => {
    const where = isList ? `${name}[0]` : name;
    for (const value of BEYOND[type]) {
      expect(new Set(readings(field, textOf(value)))).toEqual(new Set([`FieldValueInvalid ${where}`]));
    }
  });

  it.runIf(number !== undefined && hasMessage(typeRef))('is exact in protobuf', () => {
    for (const value of IN_RANGE[type]) {
      // Zero is omitted in protobuf where JSON omits it.
      if (value === 0n) continue;
      const message = messageOf(number ?? 0, value);
      const object = protobuf.decodeMessage(typeRef, message);
      expect(JSON.stringify({ [name]: object[name] })).toBe(textOf(value));
      const { value: decoded } = decode<Record<string, unknown>>(typeRef, parseJsonText(textOf(value)), {
        missingFields: 'ignore',
      });
      const again = protobuf.decodeMessage(typeRef, protobuf.encodeMessage(typeRef, decoded));
      expect(JSON.stringify({ [name]: again[name] })).toBe(textOf(value));
    }
  });
});

it('there are such fields', () => expect(fields.length).toBeGreaterThan(80));
