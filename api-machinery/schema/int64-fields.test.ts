/** Every field of 64 bits at the ends of what is exact, in every encoding: a number is read as what it is, or refused
 *  by the name of its field; it is never read as another one. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createApiProtobuf } from '../codec/api-protobuf.ts';
import { parseJsonText } from '../codec/json-text.ts';
import { parseYaml } from '../codec/yaml.ts';
import { VOCABULARIES } from '../vocabulary.ts';
import { decode } from './decode.ts';
import { jsonFields, parseTypeName, typeOf, upstreamProtoPackage } from './registry.ts';

const protobuf = createApiProtobuf(VOCABULARIES.plat);
const SAFE = 2n ** 53n - 1n;
const VALUES = [
  0n,
  1n,
  SAFE - 1n,
  SAFE,
  SAFE + 1n,
  SAFE + 2n,
  2n ** 62n + 1n,
  2n ** 63n - 2n,
  2n ** 63n - 1n,
].flatMap((value) => [value, -value]);
const ALL = [...VALUES, -(2n ** 63n)];

const folder = new URL('./data/api-types/', import.meta.url);
interface Field {
  readonly typeRef: string;
  readonly name: string;
  readonly number: number | undefined;
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
      .filter(({ type }) => type === 'int64')
      .map(({ json, proto }) => ({ typeRef, name: json, number: proto }));
  });
});

/** What is read: the number as text, or the field of the fault. */
function outcome(typeRef: string, name: string, value: unknown): string {
  const { value: object, errors } = decode<Record<string, unknown>>(typeRef, value, {
    missingFields: 'ignore',
  });
  return errors.length === 0 ? String(object[name]) : `${errors[0]?.kind} ${errors[0]?.field}`;
}

/** A field of a message that has nothing else: a varint of 64 bits. */
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

describe.each(fields)('$typeRef.$name', ({ typeRef, name, number }) => {
  it('is exact or refused', () => {
    for (const value of ALL) {
      const isExact = value <= SAFE && value >= -SAFE;
      const wanted = [value, isExact ? String(value) : `FieldValueInvalid ${name}`];
      expect([value, outcome(typeRef, name, parseJsonText(`{"${name}":${value}}`))]).toEqual(wanted);
      expect([value, outcome(typeRef, name, parseYaml(`${name}: ${value}\n`)[0]?.value)]).toEqual(wanted);
      // Zero says nothing there where it says nothing in JSON.
      if (number === undefined || value === 0n || !hasMessage(typeRef)) continue;
      const message = protobuf.decodeMessage(typeRef, messageOf(number, value));
      expect([value, outcome(typeRef, name, message)]).toEqual(wanted);
    }
  });
});

it('there are such fields', () => expect(fields.length).toBeGreaterThan(45));
