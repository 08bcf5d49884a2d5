/** Versions of a defined resource and their fields besides the schema. Source: apiextensions/v1. */

import type {
  CustomResourceColumnDefinition,
  CustomResourceDefinitionVersion,
  CustomResourceSubresourceScale,
} from '#api/gen/apiextensions-v1.ts';
import { parseJsonPath } from '#api/meta/json-path.ts';
import { JsonPathError } from '#api/meta/json-path-parser.ts';
import { dns1035LabelErrors } from '#api/meta/names.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';

const COLUMN_TYPES = ['integer', 'number', 'string', 'boolean', 'date'];
const COLUMN_FORMATS = ['int32', 'int64', 'float', 'double', 'byte', 'date', 'date-time', 'password'];
const LONGEST_WARNING = 256;
/** Members alone: `.spec.replicas`, `.a['b.c']`. */
const SIMPLE_PATH = /^(?:\.[A-Za-z_][\w-]*|\[(?:'[^']+'|\d+)\])+$/;

function validateColumn(errors: FieldErrors, column: CustomResourceColumnDefinition, path: string): void {
  const { name, type, format = '', jsonPath } = column;
  if (name === '') errors.required(`${path}.name`);
  if (type === '') errors.required(`${path}.type`, `must be one of ${COLUMN_TYPES.join(', ')}`);
  else if (!COLUMN_TYPES.includes(type))
    errors.invalid(`${path}.type`, type, `must be one of ${COLUMN_TYPES.join(', ')}`);
  if (format !== '' && !COLUMN_FORMATS.includes(format)) {
    errors.invalid(`${path}.format`, format, `must be one of ${COLUMN_FORMATS.join(', ')}`);
  }
  if (jsonPath === '') errors.required(`${path}.jsonPath`);
  else validatePath(errors, jsonPath, `${path}.jsonPath`);
}

/** Validates the JSON path of a column, which may contain lists and filters. */
function validatePath(errors: FieldErrors, jsonPath: string, path: string): void {
  if (!/^[.[]/.test(jsonPath))
    return errors.invalid(path, jsonPath, 'must be a JSON path that starts with a dot');
  try {
    parseJsonPath(jsonPath);
  } catch (error) {
    if (!(error instanceof JsonPathError)) throw error;
    errors.invalid(path, jsonPath, `must be a JSON path: ${error.message}`);
  }
  return undefined;
}

function validateScalePath(
  errors: FieldErrors,
  text: string,
  members: readonly string[],
  path: string,
): void {
  if (!SIMPLE_PATH.test(text))
    errors.invalid(path, text, 'must be a simple JSON path such as .spec.replicas');
  else if (!members.some((member) => text.startsWith(`.${member}.`))) {
    errors.invalid(path, text, `should be a JSON path under .${members.join(' or .')}`);
  }
}

function validateScale(errors: FieldErrors, scale: CustomResourceSubresourceScale, path: string): void {
  const { specReplicasPath, statusReplicasPath, labelSelectorPath = '' } = scale;
  if (specReplicasPath === '') errors.required(`${path}.specReplicasPath`);
  else validateScalePath(errors, specReplicasPath, ['spec'], `${path}.specReplicasPath`);
  if (statusReplicasPath === '') errors.required(`${path}.statusReplicasPath`);
  else validateScalePath(errors, statusReplicasPath, ['status'], `${path}.statusReplicasPath`);
  if (labelSelectorPath !== '') {
    validateScalePath(errors, labelSelectorPath, ['spec', 'status'], `${path}.labelSelectorPath`);
  }
}

function validateWarning(errors: FieldErrors, version: CustomResourceDefinitionVersion, path: string): void {
  const { deprecated = false, deprecationWarning: text } = version;
  if (text === undefined) return;
  if (!deprecated) errors.invalid(path, text, 'can only be set for deprecated versions');
  if (text === '' || text.trim() !== text)
    errors.invalid(path, text, 'must not be empty or start or end with white-space');
  if (text.length > LONGEST_WARNING) {
    errors.add('FieldValueTooLong', path, `must have at most ${LONGEST_WARNING} characters`, text);
  }
  if (/\p{C}/u.test(text)) errors.invalid(path, text, 'must only contain printable characters');
}

function validateVersion(errors: FieldErrors, version: CustomResourceDefinitionVersion, path: string): void {
  const { name, schema, subresources, additionalPrinterColumns = [] } = version;
  errors.invalidAll(`${path}.name`, name, dns1035LabelErrors(name));
  validateWarning(errors, version, `${path}.deprecationWarning`);
  if (schema?.openAPIV3Schema === undefined) {
    errors.required(`${path}.schema.openAPIV3Schema`, 'schemas are required');
  }
  if (subresources?.scale !== undefined)
    validateScale(errors, subresources.scale, `${path}.subresources.scale`);
  for (const [index, column] of additionalPrinterColumns.entries()) {
    validateColumn(errors, column, `${path}.additionalPrinterColumns[${index}]`);
  }
}

/** Reports every error of the list of versions, except those of schemas. */
export function validateVersions(
  errors: FieldErrors,
  versions: readonly CustomResourceDefinitionVersion[],
  path: string,
): void {
  const names = new Set<string>();
  for (const [index, version] of versions.entries()) {
    validateVersion(errors, version, `${path}[${index}]`);
    if (names.has(version.name)) errors.invalid(path, version.name, 'must contain unique version names');
    names.add(version.name);
  }
  if (versions.filter(({ storage }) => storage).length !== 1) {
    errors.invalid(path, [...names], 'must have exactly one version marked as storage version');
  }
}
