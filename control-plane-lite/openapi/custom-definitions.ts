/** Schemas of custom resources as definitions: as they are for OpenAPI 3; without what OpenAPI 2 cannot say, and what
 *  its clients stumble over, for OpenAPI 2. Pure. */
import { META_PACKAGE } from '#api/schema/registry.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Resource } from '../resources/contract.ts';
import type { SchemaObject } from './dialect.ts';
import { customDefinitionName, definitionName, type GroupVersionKind } from './names.ts';
import { type SchemaContext, TYPE_META } from './type-definitions.ts';

/** Keywords whose value is no schema and that both dialects have. `x-…` ones are kept as well. */
const KEPT: ReadonlySet<string> = new Set([
  'type',
  'format',
  'title',
  'description',
  'default',
  'enum',
  'required',
  'pattern',
  'maximum',
  'exclusiveMaximum',
  'minimum',
  'exclusiveMinimum',
  'multipleOf',
  'maxLength',
  'minLength',
  'maxItems',
  'minItems',
  'uniqueItems',
  'maxProperties',
  'minProperties',
  'example',
  'externalDocs',
]);

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isNullable = (schema: unknown): boolean => isObject(schema) && schema['nullable'] === true;

function membersIn2(properties: unknown, vocabulary: Vocabulary): SchemaObject {
  if (!isObject(properties)) return {};
  const members = Object.entries(properties).map(([name, schema]) => [name, schemaIn2(schema, vocabulary)]);
  return { properties: Object.fromEntries(members) };
}

/** Members that may be null count as optional: their clients would miss the null. */
function requiredIn2({ required, properties }: SchemaObject): SchemaObject {
  if (!Array.isArray(required)) return {};
  const members = isObject(properties) ? properties : {};
  const names = required.filter((name) => typeof name === 'string' && !isNullable(members[name]));
  return names.length === 0 ? {} : { required: names };
}

/** The schema in OpenAPI 2. */
function schemaIn2(schema: unknown, vocabulary: Vocabulary): SchemaObject {
  if (!isObject(schema)) return {};
  const prefix = vocabulary.schemaExtensionPrefix;
  const plain = Object.entries(schema).filter(([name]) => KEPT.has(name) || name.startsWith('x-'));
  const { required: _, ...kept }: Record<string, unknown> = Object.fromEntries(plain);
  // There is no null there: what may be null may be anything.
  if (isNullable(schema) || schema[`${prefix}int-or-string`] === true) {
    delete kept['type'];
    return kept;
  }
  if (schema[`${prefix}preserve-unknown-fields`] === true) {
    if (kept['type'] === 'array') delete kept['type'];
    return kept;
  }
  const { items, properties, additionalProperties } = schema;
  return {
    ...kept,
    ...requiredIn2(schema),
    ...membersIn2(properties, vocabulary),
    ...(isObject(items) ? { items: schemaIn2(items, vocabulary) } : {}),
    ...(isObject(additionalProperties)
      ? { additionalProperties: schemaIn2(additionalProperties, vocabulary) }
      : {}),
  };
}

const kindMark = (kind: GroupVersionKind, { schemaExtensionPrefix }: Vocabulary): SchemaObject => ({
  [`${schemaExtensionPrefix}group-version-kind`]: [kind],
});

function objectSchema(
  schema: object | undefined,
  context: SchemaContext,
  kind: GroupVersionKind,
): SchemaObject {
  const { vocabulary, dialect } = context;
  const given: SchemaObject = isObject(schema)
    ? schema
    : { [`${vocabulary.schemaExtensionPrefix}preserve-unknown-fields`]: true };
  const root = dialect.version === 2 ? schemaIn2(given, vocabulary) : given;
  const members = isObject(root['properties']) ? root['properties'] : {};
  const metaName = definitionName({ packageName: META_PACKAGE, typeName: 'ObjectMeta' }, vocabulary);
  const metadata = dialect.ref(metaName, { description: 'Name, namespace, labels and the other facts.' });
  return {
    ...root,
    type: 'object',
    properties: { ...members, ...TYPE_META, metadata },
    ...kindMark(kind, vocabulary),
  };
}

function listSchema(item: string, context: SchemaContext, kind: GroupVersionKind): SchemaObject {
  const { vocabulary, dialect } = context;
  const metaName = definitionName({ packageName: META_PACKAGE, typeName: 'ListMeta' }, vocabulary);
  return {
    description: `A list of objects of kind ${kind.kind.replace(/List$/, '')}.`,
    type: 'object',
    required: ['items'],
    properties: {
      ...TYPE_META,
      metadata: dialect.ref(metaName),
      items: { type: 'array', items: dialect.ref(item) },
    },
    ...kindMark(kind, vocabulary),
  };
}

/** The definitions of a custom resource and of its list. */
export function customDefinitions(
  { info }: Resource,
  schema: object | undefined,
  context: SchemaContext,
): readonly (readonly [string, SchemaObject])[] {
  const { group, version, kind, listKind } = info;
  const object = { group, version, kind };
  const list = { group, version, kind: listKind };
  const name = customDefinitionName(object);
  return [
    [name, objectSchema(schema, context, object)],
    [customDefinitionName(list), listSchema(name, context, list)],
  ];
}
