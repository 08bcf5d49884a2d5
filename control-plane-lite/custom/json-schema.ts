/** The schema of a definition as it is on the wire, read into one shape for all that work with it: the platform's own
 *  members have short names here, whatever prefix they have on the wire. Pure.
 *  Source: apiextensions/v1, JSONSchemaProps. */
import { isMembers, type Members } from '../resources/view.ts';

export interface JsonSchema {
  readonly id?: string;
  readonly ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly title?: string;
  readonly description?: string;
  /** `null` is no default. */
  readonly default?: unknown;
  readonly maximum?: number;
  readonly exclusiveMaximum: boolean;
  readonly minimum?: number;
  readonly exclusiveMinimum: boolean;
  readonly maxLength?: number;
  readonly minLength?: number;
  readonly pattern?: string;
  readonly maxItems?: number;
  readonly minItems?: number;
  readonly uniqueItems: boolean;
  readonly multipleOf?: number;
  readonly enum?: readonly unknown[];
  readonly maxProperties?: number;
  readonly minProperties?: number;
  readonly required: readonly string[];
  readonly items?: JsonSchema | readonly JsonSchema[];
  readonly allOf: readonly JsonSchema[];
  readonly oneOf: readonly JsonSchema[];
  readonly anyOf: readonly JsonSchema[];
  readonly not?: JsonSchema;
  readonly properties: ReadonlyMap<string, JsonSchema>;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly nullable: boolean;
  /** Members that no structural schema has, as far as they are there: `$schema` is none of them. */
  readonly patternProperties?: ReadonlyMap<string, JsonSchema>;
  readonly definitions?: ReadonlyMap<string, JsonSchema>;
  readonly dependencies?: ReadonlyMap<string, JsonSchema | readonly string[]>;
  readonly hasAdditionalItems: boolean;
  readonly hasExternalDocs: boolean;
  readonly hasExample: boolean;
  readonly preserveUnknownFields?: boolean;
  readonly embeddedResource: boolean;
  readonly intOrString: boolean;
  readonly listMapKeys: readonly string[];
  readonly listType?: string;
  readonly mapType?: string;
  readonly validations: readonly unknown[];
}

export const isSchemaList = (items: JsonSchema['items']): items is readonly JsonSchema[] =>
  Array.isArray(items);

/** The one schema of all items, if it is one. */
export const itemSchema = ({ items }: JsonSchema): JsonSchema | undefined =>
  items === undefined || isSchemaList(items) ? undefined : items;

type Read<T> = (value: unknown) => T | undefined;

const readText: Read<string> = (value) => (typeof value === 'string' && value !== '' ? value : undefined);
const readNumber: Read<number> = (value) => (typeof value === 'number' ? value : undefined);
const isTrue = (value: unknown): boolean => value === true;
const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** `{name: value}`, or nothing for what isn't there. */
function optional<N extends string, T>(name: N, value: T | undefined): { readonly [K in N]?: T } {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one member of this name, or none
  return (value === undefined ? {} : { [name]: value }) as { readonly [K in N]?: T };
}

/** Reads a schema from its wire form; `prefix` is that of the platform's own members. What has the wrong type, which
 *  the decoder of definitions keeps out, counts as absent. */
export function readJsonSchema(value: unknown, prefix: string): JsonSchema {
  const members = isMembers(value) ? value : {};
  const schemas = (name: string): readonly JsonSchema[] =>
    listOf(members[name]).map((item) => readJsonSchema(item, prefix));
  const schema: Read<JsonSchema> = (given) => (isMembers(given) ? readJsonSchema(given, prefix) : undefined);
  return {
    ...readValueRules(members),
    ...readForbidden(members, schema),
    ...readExtensions(members, prefix),
    ...optional('title', readText(members['title'])),
    ...optional('description', readText(members['description'])),
    ...optional('default', members['default'] === null ? undefined : members['default']),
    ...optional('items', readItems(members['items'], prefix)),
    allOf: schemas('allOf'),
    oneOf: schemas('oneOf'),
    anyOf: schemas('anyOf'),
    ...optional('not', schema(members['not'])),
    properties: readSchemaMap(members['properties'], schema) ?? new Map<string, JsonSchema>(),
    ...optional('additionalProperties', readSchemaOrBoolean(members['additionalProperties'], schema)),
    nullable: isTrue(members['nullable']),
  };
}

