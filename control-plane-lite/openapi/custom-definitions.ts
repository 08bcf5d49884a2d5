/** Schemas of custom resources as definitions: complete for OpenAPI 3; for OpenAPI 2 without what it cannot
 *  express and what its clients cannot process. Pure. */
import { isObject } from '#api/kit/object.ts';
import { META_PACKAGE } from '#api/schema/registry.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Resource } from '../resources/contract.ts';
import { OBJECT_METADATA } from './describe.ts';
import type { SchemaObject } from './dialect.ts';
import { customDefinitionName, definitionName, type GroupVersionKind } from './names.ts';
import { type SchemaContext, TYPE_META } from './type-definitions.ts';

/** Keywords of both dialects whose values are not schemas. `x-…` extensions are retained as well. */
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
  // OpenAPI 2 has no null: a nullable value gets no type. Nor does a value that preserves unknown fields: clients reject
  // unnamed members of a value with a type.
  const isAnything = (['int-or-string', 'preserve-unknown-fields'] as const).some(
    (mark) => schema[`${prefix}${mark}`] === true,
  );
  if (isNullable(schema) || isAnything) {
    delete kept['type'];
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

/** Maps subschemas by name. */
function mapped(value: unknown, make: (schema: SchemaObject) => SchemaObject): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, schema]) => [name, isObject(schema) ? make(schema) : schema]),
  );
}

/** OpenAPI 2 clients reject members that are not listed as soon as one is listed, so such objects list none. */
const isOpenIn2 = (schema: SchemaObject, { vocabulary, dialect }: SchemaContext): boolean =>
  dialect.version === 2 && schema[`${vocabulary.schemaExtensionPrefix}preserve-unknown-fields`] === true;

/** The schema, with the members that every object has where it holds whole objects. */
function withEmbedded(schema: SchemaObject, context: SchemaContext): SchemaObject {
  const { vocabulary, dialect } = context;
  const inner = (value: SchemaObject): SchemaObject => withEmbedded(value, context);
  const { items, properties, additionalProperties } = schema;
  const walked = {
    ...schema,
    ...(isObject(items) ? { items: inner(items) } : {}),
    ...(isObject(properties) ? { properties: mapped(properties, inner) } : {}),
    ...(isObject(additionalProperties) ? { additionalProperties: inner(additionalProperties) } : {}),
  };
  const prefix = vocabulary.schemaExtensionPrefix;
  if (schema[`${prefix}embedded-resource`] !== true || isOpenIn2(schema, context)) return walked;
  const metaName = definitionName({ packageName: META_PACKAGE, typeName: 'ObjectMeta' }, vocabulary);
  const metadata = dialect.ref(metaName, { description: OBJECT_METADATA });
  const members = isObject(walked.properties) ? walked.properties : {};
  return { ...walked, properties: { ...members, ...TYPE_META, metadata } };
}

function objectSchema(
  schema: object | undefined,
  context: SchemaContext,
  kind: GroupVersionKind,
): SchemaObject {
  const { vocabulary, dialect } = context;
  const prefix = vocabulary.schemaExtensionPrefix;
  if (!isObject(schema) || isOpenIn2(schema, context)) {
    return { type: 'object', ...kindMark(kind, vocabulary) };
  }
  const own = dialect.version === 2 ? schemaIn2(schema, vocabulary) : schema;
  const whole = withEmbedded({ ...own, [`${prefix}embedded-resource`]: true }, context);
  const { [`${prefix}embedded-resource`]: _, ...root } = whole;
  return { ...root, type: 'object', ...kindMark(kind, vocabulary) };
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
