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
const readString: Read<string> = (value) => (typeof value === 'string' ? value : undefined);
const readNumber: Read<number> = (value) => (typeof value === 'number' ? value : undefined);
const readBoolean: Read<boolean> = (value) => (typeof value === 'boolean' ? value : undefined);
const NO_LIST: readonly never[] = [];
const NO_SCHEMAS: ReadonlyMap<string, JsonSchema> = new Map();
const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : NO_LIST;
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : NO_LIST);

type Draft = { -readonly [Member in keyof JsonSchema]: JsonSchema[Member] };

/** Sets a member that is there. */
function set<N extends keyof Draft>(draft: Draft, name: N, value: Draft[N] | undefined): void {
  if (value !== undefined) draft[name] = value;
}

/** Reads a schema from its wire form; `prefix` is that of the platform's own members. What has the wrong type, which
 *  the decoder of definitions keeps out, counts as absent. */
export function readJsonSchema(value: unknown, prefix: string): JsonSchema {
  const members = isMembers(value) ? value : {};
  const { default: given } = members;
  const draft: Draft = {
    exclusiveMaximum: members['exclusiveMaximum'] === true,
    exclusiveMinimum: members['exclusiveMinimum'] === true,
    uniqueItems: members['uniqueItems'] === true,
    required: textsOf(members['required']),
    allOf: readSchemas(members['allOf'], prefix),
    oneOf: readSchemas(members['oneOf'], prefix),
    anyOf: readSchemas(members['anyOf'], prefix),
    properties: readSchemaMap(members['properties'], prefix) ?? NO_SCHEMAS,
    nullable: members['nullable'] === true,
    hasAdditionalItems: members['additionalItems'] !== undefined,
    hasExternalDocs: members['externalDocs'] !== undefined,
    hasExample: members['example'] !== undefined,
    embeddedResource: members[`${prefix}embedded-resource`] === true,
    intOrString: members[`${prefix}int-or-string`] === true,
    listMapKeys: textsOf(members[`${prefix}list-map-keys`]),
    validations: listOf(members[`${prefix}validations`]),
  };
  if (given !== null) set(draft, 'default', given);
  readTexts(draft, members, prefix);
  readLimits(draft, members);
  readInner(draft, members, prefix);
  return draft;
}

const TEXTS = ['type', 'format', 'title', 'description', 'pattern', 'id'] as const;

function readTexts(draft: Draft, members: Members, prefix: string): void {
  for (const name of TEXTS) set(draft, name, readText(members[name]));
  set(draft, 'ref', readString(members['$ref']));
  set(draft, 'listType', readString(members[`${prefix}list-type`]));
  set(draft, 'mapType', readString(members[`${prefix}map-type`]));
}

const LIMITS = [
  'maximum',
  'minimum',
  'maxLength',
  'minLength',
  'maxItems',
  'minItems',
  'multipleOf',
  'maxProperties',
  'minProperties',
] as const;

function readLimits(draft: Draft, members: Members): void {
  for (const name of LIMITS) set(draft, name, readNumber(members[name]));
  if (Array.isArray(members['enum'])) draft.enum = listOf(members['enum']);
}

function readInner(draft: Draft, members: Members, prefix: string): void {
  set(draft, 'preserveUnknownFields', readBoolean(members[`${prefix}preserve-unknown-fields`]));
  set(draft, 'items', readItems(members['items'], prefix));
  set(draft, 'not', readOne(members['not'], prefix));
  const { additionalProperties: additional } = members;
  set(draft, 'additionalProperties', readBoolean(additional) ?? readOne(additional, prefix));
  set(draft, 'patternProperties', readSchemaMap(members['patternProperties'], prefix));
  set(draft, 'definitions', readSchemaMap(members['definitions'], prefix));
  set(draft, 'dependencies', readDependencies(members['dependencies'], prefix));
}

const readOne = (value: unknown, prefix: string): JsonSchema | undefined =>
  isMembers(value) ? readJsonSchema(value, prefix) : undefined;

const readSchemas = (value: unknown, prefix: string): readonly JsonSchema[] =>
  Array.isArray(value) ? value.map((item) => readJsonSchema(item, prefix)) : NO_LIST;

const readItems = (value: unknown, prefix: string): JsonSchema['items'] =>
  Array.isArray(value) ? readSchemas(value, prefix) : readOne(value, prefix);

function readSchemaMap(value: unknown, prefix: string): ReadonlyMap<string, JsonSchema> | undefined {
  if (!isMembers(value)) return undefined;
  const read = new Map<string, JsonSchema>();
  for (const [name, member] of Object.entries(value)) {
    const found = readOne(member, prefix);
    if (found !== undefined) read.set(name, found);
  }
  return read;
}

function readDependencies(value: unknown, prefix: string): JsonSchema['dependencies'] | undefined {
  if (!isMembers(value)) return undefined;
  const read = new Map<string, JsonSchema | readonly string[]>();
  for (const [name, member] of Object.entries(value)) {
    const found = Array.isArray(member) ? textsOf(member) : readOne(member, prefix);
    if (found !== undefined) read.set(name, found);
  }
  return read;
}
