/** General validation of a definition's schema at every depth. Pure; every validation error has its path.
 *  Source: apiextensions/v1, validation of CustomResourceDefinition. */

import type { Steps } from '#api/kit/steps.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import { isSchemaList, type JsonSchema } from './json-schema.ts';
import { validateListRules } from './list-rules.ts';

export interface RuleOptions {
  /** Prefix of the platform's own members. */
  readonly prefix: string;
  /** Whether rules in the expression language may be given. */
  readonly allowExpressions: boolean;
}

const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string'];
const MAP_TYPES = ['atomic', 'granular'];
const META_MEMBERS: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/** Position of a schema, as far as its rules depend on it. */
interface Place {
  readonly isRoot: boolean;
  /** Whether the schema describes apiVersion, kind or metadata. */
  readonly insideMeta: boolean;
  /** Why there may be no default. */
  readonly noDefault?: string;
}

const ROOT: Place = { isRoot: true, insideMeta: false };

/** All errors of a schema and of those in it, structural or not; a step for each of them. */
export function validateSchemaRules(
  errors: FieldErrors,
  schema: JsonSchema,
  path: string,
  options: RuleOptions,
): Steps<void> {
  return visit(errors, schema, path, ROOT, options);
}

function* visit(
  errors: FieldErrors,
  schema: JsonSchema,
  path: string,
  place: Place,
  options: RuleOptions,
): Steps<void> {
  yield;
  validateForbidden(errors, schema, path, place, options);
  validateTypes(errors, schema, path, options);
  validateListRules(errors, schema, path, options.prefix);
  if (schema.validations.length > 0 && !options.allowExpressions) {
    errors.forbidden(
      `${path}.${options.prefix}validations`,
      'rules in expressions are not enabled on this server',
    );
  }
  const inner: Place = { ...place, isRoot: false };
  yield* visitMembers(errors, schema, path, place, options);
  const each = (child: JsonSchema, at: string): Steps<void> => visit(errors, child, at, inner, options);
  if (schema.not !== undefined) yield* each(schema.not, `${path}.not`);
  for (const word of ['allOf', 'oneOf', 'anyOf'] as const) {
    for (const [index, child] of schema[word].entries()) yield* each(child, `${path}.${word}[${index}]`);
  }
  for (const word of ['definitions', 'patternProperties'] as const) {
    for (const [name, child] of schema[word] ?? []) yield* each(child, `${path}.${word}[${name}]`);
  }
  for (const [name, child] of schema.dependencies ?? []) {
    if (!isNames(child)) yield* each(child, `${path}.dependencies[${name}]`);
  }
  const { items } = schema;
  if (items === undefined) return;
  if (!isSchemaList(items)) {
    yield* each(items, `${path}.items`);
    return;
  }
  for (const [index, child] of items.entries()) yield* each(child, `${path}.items[${index}]`);
}

const isNames = (value: JsonSchema | readonly string[]): value is readonly string[] => Array.isArray(value);

function* visitMembers(
  errors: FieldErrors,
  schema: JsonSchema,
  path: string,
  place: Place,
  options: RuleOptions,
): Steps<void> {
  for (const [name, child] of schema.properties) {
    const isMeta = (place.isRoot || schema.embeddedResource) && META_MEMBERS.has(name);
    const inner: Place = {
      ...place,
      isRoot: false,
      insideMeta: place.insideMeta || isMeta,
      ...(isMeta && place.isRoot ? { noDefault: `in top-level ${name}` } : {}),
    };
    yield* visit(errors, child, `${path}.properties[${name}]`, inner, options);
  }
  const additional = schema.additionalProperties;
  if (additional === undefined) return;
  if (schema.properties.size > 0 && additional !== true) {
    errors.forbidden(
      `${path}.additionalProperties`,
      'additionalProperties and properties exclude each other',
    );
  }
  if (typeof additional === 'boolean') return;
  const noDefault = 'inside additionalProperties that apply to object metadata';
  const inner: Place = { ...place, isRoot: false, ...(place.insideMeta ? { noDefault } : {}) };
  yield* visit(errors, additional, `${path}.additionalProperties`, inner, options);
}

