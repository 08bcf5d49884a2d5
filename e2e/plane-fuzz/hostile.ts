/** Values that programs stumble over, and typed objects that have some of them. */
import { type JsonField, jsonFields, type Scalar, shapeOf, type TypeName } from '#api/schema/registry.ts';
import type { Random } from '../../testing/random.ts';

/** Stands for a number that `JSON.stringify` can't write; `textOf` puts the number in its place. */
const NUMBER_MARK = '@number:';
export const numberText = (text: string): string => NUMBER_MARK + text;

export const chance = (random: Random, percent: number): boolean => random.below(100) < percent;

const STRINGS: readonly string[] = [
  '',
  ' ',
  '.',
  '..',
  '../../etc/passwd',
  '/',
  'a/b/c',
  'A',
  'a'.repeat(64),
  'a'.repeat(254),
  'a.'.repeat(120),
  'ä',
  '\u0000',
  'a\u0000b',
  '\n',
  '\r\nX: y',
  '\ud800',
  '\udfff\ud800',
  '\u2028',
  '😀',
  '\u202etxt.exe',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'null',
  'true',
  'NaN',
  '-0',
  '1e999',
  '0x10',
  '010',
  '%s%n',
  '%2f',
  '~0~1~2',
  '*',
  '-',
  '--',
  'a=b,c!=d',
  '(((((((((((',
  '[a-z',
  '^(a+)+$',
  `${'a'.repeat(40)}!`,
  '$(VAR)$$(VAR)',
  '2026-01-01T00:00:00Z',
  '2026-13-45T99:99:99Z',
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:60.999999999Z',
  '-292277022399-01-01T00:00:00Z',
  '1Ei',
  '-1',
  '0.0000000001n',
  '1e1000000',
  '1e-1000000',
  '99999999999999999999999999999999E',
  '.5m',
  '1h',
  '-9999999h',
  '1ns',
  '1.2.3.4',
  '300.1.1.1',
  '1.2.3.4/33',
  '::ffff:1.2.3.4',
  '::/0',
  '10.0.0.0/24',
  'None',
  '* * * * *',
  '*/0 * * * *',
  '0 0 31 2 *',
  '0-4294967295/1 * * * *',
  '@every 1ns',
  'TZ=Nowhere * * * * *',
  'https://user:pass@[::1]:99999/a?b#c',
  'v1',
  'apps/v1',
  'AAEC',
  'not base64!',
  'f:metadata',
];

const NUMBERS: readonly unknown[] = [
  0,
  1,
  -1,
  80,
  65_535,
  65_536,
  2 ** 31 - 1,
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 53,
  0.5,
  1e-7,
  1e308,
  numberText('-0'),
  numberText('1e400'),
  numberText('-1e400'),
  numberText('9223372036854775807'),
  numberText('9223372036854775808'),
  numberText('9007199254740993'),
  numberText('0.30000000000000000000000000000000004'),
  numberText('1E5'),
  numberText(`1${'0'.repeat(400)}`),
];

const OTHERS: readonly unknown[] = [null, true, false, [], {}, [null], [[]], { '': '' }, [{}]];

/** Anything. */
export function hostile(random: Random): unknown {
  const kind = random.below(20);
  if (kind < 9) return random.pick(STRINGS);
  if (kind < 14) return random.pick(NUMBERS);
  // A copy, which the caller may change.
  if (kind < 18) return structuredClone(random.pick(OTHERS));
  if (kind === 18) return nested(random.pick([3, 40, 99, 101, 300]), chance(random, 50));
  return wide(random.pick([10, 200, 3000]));
}

export const hostileText = (random: Random): string => random.pick(STRINGS);

/** A member name: mostly one that is used somewhere. */
export function hostileName(random: Random): string {
  const names = [
    'name',
    'namespace',
    'uid',
    'spec',
    'status',
    'metadata',
    'kind',
    'items',
    'apiVersion',
    '$patch',
  ];
  return random.pick(chance(random, 40) ? names : STRINGS);
}

function nested(depth: number, list: boolean): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = list ? [value] : { a: value };
  return value;
}

const wide = (count: number): unknown =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, index]));

/** Words that are right in some places. */
const WORDS = [
  'a',
  'main',
  'x.example.com',
  'busybox',
  'sample',
  'default',
  'example.com/a',
  'http',
  'web-0',
  '80',
];

