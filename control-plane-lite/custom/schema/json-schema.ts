/** JSON schema of a definition, parsed from the wire into one internal shape: extension fields have short
 *  names here, whatever prefix they have on the wire. Pure. Source: apiextensions/v1, JSONSchemaProps. */

import type { Int64 } from '#api/kit/int64.ts';
import { isMutableObject } from '#api/kit/object.ts';
import { finish, type Steps } from '#api/kit/steps.ts';
import { type Members } from '../../resources/view.ts';

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
  readonly maxLength?: Int64;
  readonly minLength?: Int64;
  readonly pattern?: string;
  readonly maxItems?: Int64;
  readonly minItems?: Int64;
  readonly uniqueItems: boolean;
  readonly multipleOf?: number;
  readonly enum?: readonly unknown[];
  readonly maxProperties?: Int64;
  readonly minProperties?: Int64;
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
const readNumber: Read<number> = (value) =>
  typeof value === 'number' || typeof value === 'bigint' ? Number(value) : undefined;
const readSize: Read<Int64> = (value) => (typeof value === 'bigint' ? value : readNumber(value));
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
export const readJsonSchema = (value: unknown, prefix: string): JsonSchema =>
  finish(readSchemaSteps(value, prefix));

/** The same in steps, one for each schema in the schema. */
export function* readSchemaSteps(value: unknown, prefix: string): Steps<JsonSchema> {
  yield;
  const members = isMutableObject(value) ? value : {};
  const { default: given } = members;
  const draft: Draft = {
    exclusiveMaximum: members['exclusiveMaximum'] === true,
    exclusiveMinimum: members['exclusiveMinimum'] === true,
    uniqueItems: members['uniqueItems'] === true,
    required: textsOf(members['required']),
    allOf: yield* readSchemas(members['allOf'], prefix),
    oneOf: yield* readSchemas(members['oneOf'], prefix),
    anyOf: yield* readSchemas(members['anyOf'], prefix),
    properties: (yield* readSchemaMap(members['properties'], prefix)) ?? NO_SCHEMAS,
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
  yield* readInner(draft, members, prefix);
  return draft;
}

const TEXTS = ['type', 'format', 'title', 'description', 'pattern', 'id'] as const;

function readTexts(draft: Draft, members: Members, prefix: string): void {
  for (const name of TEXTS) set(draft, name, readText(members[name]));
  set(draft, 'ref', readString(members['$ref']));
  set(draft, 'listType', readString(members[`${prefix}list-type`]));
  set(draft, 'mapType', readString(members[`${prefix}map-type`]));
}

const BOUNDS = ['maximum', 'minimum', 'multipleOf'] as const;
const SIZES = ['maxLength', 'minLength', 'maxItems', 'minItems', 'maxProperties', 'minProperties'] as const;

function readLimits(draft: Draft, members: Members): void {
  for (const name of BOUNDS) set(draft, name, readNumber(members[name]));
  for (const name of SIZES) set(draft, name, readSize(members[name]));
  if (Array.isArray(members['enum'])) draft.enum = listOf(members['enum']);
}

function* readInner(draft: Draft, members: Members, prefix: string): Steps<void> {
  set(draft, 'preserveUnknownFields', readBoolean(members[`${prefix}preserve-unknown-fields`]));
  set(draft, 'items', yield* readItems(members['items'], prefix));
  set(draft, 'not', yield* readOne(members['not'], prefix));
  const { additionalProperties: additional } = members;
  set(draft, 'additionalProperties', readBoolean(additional) ?? (yield* readOne(additional, prefix)));
  set(draft, 'patternProperties', yield* readSchemaMap(members['patternProperties'], prefix));
  set(draft, 'definitions', yield* readSchemaMap(members['definitions'], prefix));
  set(draft, 'dependencies', yield* readDependencies(members['dependencies'], prefix));
}

function* readOne(value: unknown, prefix: string): Steps<JsonSchema | undefined> {
  return isMutableObject(value) ? yield* readSchemaSteps(value, prefix) : undefined;
}

function* readSchemas(value: unknown, prefix: string): Steps<readonly JsonSchema[]> {
  if (!Array.isArray(value)) return NO_LIST;
  const read: JsonSchema[] = [];
  for (const item of value) read.push(yield* readSchemaSteps(item, prefix));
  return read;
}

function* readItems(value: unknown, prefix: string): Steps<JsonSchema['items']> {
  return Array.isArray(value) ? yield* readSchemas(value, prefix) : yield* readOne(value, prefix);
}

function* readSchemaMap(value: unknown, prefix: string): Steps<ReadonlyMap<string, JsonSchema> | undefined> {
  if (!isMutableObject(value)) return undefined;
  const read = new Map<string, JsonSchema>();
  for (const [name, member] of Object.entries(value)) {
    const found = yield* readOne(member, prefix);
    if (found !== undefined) read.set(name, found);
  }
  return read;
}

function* readDependencies(value: unknown, prefix: string): Steps<JsonSchema['dependencies'] | undefined> {
  if (!isMutableObject(value)) return undefined;
  const read = new Map<string, JsonSchema | readonly string[]>();
  for (const [name, member] of Object.entries(value)) {
    const found = Array.isArray(member) ? textsOf(member) : yield* readOne(member, prefix);
    if (found !== undefined) read.set(name, found);
  }
  return read;
}
