/** Operators on numbers, texts, times and lists, and conversions between types. Pure. */
import { type Charge, compare, concat, equals, textCost } from './equality.ts';
import { define, method, type Overload, type Param, returns } from './overload.ts';
import {
  formatDuration,
  formatTimestamp,
  isDuration,
  isTimestamp,
  parseDuration,
  parseTimestamp,
} from './times.ts';
import { DYN, join, type ListType, listOf, MOST_BYTES, simple, sizeOf } from './types.ts';
import {
  CelDuration,
  CelError,
  CelList,
  type CelMap,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  type CelValue,
  typeNameOf,
} from './values.ts';

const OVERFLOW = new CelError('integer overflow');
const UINT_OVERFLOW = new CelError('unsigned integer overflow');
const BY_ZERO = new CelError('division by zero');
const MODULUS_BY_ZERO = new CelError('modulus by zero');

const int = (value: bigint): CelValue => (BigInt.asIntN(64, value) === value ? value : OVERFLOW);
const uint = (value: bigint): CelValue =>
  BigInt.asUintN(64, value) === value ? new CelUint(value) : UINT_OVERFLOW;
const timestamp = (ns: bigint): CelValue =>
  isTimestamp(ns) ? new CelTimestamp(ns) : new CelError('timestamp overflow');
const duration = (ns: bigint): CelValue =>
  isDuration(ns) ? new CelDuration(ns) : new CelError('duration overflow');

type Integers = (left: bigint, right: bigint) => bigint | CelError;

function numeric(
  name: string,
  integers: Integers,
  doubles?: (left: number, right: number) => number,
): readonly Overload[] {
  const checked = (value: bigint | CelError, wrap: (value: bigint) => CelValue): CelValue =>
    typeof value === 'bigint' ? wrap(value) : value;
  return [
    define(name, ['int', 'int'], 'int', (a: bigint, b: bigint) => checked(integers(a, b), int)),
    define(name, ['uint', 'uint'], 'uint', (a: CelUint, b: CelUint) =>
      checked(integers(a.value, b.value), uint),
    ),
    ...(doubles === undefined ? [] : [define(name, ['double', 'double'], 'double', doubles)]),
  ];
}

const ORDERED: readonly Param[] = [
  'int',
  'uint',
  'double',
  'string',
  'bytes',
  'bool',
  'duration',
  'timestamp',
];

function relation(name: string, test: (order: number) => boolean): readonly Overload[] {
  return ORDERED.map((kind) =>
    define(
      name,
      [kind, kind],
      'bool',
      (a: CelValue, b: CelValue, charge: Charge) => {
        const order = compare(a, b, charge);
        return order instanceof CelError ? order : test(order);
      },
      ([a = 0, b = 0]) => textCost(Math.min(a, b)),
    ),
  );
}

const joined: Overload['result'] = ([left = DYN, right = DYN]) => {
  const type = join(left, right) ?? DYN;
  const most = sizeOf(left) + sizeOf(right);
  return type.kind === 'list' || type.kind === 'string' || type.kind === 'bytes' ? { ...type, most } : type;
};

const concatCost: Overload['cost'] = ([a = 0, b = 0]) => textCost(a + b);

