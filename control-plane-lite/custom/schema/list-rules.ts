/** Validation of list types: a set, or a map whose keys are fields of the items. Pure. Source: list types,
 *  document 1 §4.9.3; apiextensions/v1. */
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import { isSchemaList, itemSchema, type JsonSchema } from './json-schema.ts';

const LIST_TYPES = ['atomic', 'map', 'set'];

export function validateListRules(
  errors: FieldErrors,
  schema: JsonSchema,
  path: string,
  prefix: string,
): void {
  const { listType, listMapKeys, type } = schema;
  const typePath = `${path}.${prefix}list-type`;
  if (listType !== undefined) {
    const detail = `must be array if ${prefix}list-type is set`;
    if (type === undefined) errors.required(`${path}.type`, detail);
    else if (type !== 'array') errors.invalid(`${path}.type`, type, detail);
    if (!LIST_TYPES.includes(listType)) errors.unsupported(typePath, listType, LIST_TYPES);
  }
  if (listMapKeys.length > 0) {
    const detail = `must be map if ${prefix}list-map-keys is not empty`;
    if (listType === undefined) errors.required(typePath, detail);
    else if (listType !== 'map') errors.invalid(typePath, listType, detail);
  }
  if (listType === 'map') validateMap(errors, schema, path, prefix);
  if (listType === 'set') validateSet(errors, schema, path, prefix);
  if ((listType === 'map' || listType === 'set') && itemSchema(schema)?.nullable === true) {
    errors.forbidden(`${path}.items.nullable`, `items of a list of type ${listType} cannot be nullable`);
  }
}

function validateMap(errors: FieldErrors, schema: JsonSchema, path: string, prefix: string): void {
  const { items, listMapKeys } = schema;
  const where = `if ${prefix}list-type is map`;
  if (listMapKeys.length === 0) {
    errors.required(`${path}.${prefix}list-map-keys`, `must not be empty ${where}`);
  }
  if (items === undefined) return errors.required(`${path}.items`, `must have a schema ${where}`);
  if (isSchemaList(items)) return errors.invalid(`${path}.items`, '', `must be one schema ${where}`);
  if (items.type !== 'object') {
    return errors.invalid(
      `${path}.items.type`,
      items.type ?? '',
      `must be object if the list's ${prefix}list-type is map`,
    );
  }
  return validateKeys(errors, items, listMapKeys, path, prefix);
}

/** Keys identify items: each is a scalar member that every item has. */
function validateKeys(
  errors: FieldErrors,
  items: JsonSchema,
  keys: readonly string[],
  path: string,
  prefix: string,
): void {
  const keysPath = `${path}.${prefix}list-map-keys`;
  for (const [index, key] of keys.entries()) {
    if (keys.indexOf(key) < index) errors.invalid(keysPath, keys, 'must not name a member twice');
    const member = items.properties.get(key);
    const memberPath = `${path}.items.properties[${key}]`;
    if (member === undefined) {
      errors.invalid(keysPath, keys, 'must all be names of members of the items');
      continue;
    }
    if (member.type === 'array' || member.type === 'object') {
      errors.invalid(
        `${memberPath}.type`,
        member.type,
        `must be a scalar type if the list's ${prefix}list-type is map`,
      );
    }
    if (member.default === undefined && !items.required.includes(key)) {
      errors.required(
        `${memberPath}.default`,
        `a member in ${prefix}list-map-keys must have a default or be required`,
      );
    }
    if (member.nullable) {
      errors.forbidden(`${memberPath}.nullable`, `a member in ${prefix}list-map-keys cannot be nullable`);
    }
  }
}

/** Items of a set are compared as wholes. */
function validateSet(errors: FieldErrors, schema: JsonSchema, path: string, prefix: string): void {
  const items = itemSchema(schema);
  const detail = `must be atomic as item of a list whose ${prefix}list-type is set`;
  if (items?.type === 'array' && (items.listType ?? 'atomic') !== 'atomic') {
    errors.invalid(`${path}.items.${prefix}list-type`, items.listType, detail);
  }
  if (items?.type === 'object' && items.mapType !== 'atomic') {
    errors.invalid(`${path}.items.${prefix}map-type`, items.mapType ?? '', detail);
  }
}
