/** Rules for the members of structural schemas that every object has: kind, API version and metadata. Pure. Source:
 *  apiextensions/v1, structural schemas. */
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { JsonSchema } from './json-schema.ts';

/** The place of a schema: of the whole object, of list items, or of members. */
export type Level = 'root' | 'item' | 'field';

/** The members that every object has are described by the platform itself. */
export function checkMetadata(errors: FieldErrors, schema: JsonSchema, level: Level, path: string): void {
  const isObject = level === 'root' || schema.embeddedResource;
  for (const name of ['kind', 'apiVersion']) {
    const type = schema.properties.get(name)?.type;
    if (isObject && schema.properties.has(name) && type !== 'string') {
      errors.invalid(`${path}.properties[${name}].type`, type ?? '', 'must be string');
    }
  }
  const metadata = schema.properties.get('metadata');
  if (metadata === undefined) return;
  const metadataPath = `${path}.properties[metadata]`;
  if (isObject && metadata.type !== 'object') {
    errors.invalid(`${metadataPath}.type`, metadata.type ?? '', 'must be object');
  }
  if (level === 'root' && !restrictsNamesOnly(metadata)) {
    const detail = 'must not say anything but of name and generateName; the rest is known of all objects';
    errors.forbidden(metadataPath, detail);
  }
}

const NAMES: ReadonlySet<string> = new Set(['name', 'generateName']);
const hasLogic = ({ allOf, anyOf, oneOf, not }: JsonSchema): boolean =>
  allOf.length + anyOf.length + oneOf.length > 0 || not !== undefined;

/** Members that say something of metadata as a whole. */
const METADATA_RULES: readonly (keyof JsonSchema)[] = [
  'title',
  'description',
  'format',
  'maximum',
  'minimum',
  'maxLength',
  'minLength',
  'pattern',
  'maxItems',
  'minItems',
  'multipleOf',
  'enum',
  'maxProperties',
  'minProperties',
  'items',
  'additionalProperties',
  'preserveUnknownFields',
  'listType',
  'mapType',
];
const METADATA_FLAGS: readonly (keyof JsonSchema)[] = [
  'nullable',
  'embeddedResource',
  'intOrString',
  'exclusiveMaximum',
  'exclusiveMinimum',
  'uniqueItems',
];

function restrictsNamesOnly(metadata: JsonSchema): boolean {
  const { properties, required, listMapKeys, validations } = metadata;
  if ([...properties.keys()].some((name) => !NAMES.has(name)) || hasLogic(metadata)) return false;
  if (required.length + listMapKeys.length + validations.length > 0) return false;
  return (
    METADATA_RULES.every((member) => metadata[member] === undefined) &&
    METADATA_FLAGS.every((member) => metadata[member] === false)
  );
}
