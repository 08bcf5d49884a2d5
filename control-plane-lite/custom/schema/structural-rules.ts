/** Validation of structural schemas: types are set outside of all logic (`allOf`, `anyOf`, `oneOf`, `not`),
 *  so that every value has one meaning for pruning, defaults and merging. Pure. Source: apiextensions/v1,
 *  structural schemas. */

import type { Steps } from '#api/kit/steps.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import { isSchemaList, itemSchema, type JsonSchema } from './json-schema.ts';
import { measurePattern } from './pattern/compile.ts';
import { PatternError } from './pattern/parse.ts';
import { checkMetadata, type Level } from './structural-metadata.ts';

/** State of the walk over a schema. */
interface Walk {
  readonly errors: FieldErrors;
  readonly prefix: string;
  /** Checked expressions with their costs. */
  readonly patterns: Map<string, number>;
}

/** Instructions of all expressions of a schema, each counted once: some 10 MB. */
const MAX_PATTERN_SIZE = 100_000;

/** All errors of a schema that keep it from being structural; some steps for each schema in it. */
export function* validateStructural(
  errors: FieldErrors,
  schema: JsonSchema,
  path: string,
  prefix: string,
): Steps<void> {
  const walk: Walk = { errors, prefix, patterns: new Map() };
  yield* checkNode(walk, schema, 'root', path);
  const size = walk.patterns.values().reduce((total, each) => total + each, 0);
  if (size > MAX_PATTERN_SIZE)
    errors.invalid(path, '', 'the expressions of the schema are too large together');
  yield* checkComplete(walk, schema, path);
}

const isPreserving = (schema: JsonSchema): boolean => schema.preserveUnknownFields === true;

function* checkNode(walk: Walk, schema: JsonSchema, level: Level, path: string): Steps<void> {
  yield;
  const { errors } = walk;
  const items = itemSchema(schema);
  if (schema.type === 'array' && schema.items === undefined) {
    errors.required(`${path}.items`, 'must be there for a list');
  }
  if (items !== undefined) yield* checkNode(walk, items, 'item', `${path}.items`);
  for (const [name, child] of schema.properties) {
    yield* checkNode(walk, child, 'field', `${path}.properties[${name}]`);
  }
  const additional = schema.additionalProperties;
  if (additional !== undefined && level === 'root') {
    errors.forbidden(`${path}.additionalProperties`, 'must not be used at the root');
  }
  if (additional !== undefined && typeof additional !== 'boolean') {
    yield* checkNode(walk, additional, 'field', `${path}.additionalProperties`);
  }
  checkExtensions(walk, schema, path);
  yield* checkLogic(walk, schema, path, {
    skipAnyOf: isIntOrString(schema.anyOf),
    skipFirstAllOf: isIntOrString(schema.allOf[0]?.anyOf ?? []),
  });
  checkType(walk, schema, level, path);
  checkMetadata(walk.errors, schema, level, path);
}

const EMPTY_TYPE: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for the items of a list',
  field: 'must not be empty for the members of an object',
};

function checkType({ errors, prefix }: Walk, schema: JsonSchema, level: Level, path: string): void {
  const { type, embeddedResource, intOrString } = schema;
  const embedded = `${prefix}embedded-resource`;
  if (embeddedResource && type !== 'object') {
    const detail = `must be object if ${embedded} is true`;
    if (type === undefined) errors.required(`${path}.type`, detail);
    else errors.invalid(`${path}.type`, type, detail);
  } else if (type === undefined && !intOrString && !isPreserving(schema)) {
    errors.required(`${path}.type`, EMPTY_TYPE[level]);
  }
  if (level === 'root' && type !== undefined && type !== 'object') {
    errors.invalid(`${path}.type`, type, 'must be object at the root');
  }
  if (!embeddedResource) return;
  if (schema.additionalProperties !== undefined) {
    errors.forbidden(`${path}.additionalProperties`, `must not be used if ${embedded} is set`);
  }
  if (!isPreserving(schema) && schema.properties.size === 0) {
    const detail = `must not be empty if ${embedded} is true without ${prefix}preserve-unknown-fields`;
    errors.required(`${path}.properties`, detail);
  }
}

function checkExtensions({ errors, prefix }: Walk, schema: JsonSchema, path: string): void {
  if (!schema.intOrString) return;
  const detail = `must be false if ${prefix}int-or-string is true`;
  if (isPreserving(schema)) errors.invalid(`${path}.${prefix}preserve-unknown-fields`, true, detail);
  if (schema.embeddedResource) errors.invalid(`${path}.${prefix}embedded-resource`, true, detail);
}

/** Reports whether this is `anyOf: [{type: integer}, {type: string}]`, the only logical schema that may contain types. */
function isIntOrString(anyOf: readonly JsonSchema[]): boolean {
  const [first, second] = anyOf;
  if (anyOf.length !== 2 || first === undefined || second === undefined) return false;
  return isTypeOnly(first, 'integer') && isTypeOnly(second, 'string');
}

function isTypeOnly(schema: JsonSchema, type: string): boolean {
  if (schema.type !== type) return false;
  const { type: _, ...rest } = schema;
  return Object.values(rest).every((value) => {
    if (value instanceof Map) return value.size === 0;
    return value === false || (Array.isArray(value) && value.length === 0);
  });
}

