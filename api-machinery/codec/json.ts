/** Strict JSON (RFC 8259): rejects what `JSON.parse` accepts silently (duplicate keys, unlimited depth)
 *  and reports positions. Parses one value, or a stream of values. */

import type { FieldError } from '../meta/field-error.ts';
import {
  DEFAULT_TEXT_LIMITS,
  formatPath,
  type PathElement,
  positionOf,
  type TextLimits,
  TextSyntaxError,
} from './limits.ts';
import '../kit/exact-json.ts';
import { readNumber } from '../kit/int64.ts';
import type { MemberNames } from './member-names.ts';
import { setMember } from './set-member.ts';

export interface JsonValue {
  readonly value: unknown;
  /** One for each of the first duplicate keys; the last value counts, as in `JSON.parse`. */
  readonly errors: readonly FieldError[];
  /** Of objects with very many members, where the reader has them at hand. */
  readonly names?: MemberNames;
}

/** One of several values in a text. */
export interface JsonStreamValue extends JsonValue {
  /** 1-based line on which the value starts. */
  readonly line: number;
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORDS: readonly (readonly [string, unknown])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
];
const BLANK = /[ \t\r\n]*/y;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const FIRST_PRINTABLE = 0x20;

/** More errors would not be read. */
const MAX_ERRORS = 100;

/** Treatment of duplicate keys. */
export interface TextPlace {
  /** Of the value. */
  readonly path: readonly PathElement[];
  /** Index of the first item, if the value is a list. */
  readonly first: number;
  /** Whether the value's object has the key in another part. */
  readonly isTwice: (key: string) => boolean;
}

/** Handling of duplicate keys in an object. */
interface DuplicateOptions {
  readonly place?: TextPlace | undefined;
  /** The others are not reported. */
  readonly maxErrors: number;
  /** Whether parsing stops after the last one that is reported. */
  readonly stops: boolean;
}

class JsonReader {
  readonly #text: string;
  readonly #maxDepth: number;
  readonly #path: PathElement[] = [];
  readonly #duplicates: DuplicateOptions;
  #offset = 0;
  #line = 1;
  #nextLineEnd: number | undefined;
  #errors: FieldError[] = [];

  constructor(
    text: string,
    maxDepth: number,
    duplicates: DuplicateOptions = { maxErrors: MAX_ERRORS, stops: false },
  ) {
    this.#text = text;
    this.#maxDepth = maxDepth;
    this.#duplicates = duplicates;
    this.#path.push(...(duplicates.place?.path ?? []));
  }

