/** Readers of maps: to strings, to booleans, to lists of strings. */
import { gateNameError } from '#api/schema/feature-gates.ts';
import { canonicalGate } from '../upstream.ts';
import { type Pair, type PairSyntax, readPairs, splitPairs } from './pairs.ts';
import {
  asList,
  asMapping,
  describeType,
  mapParsed,
  ok,
  type Parsed,
  unlessErrors,
  type ValueError,
  wrongType,
} from './parsed.ts';
import { parseBool, parseBoolText, parseText } from './scalars.ts';

const MAP_SYNTAX: PairSyntax = { separator: '=', example: 'name=value' };
const GATE_SYNTAX: PairSyntax = { separator: '=', example: 'Name=true or Name=false' };
const HEADER_SYNTAX: PairSyntax = { separator: ':', example: 'name:value', repeats: true };

/** Reads `name=value,name=value`. */
export function parseMapTexts(texts: readonly string[]): Parsed<Readonly<Record<string, string>>> {
  return mapParsed(readPairs(texts, MAP_SYNTAX, ok), (entries) => Object.fromEntries(entries));
}

function gateNameErrors(name: string): readonly ValueError[] {
  const detail = gateNameError(canonicalGate(name));
  return detail === undefined ? [] : [{ kind: 'FieldValueNotFound', path: '', badValue: name, detail }];
}

/** Reads `Name=true,Name=false`; upstream's names are converted to ours. */
export function parseGateTexts(texts: readonly string[]): Parsed<Readonly<Record<string, boolean>>> {
  const read = (text: string, name: string): Parsed<boolean> => {
    const value = parseBoolText(text);
    const errors = [...gateNameErrors(name), ...(value.kind === 'ok' ? [] : value.errors)];
    return errors.length === 0 ? value : { kind: 'errors', errors };
  };
  return mapParsed(readPairs(texts, GATE_SYNTAX, read), (entries) =>
    Object.fromEntries(entries.map(([name, value]) => [canonicalGate(name), value])),
  );
}

function groupHeaders(pairs: readonly Pair[]): Readonly<Record<string, readonly string[]>> {
  const groups = new Map<string, string[]>();
  for (const { name, value } of pairs) groups.set(name, [...(groups.get(name) ?? []), value]);
  return Object.fromEntries(groups);
}

/** Reads `name:value,name:value`; a name may be repeated and retains every value.
 *  Errors omit the text, as headers carry credentials. */
export function parseHeaderTexts(
  texts: readonly string[],
): Parsed<Readonly<Record<string, readonly string[]>>> {
  const read = texts.map((text) => splitPairs(text, HEADER_SYNTAX));
  if (read.some(({ errors }) => errors.length > 0)) {
    const detail = 'must be name:value,name:value';
    return { kind: 'errors', errors: [{ kind: 'FieldValueInvalid', path: '', detail }] };
  }
  return ok(groupHeaders(read.flatMap(({ pairs }) => pairs)));
}

/** Reads a mapping of the file, each value by `read`. */
function parseEntries<T>(
  raw: unknown,
  example: string,
  read: (value: unknown) => Parsed<T>,
): Parsed<readonly (readonly [string, T])[]> {
  const mapping = asMapping(raw);
  if (mapping === undefined) {
    return wrongType(raw, `must be a mapping such as ${example}, not ${describeType(raw)}`);
  }
  const entries: (readonly [string, T])[] = [];
  const errors: ValueError[] = [];
  for (const [name, value] of Object.entries(mapping)) {
    const parsed = read(value);
    if (parsed.kind === 'ok') entries.push([name, parsed.value]);
    else errors.push(...parsed.errors.map((error) => ({ ...error, path: `[${name}]${error.path}` })));
  }
  return unlessErrors(errors, entries);
}

/** Reads a mapping to strings of the file. */
export function parseMap(raw: unknown): Parsed<Readonly<Record<string, string>>> {
  return mapParsed(parseEntries(raw, '{cpu: "1"}', parseText), (entries) => Object.fromEntries(entries));
}

/** Reads feature gates of the file; a gate under both its names is an error. */
export function parseGates(raw: unknown): Parsed<Readonly<Record<string, boolean>>> {
  const parsed = parseEntries(raw, '{NodeSwap: true}', parseBool);
  const names = Object.keys(asMapping(raw) ?? {});
  const errors: ValueError[] = names.flatMap((name) =>
    gateNameErrors(name).map((error) => ({ ...error, path: `[${name}]` })),
  );
  if (parsed.kind === 'errors') return { kind: 'errors', errors: [...errors, ...parsed.errors] };
  const gates = new Map<string, boolean>();
  for (const [name, value] of parsed.value) {
    const ours = canonicalGate(name);
    if (gates.has(ours)) {
      const detail = `is the gate ${ours} in another spelling; specify it once`;
      errors.push({ kind: 'FieldValueDuplicate', path: `[${name}]`, badValue: value, detail });
    }
    gates.set(ours, value);
  }
  return unlessErrors(errors, Object.fromEntries(gates));
}

/** Reads a mapping to lists of strings of the file, without showing values in errors. */
export function parseHeaders(raw: unknown): Parsed<Readonly<Record<string, readonly string[]>>> {
  const parsed = parseEntries(raw, '{Name: [value]}', (value): Parsed<readonly string[]> => {
    const texts = asList(value)?.filter((item) => typeof item === 'string');
    const whole = texts !== undefined && texts.length === asList(value)?.length;
    return whole ? ok(texts) : wrongType(undefined, 'must be a list of strings');
  });
  return mapParsed(parsed, (entries) => Object.fromEntries(entries));
}
