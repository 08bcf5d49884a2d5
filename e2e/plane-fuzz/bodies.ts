/** Generator of request bodies: valid ones in every format, damaged ones, and malicious ones. */
import { stringify } from 'yaml';
import type { ApiProtobuf } from '#api/protobuf/api-protobuf.ts';
import type { Random } from '../../testing/random.ts';
import { chance, hostileText, textOf } from './hostile.ts';

export interface Body {
  readonly type: string;
  readonly bytes: Buffer;
}

export interface Typed {
  readonly apiVersion: string;
  readonly kind: string;
}

const MIB = 1024 * 1024;

/** The object in one of the formats, damaged at times. */
export function bodyOf(random: Random, protobuf: ApiProtobuf, mediaType: string, object: unknown): Body {
  const format = random.below(10);
  if (chance(random, 2)) return bombOf(random);
  if (format < 2) return { type: 'application/yaml', bytes: damaged(random, yamlOf(random, object)) };
  if (format < 5) {
    const bytes = protobufOf(protobuf, object);
    if (bytes !== undefined) return { type: mediaType, bytes: damaged(random, bytes, 40) };
  }
  return { type: 'application/json', bytes: damaged(random, Buffer.from(textOf(object))) };
}

export function yamlOf(random: Random, object: unknown): Buffer {
  const text = chance(random, 60) ? stringify(JSON.parse(textOf(object))) : textOf(object);
  if (!chance(random, 15)) return Buffer.from(text);
  const lines = text.split('\n');
  lines.splice(random.below(lines.length), 0, random.pick(YAML_LINES));
  return Buffer.from(lines.join(random.pick(['\n', '\n', '\r\n', '\r'])));
}

const YAML_LINES = [
  '---',
  '...',
  '%YAML 1.1',
  '%TAG ! tag:x,2000:',
  'a: &a [*a]',
  'b: *nowhere',
  '<<: {a: b}',
  '? [a, b]\n: c',
  '\ta: b',
  'c: !!binary AAEC',
  'd: !!js/function x',
  'e: !!set {a, b}',
  'f: .inf',
  'g: 0o777',
  'h: 1_000',
  'i: 2026-01-01',
  'j: |+9\n  x',
  'k: "\\uD800\\x00"',
  "l: 'x",
  '\uFEFF',
  'm: &x {y: &x 1, z: *x}',
  'n: ~',
  '{{',
  '- - - -',
  '#',
  '__proto__: {a: b}',
  'yes: no',
];

/** `undefined` for what has no such form. */
function protobufOf(protobuf: ApiProtobuf, object: unknown): Buffer | undefined {
  try {
    return protobuf.encode(JSON.parse(textOf(object)) as Typed & Record<string, unknown>);
  } catch {
    return undefined;
  }
}

/** With changes of single bytes, parts left out, doubled or put elsewhere. */
export function damaged(random: Random, bytes: Buffer, percent = 10): Buffer {
  if (!chance(random, percent)) return bytes;
  let result: Buffer = Buffer.from(bytes);
  const count = random.pick([1, 1, 2, 5]);
  for (let time = 0; time < count; time += 1) result = damagedOnce(random, result);
  return result;
}

const PIECES = [
  '',
  '{',
  '[',
  '"',
  ',',
  ':',
  '\\u',
  '\\',
  '\0',
  '\n',
  '}}',
  ']]',
  '0',
  '-',
  'null',
  '\uFEFF',
  '/*',
  "'",
].map((text) => Buffer.from(text));
const RAW = [
  [0xff],
  [0xc0, 0x80],
  [0xed, 0xa0, 0x80],
  [0x80],
  [0xf4, 0x90, 0x80, 0x80],
  [0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f],
  [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
  [0x0b],
  [0x0c],
].map((bytes) => Buffer.from(bytes));

function damagedOnce(random: Random, bytes: Buffer): Buffer {
  const at = random.below(bytes.length + 1);
  const to = Math.min(bytes.length, at + 1 + random.below(chance(random, 70) ? 4 : 200));
  switch (random.below(6)) {
    case 0:
      return bytes.subarray(0, at);
    case 1: {
      const copy = Buffer.from(bytes);
      if (at < copy.length) copy[at] = random.below(256);
      return copy;
    }
    case 2:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(to)]);
    case 3:
      return Buffer.concat([bytes.subarray(0, to), bytes.subarray(at)]);
    case 4:
      return Buffer.concat([bytes.subarray(0, at), random.pick(RAW), bytes.subarray(at)]);
    default:
      return Buffer.concat([bytes.subarray(0, at), random.pick(PIECES), bytes.subarray(at)]);
  }
}

const repeat = (text: string, count: number): string => text.repeat(count);

/** Small to send and large to work on, or simply large. */
export function bombOf(random: Random): Body {
  const json = 'application/json';
  const yaml = 'application/yaml';
  const bombs: readonly (() => readonly [string, string | Buffer])[] = [
    () => [json, repeat('[', random.pick([100, 101, 20_000, MIB]))],
    () => [json, repeat('{"a":', random.pick([101, 20_000, MIB / 8]))],
    () => [json, `{"metadata":{"name":"x"},"data":{${repeat('"a":"b",', MIB / 16)}"a":"c"}}`],
    () => [json, `{"data":{"a":"${repeat('\\u0041', MIB / 12)}"}}`],
    () => [json, `{"data":{"a":"${repeat('\\\\', random.pick([200, 20_000, MIB]))}"}}`],
    () => [json, `{"${repeat('\\\\', random.pick([20, 20_000, MIB / 2]))}":{"a":1,"a":2}}`],
    () => [json, `{"data":{"a":"${repeat('\\u005c', MIB / 8)}"}}`],
    () => [yaml, `a: "${repeat('\\\\', random.pick([200, 20_000, MIB / 4]))}"`],
    () => [json, `{"spec":{"args":["${repeat('$(', MIB / 2)}"]}}`],
    () => [json, `[${repeat('1e9,', MIB / 8)}1]`],
    () => [json, `{"a":1${repeat('0', MIB / 2)}}`],
    () => [json, Buffer.alloc(3 * MIB + random.below(3) - 1, ' ')],
    () => [json, Buffer.alloc(4 * MIB, 'a')],
    () => [json, `{"metadata":{"name":"x","labels":{"a":"${repeat('é', MIB / 4)}"}}}`],
    () => [
      yaml,
      `a: &a [x,x,x,x,x,x,x,x,x]\n${Array.from({ length: 20 }, (_, i) => `b${i}: &b${i} [${repeat(`*${i === 0 ? 'a' : `b${i - 1}`},`, 9)}]`).join('\n')}`,
    ],
    () => [yaml, repeat('- ', random.pick([50, 3000, 100_000]))],
    () => [yaml, repeat('[', random.pick([150, 20_000]))],
    () => [yaml, repeat('---\n', 100_000)],
    () => [yaml, repeat('a:\n', 50_000)],
    () => [yaml, `a: "${repeat('\\n', 200_000)}"`],
    () => [yaml, repeat('? ', 10_000)],
    () => [yaml, `x: ${repeat('&a ', 5000)}1`],
    () => [yaml, Array.from({ length: 20_000 }, (_, i) => `k${i}: ${i}`).join('\n')],
    () => [yaml, hostileText(random)],
  ];
  const [type, text] = random.pick(bombs)();
  return { type, bytes: Buffer.isBuffer(text) ? text : Buffer.from(text) };
}