  /** Whether parsing stops before the end of the text. */
  get #isEnough(): boolean {
    return this.#duplicates.stops && this.#errors.length >= this.#duplicates.maxErrors;
  }

  get atEnd(): boolean {
    this.#skipBlank();
    return this.#offset >= this.#text.length;
  }

  /** Returns the 1-based line of the next token. Counts on from the last call: a text may have many values. */
  get line(): number {
    let end = this.#nextLineEnd ?? this.#lineEnd(0);
    for (; end < this.#offset; end = this.#lineEnd(end + 1)) this.#line += 1;
    this.#nextLineEnd = end;
    return this.#line;
  }

  read(): JsonValue {
    this.#errors = [];
    const value = this.#value(0);
    return { value, errors: this.#errors };
  }

  #lineEnd(from: number): number {
    const end = this.#text.indexOf('\n', from);
    return end < 0 ? this.#text.length : end;
  }

  fail(detail: string): never {
    const { line, column } = positionOf(this.#text, this.#offset);
    throw new TextSyntaxError(detail, line, column);
  }

  #skipBlank(): void {
    this.#match(BLANK);
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#offset;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined) this.#offset += found.length;
    return found;
  }

  #expected(what: string): never {
    const next = this.#text.slice(this.#offset, this.#offset + 1);
    return this.fail(
      next === '' ? `expected ${what}, but the text ends` : `expected ${what}, found ${JSON.stringify(next)}`,
    );
  }

  #value(depth: number): unknown {
    this.#skipBlank();
    const first = this.#text[this.#offset];
    if (first === '{') return this.#object(depth + 1);
    if (first === '[') return this.#list(depth + 1);
    return first === '"' ? this.#string() : this.#scalar();
  }

  #scalar(): unknown {
    for (const [word, value] of WORDS) {
      if (this.#text.startsWith(word, this.#offset)) {
        this.#offset += word.length;
        return value;
      }
    }
    const number = this.#match(NUMBER);
    return number === undefined ? this.#expected('a value') : readNumber(number);
  }

  #string(): string {
    const start = this.#offset;
    const isEscaped = this.#skipString();
    if (this.#text[this.#offset] !== '"') this.#expected("the string's closing quote");
    this.#offset += 1;
    if (!isEscaped) return this.#text.slice(start + 1, this.#offset - 1);
    try {
      return String(JSON.parse(this.#text.slice(start, this.#offset)));
    } catch (error) {
      this.#offset = start;
      const { line, column } = positionOf(this.#text, start);
      throw new TextSyntaxError('string has an escape that JSON does not know', line, column, error);
    }
  }

  /** Advances to the closing quote, or to a character that a string must not contain unescaped. @returns
   *  whether there were escapes */
  #skipString(): boolean {
    const text = this.#text;
    let isEscaped = false;
    let at = this.#offset + 1;
    for (; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code === QUOTE || code < FIRST_PRINTABLE) break;
      if (code !== BACKSLASH) continue;
      isEscaped = true;
      at += 1;
    }
    this.#offset = Math.min(at, text.length);
    return isEscaped;
  }

  #enter(depth: number): void {
    if (depth > this.#maxDepth) this.fail(`nested deeper than ${this.#maxDepth} levels`);
    this.#offset += 1;
    this.#skipBlank();
  }

  #close(end: string): boolean {
    this.#skipBlank();
    if (this.#text[this.#offset] !== end) return false;
    this.#offset += 1;
    return true;
  }

  #separator(end: string): void {
    if (this.#text[this.#offset] !== ',') this.#expected(`',' or '${end}'`);
    this.#offset += 1;
  }

  #list(depth: number): unknown[] {
    const list: unknown[] = [];
    const first = depth === 1 ? (this.#duplicates.place?.first ?? 0) : 0;
    this.#enter(depth);
    if (this.#close(']')) return list;
    for (;;) {
      this.#path.push(first + list.length);
      list.push(this.#value(depth));
      this.#path.pop();
      if (this.#isEnough || this.#close(']')) return list;
      this.#separator(']');
    }
  }

  #object(depth: number): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    const isTwice = depth === 1 ? this.#duplicates.place?.isTwice : undefined;
    this.#enter(depth);
    if (this.#close('}')) return object;
    for (;;) {
      this.#skipBlank();
      if (this.#text[this.#offset] !== '"') this.#expected('a key in double quotes');
      const key = this.#string();
      this.#path.push(key);
      if (
        this.#errors.length < this.#duplicates.maxErrors &&
        (Object.hasOwn(object, key) || isTwice?.(key) === true)
      ) {
        this.#errors.push(duplicateKey(this.#path));
      }
      this.#skipBlank();
      if (this.#text[this.#offset] !== ':') this.#expected("':' after a key");
      this.#offset += 1;
      setMember(object, key, this.#value(depth));
      this.#path.pop();
      if (this.#isEnough || this.#close('}')) return object;
      this.#separator('}');
    }
  }
}

/** A duplicate key of an object. */
export function duplicateKey(path: readonly PathElement[], line?: number): FieldError {
  const where = line === undefined ? '' : ` (again on line ${line})`;
  return {
    kind: 'FieldValueDuplicate',
    field: formatPath(path),
    detail: `key is given more than once${where}`,
  };
}

function checkSize(text: string, maxBytes: number): void {
  if (text.length > maxBytes || (text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes)) {
    throw new TextSyntaxError(`text is larger than ${maxBytes} bytes`, 1, 1);
  }
}

function readOne(reader: JsonReader): JsonValue {
  const result = reader.read();
  if (!reader.atEnd) reader.fail('expected the end of the text after the value');
  return result;
}

/** Parses a text that is one JSON value.
 *  @throws TextSyntaxError with line and column */
export function parseJson(text: string, limits: Partial<TextLimits> = {}): JsonValue {
  const { maxBytes, maxDepth } = { ...DEFAULT_TEXT_LIMITS, ...limits };
  checkSize(text, maxBytes);
  return readOne(new JsonReader(text, maxDepth));
}

/** Far more than request bodies may have: stored objects have managedFields, which are nested as deep again. */
const MOST_LEVELS = 1000;

/** Returns the value of a text of any size; of duplicate keys the last one counts.
 *  @throws TextSyntaxError with line and column */
export const parseJsonValue = (text: string): unknown =>
  readOne(new JsonReader(text, MOST_LEVELS, { maxErrors: 0, stops: false })).value;

/** Returns the first duplicate keys, at most `most`, in a text that is one JSON value. */
export function findDuplicates(
  text: string,
  most: number,
  maxDepth: number,
  place?: TextPlace,
): readonly FieldError[] {
  return new JsonReader(text, maxDepth, { maxErrors: most, stops: true, place }).read().errors;
}

/** Parses JSON values that follow each other, separated by white space or nothing.
 *  @throws TextSyntaxError with line and column */
export function parseJsonStream(text: string, limits: Partial<TextLimits> = {}): readonly JsonStreamValue[] {
  const { maxBytes, maxDepth, maxDocuments } = { ...DEFAULT_TEXT_LIMITS, ...limits };
  checkSize(text, maxBytes);
  const reader = new JsonReader(text, maxDepth);
  const values: JsonStreamValue[] = [];
  while (!reader.atEnd) {
    if (values.length >= maxDocuments) reader.fail(`more than ${maxDocuments} documents`);
    const { line } = reader;
    values.push({ line, ...reader.read() });
  }
  return values;
}