const sums: readonly Overload[] = [
  ...numeric(
    '+',
    (a, b) => a + b,
    (a, b) => a + b,
  ),
  define(
    '+',
    ['string', 'string'],
    joined,
    (a: string, b: string, charge: Charge) => {
      charge(textCost(a.length + b.length));
      return a + b;
    },
    concatCost,
  ),
  define(
    '+',
    ['bytes', 'bytes'],
    joined,
    (a: Uint8Array, b: Uint8Array, charge: Charge) => {
      charge(textCost(a.length + b.length));
      return Buffer.concat([a, b]);
    },
    concatCost,
  ),
  define('+', ['list', 'list'], joined, concat, ([a = 0, b = 0]) => a + b),
  define('+', ['timestamp', 'duration'], 'timestamp', (a: CelTimestamp, b: CelDuration) =>
    timestamp(a.ns + b.ns),
  ),
  define('+', ['duration', 'timestamp'], 'timestamp', (a: CelDuration, b: CelTimestamp) =>
    timestamp(a.ns + b.ns),
  ),
  define('+', ['duration', 'duration'], 'duration', (a: CelDuration, b: CelDuration) =>
    duration(a.ns + b.ns),
  ),
  ...numeric(
    '-',
    (a, b) => a - b,
    (a, b) => a - b,
  ),
  define('-', ['timestamp', 'timestamp'], 'duration', (a: CelTimestamp, b: CelTimestamp) =>
    duration(a.ns - b.ns),
  ),
  define('-', ['timestamp', 'duration'], 'timestamp', (a: CelTimestamp, b: CelDuration) =>
    timestamp(a.ns - b.ns),
  ),
  define('-', ['duration', 'duration'], 'duration', (a: CelDuration, b: CelDuration) =>
    duration(a.ns - b.ns),
  ),
  define('-', ['int'], 'int', (a: bigint) => int(-a)),
  define('-', ['double'], 'double', (a: number) => -a),
];

const products: readonly Overload[] = [
  ...numeric(
    '*',
    (a, b) => a * b,
    (a, b) => a * b,
  ),
  ...numeric(
    '/',
    (a, b) => (b === 0n ? BY_ZERO : a / b),
    (a, b) => a / b,
  ),
  ...numeric('%', (a, b) => (b === 0n ? MODULUS_BY_ZERO : a % b)),
];

const itemType: Overload['result'] = ([list]) => (list?.kind === 'list' ? list.item : DYN);
const memberType: Overload['result'] = ([map]) => (map?.kind === 'map' ? map.value : DYN);
const outside = (index: bigint): CelError => new CelError(`index out of bounds: ${index}`);

const containers: readonly Overload[] = [
  define('[]', ['list', 'int'], itemType, (list: CelList, index: bigint) =>
    index < 0n || index >= BigInt(list.length) ? outside(index) : list.at(Number(index)),
  ),
  define(
    '[]',
    ['map', 'any'],
    memberType,
    (map: CelMap, key: CelValue) =>
      map.get(key) ??
      (map.has(key) ? null : new CelError(`no such key: ${typeof key === 'string' ? key : typeNameOf(key)}`)),
  ),
  define(
    'in',
    ['any', 'list'],
    'bool',
    (item: CelValue, list: CelList, charge: Charge) => {
      for (const each of list) if (equals(item, each, charge)) return true;
      return false;
    },
    ([, size = 0]) => size,
  ),
  define('in', ['any', 'map'], 'bool', (key: CelValue, map: CelMap) => map.has(key)),
];

/** Sizes of texts count characters. */
export const characters = (text: string): number => {
  let count = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0xdc_00 || code > 0xdf_ff) count += 1;
  }
  return count;
};

const SIZES: readonly (readonly [Param, (value: never) => number])[] = [
  ['string', (text: string) => characters(text)],
  ['bytes', (bytes: Uint8Array) => bytes.length],
  ['list', (list: CelList) => list.length],
  ['map', (map: CelMap) => map.size],
];

const sizes = SIZES.flatMap(([kind, size]) => {
  const call = (value: never): CelValue => BigInt(size(value));
  return [define('size', [kind], 'int', call), method('size', [kind], 'int', call)];
});

const RANGE = new CelError('range error');

function intOf(value: number): CelValue {
  if (!Number.isFinite(value) || Math.abs(value) >= 2 ** 63) return RANGE;
  return int(BigInt(Math.trunc(value)));
}

function parseInteger(text: string, wrap: (value: bigint) => CelValue): CelValue {
  const digits = text.startsWith('-') || text.startsWith('+') ? text.slice(1) : text;
  const isValid =
    digits.length > 0 &&
    digits.length <= 20 &&
    Array.from(digits).every((each) => each >= '0' && each <= '9');
  return isValid
    ? wrap(BigInt(text.startsWith('+') ? digits : text))
    : new CelError('cannot convert the text to an integer');
}

