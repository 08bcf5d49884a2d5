/** Strict JSON at the speed of `JSON.parse`: one pass over the bytes bounds the depth and counts the members
 *  in the text; fewer in the value mean a duplicate key. Only then, or if the text is not JSON, the slower
 *  reader that knows positions runs. */

import { asError } from '../kit/errno.ts';
import { findDuplicates, type JsonValue, parseJson } from './json.ts';
import { parseJsonText } from './json-text.ts';
import { DEFAULT_TEXT_LIMITS, positionOf, type TextLimits, TextSyntaxError } from './limits.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

/** Returns the number of members in the text; if it is nested too deeply a negative number, from which
 *  `tooDeep` finds the position. For a text that is not JSON, any number. */
function countMembers(bytes: Buffer, maxDepth: number): number {
  const { length } = bytes;
  let members = 0;
  let depth = 0;
  for (let at = 0; at < length; at += 1) {
    const code = bytes[at];
    if (code === QUOTE) {
      for (at += 1; at < length && bytes[at] !== QUOTE; at += 1) if (bytes[at] === BACKSLASH) at += 1;
    } else if (code === COLON) {
      members += 1;
    } else if (code === 0x7b || code === 0x5b) {
      depth += 1;
      if (depth > maxDepth) return -at - 1;
    } else if (code === 0x7d || code === 0x5d) {
      depth -= 1;
    }
  }
  return members;
}

/** @throws TextSyntaxError */
function tooDeep(bytes: Buffer, members: number, maxDepth: number): never {
  const before = bytes.toString('utf8', 0, -members - 1);
  const { line, column } = positionOf(before, before.length);
  throw new TextSyntaxError(`nested deeper than ${maxDepth} levels`, line, column);
}

type JsonObject = Readonly<Record<string, unknown>>;

const isStructure = (value: unknown): value is JsonObject | readonly unknown[] =>
  typeof value === 'object' && value !== null;
const isList = (value: JsonObject | readonly unknown[]): value is readonly unknown[] => Array.isArray(value);

/** Returns the number of members of a value, nested ones included. */
export function sizeOf(value: object): number {
  return isStructure(value) ? countIn(value) : 0;
}

function countIn(value: JsonObject | readonly unknown[]): number {
  let size = 0;
  if (isList(value)) {
    for (const item of value) if (isStructure(item)) size += countIn(item);
    return size;
  }
  for (const name in value) {
    const member = value[name];
    size += isStructure(member) ? 1 + countIn(member) : 1;
  }
  return size;
}

type Parsed = { readonly value: unknown } | { readonly error: Error };

function tryParse(text: string): Parsed {
  try {
    return { value: parseJsonText(text) };
  } catch (thrown) {
    return { error: asError(thrown) };
  }
}

/** More errors would not be read. */
const MAX_DUPLICATES = 100;
/** For a larger invalid text the engine's own message is reported, which costs nothing. */
const EXPLAINED_CHARACTERS = 64 * 1024;

/** @throws TextSyntaxError with the engine's message, and the position if it names one */
function refuse(text: string, error: Error): never {
  const [place, line, column] =
    /(?: in JSON)? at position \d+ \(line (\d+) column (\d+)\)$/.exec(error.message) ?? [];
  if (place !== undefined) {
    throw new TextSyntaxError(error.message.slice(0, -place.length), Number(line), Number(column), error);
  }
  const isCut = error.message.startsWith('Unexpected end');
  const end = isCut ? positionOf(text, text.length) : { line: 1, column: 1 };
  throw new TextSyntaxError(error.message, end.line, end.column, error);
}

/** Parses bytes that are one JSON value, with an error for each of the first duplicate keys.
 *  @throws TextSyntaxError with line and column */
export function parseJsonBytes(bytes: Buffer, limits: Partial<TextLimits> = {}): JsonValue {
  const { maxBytes, maxDepth } = { ...DEFAULT_TEXT_LIMITS, ...limits };
  if (bytes.length > maxBytes) throw new TextSyntaxError(`text is larger than ${maxBytes} bytes`, 1, 1);
  const members = countMembers(bytes, maxDepth);
  const text = bytes.toString('utf8');
  const isLarge = text.length > EXPLAINED_CHARACTERS;
  if (members < 0) return isLarge ? tooDeep(bytes, members, maxDepth) : parseJson(text, limits);
  const parsed = tryParse(text);
  if ('error' in parsed) return isLarge ? refuse(text, parsed.error) : parseJson(text, limits);
  const { value } = parsed;
  if ((isStructure(value) ? countIn(value) : 0) === members) return { value, errors: [] };
  return { value, errors: findDuplicates(text, MAX_DUPLICATES, maxDepth) };
}
