/** Table representation of objects. Source: tables, document 1 §2.4; columns: api-resources.json. */
import { StatusError } from '#api/meta/status-error.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Cell, ColumnDefinition, Resource } from '../resources/contract.ts';
import { defaultColumns } from '../resources/facts.ts';
import { partialJson } from './partial.ts';
import type { Source } from './source.ts';

/** The object included with each row. */
export type IncludeObject = 'None' | 'Metadata' | 'Object';

/** @throws StatusError BadRequest */
export function parseIncludeObject(query: URLSearchParams): IncludeObject {
  const text = query.get('includeObject') ?? '';
  if (text === '') return 'Metadata';
  if (text === 'None' || text === 'Metadata' || text === 'Object') return text;
  throw new StatusError('BadRequest', `unrecognized includeObject value: ${JSON.stringify(text)}`);
}

export interface TableOptions {
  readonly resource: Resource;
  readonly vocabulary: Vocabulary;
  /** `apiVersion` of the table. */
  readonly apiVersion: string;
  readonly include: IncludeObject;
  readonly nowMs: number;
}

/** All members are always present. */
const columnOf = ({ name, type, format, description, priority }: ColumnDefinition): object => ({
  name,
  type,
  format: format ?? '',
  description: description ?? '',
  priority: priority ?? 0,
});

/** Returns the JSON of the column definitions. A kind without rows of its own has the default columns. */
export function columnsJson({ info, strategy }: Resource): string {
  return JSON.stringify((strategy.row === undefined ? defaultColumns() : info.columns).map(columnOf));
}

function cellsOf(source: Source, { resource, nowMs, vocabulary }: TableOptions): readonly Cell[] {
  const object = source.object();
  const { row } = resource.strategy;
  if (row !== undefined) return row(object, { nowMs, vocabulary });
  return [object.metadata.name ?? '', object.metadata.creationTimestamp ?? null];
}

const NO_OBJECT = Buffer.from('null');

function rowObject(source: Source, { include, apiVersion }: TableOptions): Buffer {
  if (include === 'None') return NO_OBJECT;
  return include === 'Object' ? source.json() : partialJson(source, apiVersion);
}

/** Returns the JSON of a row, in chunks. */
export function rowJson(source: Source, options: TableOptions): readonly Buffer[] {
  const cells = Buffer.from(`{"cells":${JSON.stringify(cellsOf(source, options))},"object":`);
  return [cells, rowObject(source, options), CLOSE];
}

const CLOSE = Buffer.from('}');

/** Returns the JSON of a table up to its first row. */
export const tableHead = (apiVersion: string, metadata: object, columns: string): string =>
  `{"kind":"Table","apiVersion":${JSON.stringify(apiVersion)},"metadata":${JSON.stringify(metadata)},"columnDefinitions":${columns},"rows":[`;

export const TABLE_TAIL = ']}';

/** Returns a table of one object. */
export function tableOf(source: Source, options: TableOptions, columns: string): Buffer {
  const { resourceVersion = '' } = source.object().metadata;
  return Buffer.concat([
    Buffer.from(tableHead(options.apiVersion, { resourceVersion }, columns)),
    ...rowJson(source, options),
    Buffer.from(TABLE_TAIL),
  ]);
}