function scalarOf(random: Random, scalar: Scalar): unknown {
  if (chance(random, 5)) return hostile(random);
  switch (scalar) {
    case 'string':
      return random.pick(chance(random, 70) ? WORDS : STRINGS);
    case 'bool':
      return chance(random, 50);
    case 'int32':
    case 'int64':
    case 'uint32':
    case 'uint64':
    case 'float':
    case 'double':
      return chance(random, 70) ? random.below(100) : random.pick(NUMBERS);
    case 'bytes':
      return random.pick(['', 'AAEC', 'dmFsdWU=', 'dmFsdWU', '====', 'a'.repeat(2000)]);
    case 'Time':
      return random.pick(['2026-01-01T00:00:00Z', null, '2026-01-01T00:00:00+14:00', 'x']);
    case 'MicroTime':
      return random.pick(['2026-01-01T00:00:00.000001Z', null, 1]);
    case 'Duration':
      return random.pick(['1h2m3s', '0', '-1s', '1e5s', 5]);
    case 'Quantity':
    case 'QuantityValue':
      return random.pick(['1', '100m', '1Gi', 5, 0.1, '1e3', '-5', '1.5Ki', '12E', 'x']);
    case 'IntOrString':
      return random.pick([1, '50%', 'http', '101%', '-1', 70_000, '']);
    case 'any':
    case 'RawExtension':
      return structuredClone(
        random.pick([{ a: 1 }, { apiVersion: 'v1', kind: 'Pod' }, 'text', 5, null, [1]]),
      );
    case 'FieldsV1':
      return fieldsOf(random, 3);
    default:
      return scalar satisfies never;
  }
}

const FIELD_KEYS = [
  '.',
  'f:metadata',
  'f:spec',
  'f:data',
  'f:labels',
  'k:{"name":"a"}',
  'k:{',
  'k:{"port":1e400}',
  'v:"x"',
  'v:',
  'i:0',
  'i:-1',
  'i:99999999999',
  'f:',
  'x:y',
  '',
];

/** Owned fields as `managedFields` have them, or nearly so. */
export function fieldsOf(random: Random, depth: number): unknown {
  if (depth === 0 || chance(random, 8)) return chance(random, 80) ? {} : hostile(random);
  const count = random.below(4);
  return Object.fromEntries(
    Array.from({ length: count }, () => [random.pick(FIELD_KEYS), fieldsOf(random, depth - 1)]),
  );
}

/** A value of a field: of its type, mostly. */
export function valueOf(random: Random, type: string, packageName: string, depth: number): unknown {
  if (chance(random, 2)) return hostile(random);
  const shape = shapeOf(type, packageName);
  switch (shape.kind) {
    case 'scalar':
      return scalarOf(random, shape.scalar);
    case 'list':
      return Array.from({ length: depth > 0 ? random.below(3) : 0 }, () =>
        valueOf(random, shape.element, packageName, depth - 1),
      );
    case 'map':
      return Object.fromEntries(
        Array.from({ length: depth > 0 ? random.below(3) : 0 }, () => [
          random.pick(chance(random, 70) ? WORDS : STRINGS),
          valueOf(random, shape.element, packageName, depth - 1),
        ]),
      );
    case 'struct':
      return depth <= 0 ? {} : structOf(random, shape.name, depth - 1);
    default:
      return shape satisfies never;
  }
}

/** An object with some members of the type. */
export function structOf(random: Random, name: TypeName, depth: number): Readonly<Record<string, unknown>> {
  const fields = jsonFields(name);
  const percent = random.pick([10, 30, 60]);
  const chosen = fields.filter(() => chance(random, percent));
  return Object.fromEntries(chosen.map((field) => [field.json, memberOf(random, field, depth)]));
}

export function memberOf(random: Random, field: JsonField, depth: number): unknown {
  if (field.enum !== undefined && chance(random, 80)) return random.pick(field.enum);
  return valueOf(random, field.type, field.packageName, depth);
}

/** Numbers that only a text can have, in place of what stands for them. */
export const textOf = (value: unknown): string =>
  // A lone surrogate is written as an escape.
  (JSON.stringify(value) ?? 'null').replaceAll(/"@number:([^"]*)"/g, '$1');
