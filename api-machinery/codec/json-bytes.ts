/** Strict JSON at the speed of `JSON.parse`: one pass over the bytes bounds the depth and counts the members that
 *  the text has; fewer in the value mean that a key came twice. Only then, or if it is no JSON at all, the reader that
 *  knows where things are has a look. */

import { asError } from '../kit/clock.ts';
import { findDuplicates, type JsonValue, parseJson } from './json.ts';
import { parseJsonText } from './json-text.ts';
import { DEFAULT_TEXT_LIMITS, positionOf, SyntaxFault, type TextLimits } from './limits.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

/** Members that the text has; if it is nested too deeply a negative number, from which `tooDeep` finds the place. Of
 *  what is no JSON, any number. */
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

/** @throws SyntaxFault */
function tooDeep(bytes: Buffer, members: number, maxDepth: number): never {
  const before = bytes.toString('utf8', 0, -members - 1);
  const { line, column } = positionOf(before, before.length);
  throw new SyntaxFault(`nested deeper than ${maxDepth} levels`, line, column);
}

type JsonObject = Readonly<Record<string, unknown>>;

const isStructure = (value: unknown): value is JsonObject | readonly unknown[] =>
  typeof value === 'object' && value !== null;
const isList = (value: JsonObject | readonly unknown[]): value is readonly unknown[] => Array.isArray(value);

/** Members of a value and of all that it holds. */
function sizeOf(value: JsonObject | readonly unknown[]): number {
  let size = 0;
  if (isList(value)) {
    for (const item of value) if (isStructure(item)) size += sizeOf(item);
    return size;
  }
  for (const name in value) {
    const member = value[name];
    size += isStructure(member) ? 1 + sizeOf(member) : 1;
  }
  return size;
}

type Parsed = { readonly value: unknown } | { readonly fault: Error };

function tryParse(text: string): Parsed {
  try {
    return { value: parseJsonText(text) };
  } catch (thrown) {
    return { fault: asError(thrown) };
  }
}

/** Nobody reads more. */
const MAX_DUPLICATES = 100;
/** Of a larger text that is no JSON it is told what the engine knows of it, which costs nothing. */
const EXPLAINED_CHARACTERS = 64 * 1024;

/** @throws SyntaxFault with the engine's words, and the place if it tells one */
function refuse(text: string, fault: Error): never {
  const [place, line, column] =
    /(?: in JSON)? at position \d+ \(line (\d+) column (\d+)\)$/.exec(fault.message) ?? [];
  if (place !== undefined) {
    throw new SyntaxFault(fault.message.slice(0, -place.length), Number(line), Number(column), fault);
  }
  const isCut = fault.message.startsWith('Unexpected end');
  const end = isCut ? positionOf(text, text.length) : { line: 1, column: 1 };
  throw new SyntaxFault(fault.message, end.line, end.column, fault);
}

/** Reads bytes that are one JSON value, with an error for each of the first keys that an object has twice.
 *  @throws SyntaxFault with line and column */
export function parseJsonBytes(bytes: Buffer, limits: Partial<TextLimits> = {}): JsonValue {
  const { maxBytes, maxDepth } = { ...DEFAULT_TEXT_LIMITS, ...limits };
  if (bytes.length > maxBytes) throw new SyntaxFault(`text is larger than ${maxBytes} bytes`, 1, 1);
  const members = countMembers(bytes, maxDepth);
  const text = bytes.toString('utf8');
  const isLarge = text.length > EXPLAINED_CHARACTERS;
  if (members < 0) return isLarge ? tooDeep(bytes, members, maxDepth) : parseJson(text, limits);
  const parsed = tryParse(text);
  if ('fault' in parsed) return isLarge ? refuse(text, parsed.fault) : parseJson(text, limits);
  const { value } = parsed;
  if ((isStructure(value) ? sizeOf(value) : 0) === members) return { value, errors: [] };
  return { value, errors: findDuplicates(text, MAX_DUPLICATES, maxDepth) };
}