function parseDouble(text: string): CelValue {
  const value = text.trim() === text && text !== '' && text.length <= 64 ? Number(text) : Number.NaN;
  return Number.isNaN(value) ? new CelError('cannot convert the text to a number') : value;
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function textOf(bytes: Uint8Array): CelValue {
  try {
    return strict.decode(bytes);
  } catch {
    return new CelError('invalid UTF-8 in bytes, cannot convert to string');
  }
}

const sameText: Overload['result'] = ([type = DYN]) => ({ kind: 'string', most: sizeOf(type) });

const conversions: readonly Overload[] = [
  define('int', ['int'], 'int', (value: bigint) => value),
  define('int', ['uint'], 'int', ({ value }: CelUint) => int(value)),
  define('int', ['double'], 'int', intOf),
  define('int', ['string'], 'int', (text: string) => parseInteger(text, int)),
  define('int', ['timestamp'], 'int', ({ ns }: CelTimestamp) => BigInt.asIntN(64, ns / 1_000_000_000n)),
  define('uint', ['uint'], 'uint', (value: CelUint) => value),
  define('uint', ['int'], 'uint', uint),
  define('uint', ['double'], 'uint', (value: number) => {
    const whole = intOf(value);
    return typeof whole === 'bigint' ? uint(whole) : whole;
  }),
  define('uint', ['string'], 'uint', (text: string) => parseInteger(text, uint)),
  define('double', ['double'], 'double', (value: number) => value),
  define('double', ['int'], 'double', Number),
  define('double', ['uint'], 'double', ({ value }: CelUint) => Number(value)),
  define('double', ['string'], 'double', parseDouble),
  define('bool', ['bool'], 'bool', (value: boolean) => value),
  define('string', ['string'], sameText, (value: string) => value),
  define('string', ['int'], 'string', String),
  define('string', ['uint'], 'string', ({ value }: CelUint) => String(value)),
  define('string', ['double'], 'string', String),
  define('string', ['bool'], 'string', String),
  define('string', ['bytes'], sameText, textOf),
  define('string', ['timestamp'], 'string', ({ ns }: CelTimestamp) => formatTimestamp(ns)),
  define('string', ['duration'], 'string', ({ ns }: CelDuration) => formatDuration(ns)),
  define('bytes', ['bytes'], 'bytes', (value: Uint8Array) => value),
  define('bytes', ['string'], 'bytes', (text: string) => Buffer.from(text)),
  define('duration', ['duration'], 'duration', (value: CelDuration) => value),
  define('duration', ['string'], 'duration', (text: string) => {
    const ns = parseDuration(text);
    return ns === undefined
      ? new CelError(`invalid duration ${JSON.stringify(text.slice(0, 64))}`)
      : new CelDuration(ns);
  }),
  define('timestamp', ['timestamp'], 'timestamp', (value: CelTimestamp) => value),
  define('timestamp', ['string'], 'timestamp', (text: string) => {
    const ns = parseTimestamp(text);
    return ns === undefined
      ? new CelError(`invalid timestamp ${JSON.stringify(text.slice(0, 64))}`)
      : timestamp(ns);
  }),
  define('timestamp', ['int'], 'timestamp', (seconds: bigint) => timestamp(seconds * 1_000_000_000n)),
  define('dyn', ['any'], 'dyn', (value: CelValue) => value),
  define('type', ['any'], returns('type'), (value: CelValue) => new CelTypeValue(typeNameOf(value))),
];

export const OPERATORS: readonly Overload[] = [
  ...sums,
  ...products,
  ...relation('<', (order) => order < 0),
  ...relation('<=', (order) => order <= 0),
  ...relation('>', (order) => order > 0),
  ...relation('>=', (order) => order >= 0),
  define('!', ['bool'], 'bool', (value: boolean) => !value),
  ...containers,
  ...sizes,
  ...conversions,
];

/** Result of functions that return some of the items of a list of texts. */
export const textList: ListType = listOf(simple('string'), MOST_BYTES);