function readValueRules(members: Members) {
  return {
    ...optional('type', readText(members['type'])),
    ...optional('format', readText(members['format'])),
    ...optional('maximum', readNumber(members['maximum'])),
    exclusiveMaximum: isTrue(members['exclusiveMaximum']),
    ...optional('minimum', readNumber(members['minimum'])),
    exclusiveMinimum: isTrue(members['exclusiveMinimum']),
    ...optional('maxLength', readNumber(members['maxLength'])),
    ...optional('minLength', readNumber(members['minLength'])),
    ...optional('pattern', readText(members['pattern'])),
    ...optional('maxItems', readNumber(members['maxItems'])),
    ...optional('minItems', readNumber(members['minItems'])),
    uniqueItems: isTrue(members['uniqueItems']),
    ...optional('multipleOf', readNumber(members['multipleOf'])),
    ...optional('enum', Array.isArray(members['enum']) ? listOf(members['enum']) : undefined),
    ...optional('maxProperties', readNumber(members['maxProperties'])),
    ...optional('minProperties', readNumber(members['minProperties'])),
    required: textsOf(members['required']),
  };
}

function readForbidden(members: Members, schema: Read<JsonSchema>) {
  return {
    ...optional('id', readText(members['id'])),
    ...optional('ref', typeof members['$ref'] === 'string' ? members['$ref'] : undefined),
    ...optional('patternProperties', readSchemaMap(members['patternProperties'], schema)),
    ...optional('definitions', readSchemaMap(members['definitions'], schema)),
    ...optional('dependencies', readDependencies(members['dependencies'], schema)),
    hasAdditionalItems: members['additionalItems'] !== undefined,
    hasExternalDocs: members['externalDocs'] !== undefined,
    hasExample: members['example'] !== undefined,
  };
}

function readExtensions(members: Members, prefix: string) {
  const own = (name: string): unknown => members[`${prefix}${name}`];
  const preserve = own('preserve-unknown-fields');
  return {
    ...optional('preserveUnknownFields', typeof preserve === 'boolean' ? preserve : undefined),
    embeddedResource: isTrue(own('embedded-resource')),
    intOrString: isTrue(own('int-or-string')),
    listMapKeys: textsOf(own('list-map-keys')),
    ...optional('listType', typeof own('list-type') === 'string' ? String(own('list-type')) : undefined),
    ...optional('mapType', typeof own('map-type') === 'string' ? String(own('map-type')) : undefined),
    validations: listOf(own('validations')),
  };
}

function readItems(value: unknown, prefix: string): JsonSchema['items'] {
  if (Array.isArray(value)) return value.map((item) => readJsonSchema(item, prefix));
  return isMembers(value) ? readJsonSchema(value, prefix) : undefined;
}

function readSchemaOrBoolean(value: unknown, schema: Read<JsonSchema>): JsonSchema | boolean | undefined {
  return typeof value === 'boolean' ? value : schema(value);
}

function readSchemaMap(
  value: unknown,
  schema: Read<JsonSchema>,
): ReadonlyMap<string, JsonSchema> | undefined {
  if (!isMembers(value)) return undefined;
  const read = new Map<string, JsonSchema>();
  for (const [name, member] of Object.entries(value)) {
    const found = schema(member);
    if (found !== undefined) read.set(name, found);
  }
  return read;
}

function readDependencies(
  value: unknown,
  schema: Read<JsonSchema>,
): ReadonlyMap<string, JsonSchema | readonly string[]> | undefined {
  if (!isMembers(value)) return undefined;
  const read = new Map<string, JsonSchema | readonly string[]>();
  for (const [name, member] of Object.entries(value)) {
    const found = Array.isArray(member) ? textsOf(member) : schema(member);
    if (found !== undefined) read.set(name, found);
  }
  return read;
}
