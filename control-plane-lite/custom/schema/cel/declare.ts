/** Types of a structural schema in the expression language, with the bounds of sizes. Pure. Source: upstream's
 *  `SchemaDeclType`, release 1.24. */
import { itemSchema, type JsonSchema } from '../json-schema.ts';
import {
  BOOL,
  type CelType,
  DYN,
  INT,
  MOST_BYTES,
  type ObjectField,
  type ObjectType,
  STRING,
  simple,
} from './types.ts';

const KEYWORDS: ReadonlySet<string> = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

const ESCAPES: Readonly<Record<string, string>> = { '.': '__dot__', '-': '__dash__', '/': '__slash__' };

/** Returns the name of a field in expressions; undefined if it cannot be named. */
export function escapeName(name: string): string | undefined {
  if (KEYWORDS.has(name)) return `__${name}__`;
  let escaped = '';
  for (let index = 0; index < name.length; index += 1) {
    const char = name.charAt(index);
    if (char === '_' && name.charAt(index + 1) === '_') {
      escaped += '__underscores__';
      index += 1;
    } else escaped += ESCAPES[char] ?? char;
  }
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(escaped) ? escaped : undefined;
}

/** Smallest size of a value in a request, with its separator. */
function leastBytes({ type, intOrString }: JsonSchema): number {
  if (intOrString) return 2;
  return type === 'array' || type === 'object' || type === 'string' ? 3 : 2;
}

const bound = (limit: JsonSchema['maxItems'], least: number): number =>
  limit === undefined ? Math.ceil(MOST_BYTES / least) : Math.min(Number(limit), MOST_BYTES);

function textType({ format, maxLength, enum: values }: JsonSchema): CelType {
  if (format === 'duration') return simple('duration');
  if (format === 'date' || format === 'date-time') return simple('timestamp');
  // A character has up to 4 bytes.
  const longest = values?.reduce<number>((most, each) => Math.max(most, String(each).length), 0);
  const most =
    longest ?? (maxLength === undefined ? MOST_BYTES : Math.min(Number(maxLength) * 4, MOST_BYTES));
  return { kind: format === 'byte' ? 'bytes' : 'string', most };
}

function listType(schema: JsonSchema, at: number): CelType | undefined {
  const items = itemSchema(schema);
  const item = items === undefined ? undefined : declareType(items, at);
  if (items === undefined || item === undefined) return undefined;
  const most = bound(schema.maxItems, leastBytes(items));
  const base = { kind: 'list', item, most } as const;
  if (schema.listType === 'set') return { ...base, as: 'set' };
  return schema.listType === 'map' ? { ...base, as: schema.listMapKeys } : base;
}

const META: ObjectType = {
  kind: 'object',
  fields: new Map([
    ['name', { name: 'name', type: { kind: 'string', most: 253 } }],
    ['generateName', { name: 'generateName', type: { kind: 'string', most: 253 } }],
  ]),
};
const OF_OBJECTS: readonly ObjectField[] = [
  { name: 'apiVersion', type: STRING },
  { name: 'kind', type: STRING },
  { name: 'metadata', type: META },
];

function objectType(schema: JsonSchema, isRoot: boolean, at: number): CelType | undefined {
  const { additionalProperties: additional } = schema;
  if (typeof additional === 'object' && schema.properties.size === 0) {
    const value = declareType(additional, at);
    if (value === undefined) return undefined;
    // A key has its quotes and a colon.
    const most = bound(schema.maxProperties, leastBytes(additional) + 4);
    return { kind: 'map', key: STRING, value, most };
  }
  const fields = new Map<string, ObjectField>();
  for (const [name, child] of schema.properties) {
    const escaped = escapeName(name);
    const type = declareType(child, at);
    if (escaped !== undefined && type !== undefined) fields.set(escaped, { name, type });
  }
  if (isRoot || schema.embeddedResource) for (const field of OF_OBJECTS) fields.set(field.name, field);
  return { kind: 'object', fields };
}

const DEEPEST = 100;

/** Returns the type; undefined for values that rules cannot see. */
export function declareType(schema: JsonSchema, depth = 0, isRoot = false): CelType | undefined {
  if (depth > DEEPEST) return undefined;
  if (schema.intOrString) return DYN;
  if (schema.type === 'boolean') return BOOL;
  if (schema.type === 'integer') return INT;
  if (schema.type === 'number') return simple('double');
  if (schema.type === 'string') return textType(schema);
  if (schema.type === 'array') return listType(schema, depth + 1);
  return schema.type === 'object' ? objectType(schema, isRoot, depth + 1) : undefined;
}
