/** Readers of lists: of strings, and of small objects. */
import type { VModuleItem } from '#api/gen/componentconfig-v1alpha1.ts';
import type {
  MemoryReservation,
  ShutdownGracePeriodByPodPriority,
} from '#api/gen/nodeagent-config-v1beta1.ts';
import { createFieldTaker, type FieldTaker } from './fields.ts';
import { parseMap, parseMapTexts } from './maps.ts';
import { readPairs } from './pairs.ts';
import {
  asList,
  asMapping,
  describeType,
  invalid,
  mapParsed,
  ok,
  type Parsed,
  unlessErrors,
  type ValueError,
  wrongType,
} from './parsed.ts';
import { parseInteger, parseIntegerText, parseText } from './scalars.ts';

/** Reads `a,b`, every occurrence of the flag. An empty text adds nothing. */
export function parseListTexts(texts: readonly string[]): readonly string[] {
  return texts.flatMap((text) => (text.trim() === '' ? [] : text.split(',').map((part) => part.trim())));
}

/** Reads a list of the file, each member by `read`, with its index in the errors. */
export function parseItems<T>(raw: unknown, read: (item: unknown) => Parsed<T>): Parsed<readonly T[]> {
  const list = asList(raw);
  if (list === undefined) return wrongType(raw, `must be a list, not ${describeType(raw)}`);
  const values: T[] = [];
  const errors: ValueError[] = [];
  for (const [index, item] of list.entries()) {
    const parsed = read(item);
    if (parsed.kind === 'ok') values.push(parsed.value);
    else errors.push(...parsed.errors.map((error) => ({ ...error, path: `[${index}]${error.path}` })));
  }
  return unlessErrors(errors, values);
}

/** Reads a list of objects; `build` reads the fields of each. */
export function parseObjects<T>(raw: unknown, build: (fields: FieldTaker) => T): Parsed<readonly T[]> {
  return parseItems(raw, (item) => {
    const mapping = asMapping(item);
    if (mapping === undefined) return wrongType(item, `must be a mapping, not ${describeType(item)}`);
    const fields = createFieldTaker(mapping);
    const value = build(fields);
    return unlessErrors(fields.errors(), value);
  });
}

/** Reads a list of strings of the file. */
export function parseList(raw: unknown): Parsed<readonly string[]> {
  return parseItems(raw, parseText);
}

/** Reads `pattern=level,pattern=level`. */
export function parseModuleTexts(texts: readonly string[]): Parsed<readonly VModuleItem[]> {
  const syntax = { separator: '=', example: 'pattern=level' };
  return mapParsed(
    readPairs(texts, syntax, (value) => parseIntegerText(value, 'uint32')),
    (entries) => entries.map(([filePattern, verbosity]) => ({ filePattern, verbosity })),
  );
}

/** Reads log verbosity by file pattern. */
export function parseModules(raw: unknown): Parsed<readonly VModuleItem[]> {
  return parseObjects(raw, (fields) => ({
    filePattern: fields.required('filePattern', parseText, ''),
    verbosity: fields.required('verbosity', (value) => parseInteger(value, 'uint32'), 0),
  }));
}

function parseReservation(text: string): Parsed<MemoryReservation> {
  const split = text.indexOf(':');
  const node = split < 0 ? '' : text.slice(0, split).trim();
  if (!/^\d{1,4}$/.test(node)) return invalid(text, 'must be node:type=quantity, such as 0:memory=1Gi');
  const limits = parseMapTexts([text.slice(split + 1)]);
  return mapParsed(limits, (map) => ({ numaNode: Number(node), limits: map }));
}

/** Reads `0:memory=1Gi,hugepages-1Gi=2Gi`; several nodes are separated by `;` or by repeating the flag. */
export function parseMemoryTexts(texts: readonly string[]): Parsed<readonly MemoryReservation[]> {
  const read = texts
    .filter((text) => text.trim() !== '')
    .flatMap((text) => text.split(';').map(parseReservation));
  const errors = read.flatMap((one) => (one.kind === 'errors' ? one.errors : []));
  if (errors.length > 0) return { kind: 'errors', errors };
  return ok(read.flatMap((one) => (one.kind === 'ok' ? [one.value] : [])));
}

/** Reads memory reservations by NUMA node. */
export function parseMemory(raw: unknown): Parsed<readonly MemoryReservation[]> {
  return parseObjects(raw, (fields) => ({
    numaNode: fields.required('numaNode', (value) => parseInteger(value, 'int32'), 0),
    limits: fields.required('limits', parseMap, {}),
  }));
}

/** Reads shutdown grace periods by pod priority. */
export function parsePriorities(raw: unknown): Parsed<readonly ShutdownGracePeriodByPodPriority[]> {
  return parseObjects(raw, (fields) => ({
    priority: fields.required('priority', (value) => parseInteger(value, 'int32'), 0),
    shutdownGracePeriodSeconds: fields.required(
      'shutdownGracePeriodSeconds',
      (value) => parseInteger(value, 'int64'),
      0,
    ),
  }));
}