function validateForbidden(
  errors: FieldErrors,
  schema: JsonSchema,
  path: string,
  place: Place,
  { prefix }: RuleOptions,
): void {
  const unsupported = (member: string): void =>
    errors.forbidden(`${path}.${member}`, `${member} is not supported`);
  if (schema.id !== undefined) unsupported('id');
  if (schema.hasAdditionalItems) unsupported('additionalItems');
  if ((schema.patternProperties?.size ?? 0) > 0) unsupported('patternProperties');
  if ((schema.definitions?.size ?? 0) > 0) unsupported('definitions');
  if (schema.dependencies !== undefined) unsupported('dependencies');
  if (schema.ref !== undefined) unsupported('$ref');
  if (schema.uniqueItems) {
    errors.forbidden(
      `${path}.uniqueItems`,
      'must not be true: checking it takes time quadratic in the length of the list',
    );
  }
  if (schema.items !== undefined && isSchemaList(schema.items)) {
    errors.forbidden(`${path}.items`, 'must be one schema, not a list of schemas');
  }
  if (schema.default !== undefined && place.noDefault !== undefined) {
    errors.forbidden(`${path}.default`, `must not be set ${place.noDefault}`);
  }
  if (place.insideMeta && schema.embeddedResource) {
    errors.forbidden(`${path}.${prefix}embedded-resource`, 'must not be used inside of object metadata');
  }
}

function validateTypes(errors: FieldErrors, schema: JsonSchema, path: string, { prefix }: RuleOptions): void {
  const { type, mapType, preserveUnknownFields } = schema;
  if (type === 'null') {
    errors.forbidden(`${path}.type`, 'type cannot be null; use nullable instead');
  } else if (type !== undefined && !TYPES.includes(type)) errors.unsupported(`${path}.type`, type, TYPES);
  if (preserveUnknownFields === false) {
    errors.invalid(`${path}.${prefix}preserve-unknown-fields`, false, 'must be true or absent');
  }
  if (mapType === undefined) return;
  requireType(errors, schema, 'object', path, `${prefix}map-type`);
  if (!MAP_TYPES.includes(mapType)) errors.unsupported(`${path}.${prefix}map-type`, mapType, MAP_TYPES);
}

/** The type that a member of the schema needs. */
function requireType(
  errors: FieldErrors,
  { type }: JsonSchema,
  wanted: string,
  path: string,
  member: string,
): void {
  const detail = `must be ${wanted} if ${member} is set`;
  if (type === undefined) errors.required(`${path}.type`, detail);
  else if (type !== wanted) errors.invalid(`${path}.type`, type, detail);
}

/** Members of the root schema that keep their meaning when the status is checked apart from the rest. */
const ROOT_MEMBERS: readonly (keyof JsonSchema)[] = [
  'allOf',
  'anyOf',
  'oneOf',
  'enum',
  'not',
  'additionalProperties',
];

/** FieldErrors of the root of a schema. */
export function validateRoot(
  errors: FieldErrors,
  schema: JsonSchema,
  path: string,
  hasStatusPart: boolean,
): void {
  if (schema.nullable) errors.forbidden(`${path}.nullable`, 'must not be true at the root');
  if (!hasStatusPart) return;
  if (schema.type !== undefined && schema.type !== 'object') {
    errors.invalid(
      `${path}.type`,
      schema.type,
      'must be object at the root if there is a status subresource',
    );
  }
  for (const member of ROOT_MEMBERS) {
    const value = schema[member];
    if (value === undefined || (Array.isArray(value) && value.length === 0)) continue;
    errors.invalid(`${path}.${member}`, '', 'must not be used at the root if there is a status subresource');
  }
  if (schema.minProperties !== undefined || schema.maxProperties !== undefined) {
    const member = schema.minProperties === undefined ? 'maxProperties' : 'minProperties';
    errors.invalid(
      `${path}.${member}`,
      schema[member],
      'must not be used at the root if there is a status subresource',
    );
  }
}