interface Exceptions {
  readonly skipAnyOf: boolean;
  readonly skipFirstAllOf: boolean;
}
const NO_EXCEPTIONS: Exceptions = { skipAnyOf: false, skipFirstAllOf: false };

function* checkLogic(walk: Walk, schema: JsonSchema, path: string, exceptions: Exceptions): Steps<void> {
  const { allOf, anyOf, oneOf, not, pattern } = schema;
  if (!exceptions.skipAnyOf) {
    for (const [index, child] of anyOf.entries()) yield* checkNested(walk, child, `${path}.anyOf[${index}]`);
  }
  for (const [index, child] of allOf.entries()) {
    const skipAnyOf = exceptions.skipFirstAllOf && index === 0;
    yield* checkNested(walk, child, `${path}.allOf[${index}]`, { ...NO_EXCEPTIONS, skipAnyOf });
  }
  for (const [index, child] of oneOf.entries()) yield* checkNested(walk, child, `${path}.oneOf[${index}]`);
  if (not !== undefined) yield* checkNested(walk, not, `${path}.not`);
  if (pattern !== undefined) checkPattern(walk, pattern, `${path}.pattern`);
}

function checkPattern({ errors, patterns }: Walk, pattern: string, path: string): void {
  if (patterns.has(pattern)) return;
  try {
    patterns.set(pattern, measurePattern(pattern));
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    errors.invalid(path, pattern, `must be a valid regular expression: ${error.message}`);
  }
}

/** Structural keywords, which are not allowed in logical schemas. */
const FORBIDDEN_IN_LOGIC: readonly (readonly [member: keyof JsonSchema, name: string, must: string])[] = [
  ['type', 'type', 'empty'],
  ['additionalProperties', 'additionalProperties', 'absent'],
  ['default', 'default', 'absent'],
  ['title', 'title', 'empty'],
  ['description', 'description', 'empty'],
  ['nullable', 'nullable', 'false'],
  ['preserveUnknownFields', '-preserve-unknown-fields', 'false'],
  ['embeddedResource', '-embedded-resource', 'false'],
  ['intOrString', '-int-or-string', 'false'],
  ['listMapKeys', '-list-map-keys', 'empty'],
  ['listType', '-list-type', 'absent'],
  ['mapType', '-map-type', 'absent'],
  ['validations', '-validations', 'empty'],
];

const isSet = (value: unknown): boolean =>
  value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0);

function* checkNested(
  walk: Walk,
  schema: JsonSchema,
  path: string,
  exceptions: Exceptions = NO_EXCEPTIONS,
): Steps<void> {
  yield;
  const { errors, prefix } = walk;
  yield* checkLogic(walk, schema, path, exceptions);
  const { items } = schema;
  if (items !== undefined && !isSchemaList(items)) yield* checkNested(walk, items, `${path}.items`);
  for (const [name, child] of schema.properties)
    yield* checkNested(walk, child, `${path}.properties[${name}]`);
  for (const [member, name, must] of FORBIDDEN_IN_LOGIC) {
    if (!isSet(schema[member])) continue;
    const shown = name.startsWith('-') ? `${prefix}${name.slice(1)}` : name;
    errors.forbidden(`${path}.${shown}`, `must be ${must} to be structural`);
  }
  if (schema.properties.has('metadata')) {
    errors.forbidden(`${path}.properties[metadata]`, 'must not be given inside of logic');
  }
}

/** Reports members of logical schemas that are not described outside of them. */
function* checkComplete(walk: Walk, schema: JsonSchema, path: string): Steps<void> {
  yield;
  for (const [name, child] of schema.properties) {
    yield* checkComplete(walk, child, `${path}.properties[${name}]`);
  }
  const items = itemSchema(schema);
  if (items !== undefined) yield* checkComplete(walk, items, `${path}.items`);
  const additional = schema.additionalProperties;
  if (additional !== undefined && typeof additional !== 'boolean') {
    yield* checkComplete(walk, additional, `${path}.additionalProperties`);
  }
  for (const [child, at] of logicOf(schema, path)) yield* checkDescribed(walk, child, schema, path, at);
}

function logicOf(schema: JsonSchema, path: string): readonly (readonly [JsonSchema, string])[] {
  const { not } = schema;
  const lists = (['allOf', 'anyOf', 'oneOf'] as const).flatMap((word) =>
    schema[word].map((child, index) => [child, `${path}.${word}[${index}]`] as const),
  );
  return not === undefined ? lists : [...lists, [not, `${path}.not`]];
}

function* checkDescribed(
  walk: Walk,
  nested: JsonSchema,
  structure: JsonSchema | undefined,
  path: string,
  nestedPath: string,
): Steps<void> {
  yield;
  if (structure === undefined) {
    walk.errors.required(path, `because it is defined in ${nestedPath}`);
    return;
  }
  for (const [child, at] of logicOf(nested, nestedPath))
    yield* checkDescribed(walk, child, structure, path, at);
  const items = itemSchema(nested);
  if (items !== undefined) {
    yield* checkDescribed(walk, items, itemSchema(structure), `${path}.items`, `${nestedPath}.items`);
  }
  for (const [name, child] of nested.properties) {
    const member = structure.properties.get(name);
    const at = `.properties[${name}]`;
    yield* checkDescribed(walk, child, member, `${path}${at}`, `${nestedPath}${at}`);
  }
}
