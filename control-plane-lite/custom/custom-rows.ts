/** Table rows of custom resources: the columns of the definition, each with the path of its value. Pure.
 *  Source: apiextensions/v1, additionalPrinterColumns. */

import type { CustomResourceColumnDefinition } from '#api/gen/apiextensions-v1.ts';
import { findFirst, type JsonPath, parseJsonPath } from '#api/meta/json-path.ts';
import type { ApiObject, Cell, ColumnDefinition, Strategy } from '../resources/contract.ts';
import { formatAge } from '../resources/rows.ts';

export interface CustomTable {
  readonly columns: readonly ColumnDefinition[];
  readonly row: NonNullable<Strategy['row']>;
}

const NAME: ColumnDefinition = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: 'Name of the object, unique among those of its kind in a namespace.',
};

/** Where a definition has no columns of its own. */
const AGE: CustomResourceColumnDefinition = {
  name: 'Age',
  type: 'date',
  description: 'When the object was made.',
  jsonPath: '.metadata.creationTimestamp',
};

/** Longer strings than any terminal is wide are useless. */
const LONGEST_TEXT = 4096;

function textCell(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.length > LONGEST_TEXT ? text.slice(0, LONGEST_TEXT) : text;
}

function dateCell(value: unknown, nowMs: number): Cell {
  if (typeof value !== 'string') return null;
  const ms = Date.parse(value);
  return Number.isNaN(ms) ? '<invalid>' : formatAge(nowMs - ms);
}

/** Returns the cell of a value in a column of this type; `null` if it is absent or of another type. */
export function cellOf(type: string, value: unknown, nowMs: number): Cell {
  if (value === undefined || value === null) return null;
  switch (type) {
    case 'string':
      return textCell(value);
    case 'date':
      return dateCell(value, nowMs);
    case 'integer':
      if (typeof value === 'bigint') return value;
      return typeof value === 'number' ? Math.trunc(value) : null;
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    default:
      return null;
  }
}

interface CompiledColumn {
  readonly type: string;
  readonly path: JsonPath;
}

/** The table of a version. @throws JsonPathError for paths that validation keeps out */
export function customTable(given: readonly CustomResourceColumnDefinition[] | undefined): CustomTable {
  const own = given === undefined || given.length === 0 ? [AGE] : given;
  const compiled = own.map(({ type, jsonPath }): CompiledColumn => ({ type, path: parseJsonPath(jsonPath) }));
  const columns = own.map(
    ({ name, type, format, description, priority, jsonPath }): ColumnDefinition => ({
      name,
      type,
      description: description ?? `Custom resource definition column (in JSONPath format): ${jsonPath}`,
      ...(format === undefined ? {} : { format }),
      ...(priority === undefined ? {} : { priority }),
    }),
  );
  return {
    columns: [NAME, ...columns],
    row: (object: ApiObject, { nowMs }) => [
      object.metadata.name ?? '',
      ...compiled.map(({ type, path }) => cellOf(type, findFirst(path, object), nowMs)),
    ],
  };
}
