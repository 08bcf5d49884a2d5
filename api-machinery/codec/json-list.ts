/** Incremental parser of JSON lists, item by item: the engine's parser cannot yield to the event loop. A text
 *  that is not laid out as servers write lists is parsed at once instead. */
import { isObject } from '../kit/object.ts';
import { parseJsonText } from './json-text.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;

/** Maximum number of bytes scanned between two steps. */
const STEP_BYTES = 256 * 1024;

const isSpace = (code: number | undefined): boolean =>
  code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

function skipSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (isSpace(bytes[at])) at += 1;
  return at;
}

/** Returns the offset of the closing quote of the string that begins at `from`; the text's length if it has
 *  none. */
function endOfString(bytes: Buffer, from: number): number {
  for (let at = from + 1; at < bytes.length; at += 1) {
    if (bytes[at] === QUOTE) return at;
    if (bytes[at] === BACKSLASH) at += 1;
  }
  return bytes.length;
}

/** Returns the offset after the object that begins at `from`; -1 if the text ends within it. */
function endOfObject(bytes: Buffer, from: number): number {
  let depth = 0;
  for (let at = from; at < bytes.length; at += 1) {
    const code = bytes[at];
    if (code === QUOTE) at = endOfString(bytes, at);
    else if (code === OPEN_OBJECT || code === OPEN_LIST) depth += 1;
    else if (code === CLOSE_OBJECT || code === CLOSE_LIST) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
}

const ITEMS: Buffer = Buffer.from('"items"');

/** Returns the offset after the bracket that opens the outermost object's `items`; -1 if it has none. */
function startOfItems(bytes: Buffer): number {
  let depth = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const code = bytes[at];
    if (code === OPEN_OBJECT || code === OPEN_LIST) depth += 1;
    else if (code === CLOSE_OBJECT || code === CLOSE_LIST) depth -= 1;
    else if (code === QUOTE) {
      const end = endOfString(bytes, at);
      const isItems = depth === 1 && ITEMS.equals(bytes.subarray(at, end + 1));
      at = end;
      const colon = isItems ? skipSpace(bytes, end + 1) : end;
      if (bytes[colon] !== COLON) continue;
      const open = skipSpace(bytes, colon + 1);
      return bytes[open] === OPEN_LIST ? open + 1 : -1;
    }
  }
  return -1;
}

/** Parses the items from `start` on. @returns the offset of the bracket that ends them; -1 if the layout
 *  differs from the expected one
 *  @throws SyntaxError */
function* readItems(bytes: Buffer, start: number, items: unknown[]): Generator<undefined, number> {
  let at = skipSpace(bytes, start);
  if (bytes[at] === CLOSE_LIST) return at;
  let steppedAt = at;
  for (;;) {
    const end = bytes[at] === OPEN_OBJECT ? endOfObject(bytes, at) : -1;
    if (end < 0) return -1;
    items.push(parseJsonText(bytes.toString('utf8', at, end)));
    at = skipSpace(bytes, end);
    if (bytes[at] === CLOSE_LIST) return at;
    if (bytes[at] !== COMMA) return -1;
    at = skipSpace(bytes, at + 1);
    if (at - steppedAt > STEP_BYTES || items.length % 16 === 0) {
      steppedAt = at;
      yield;
    }
  }
}

/** Returns the value of the text, as `JSON.parse` does, in steps between which the caller can yield to the
 *  event loop.
 *  @throws SyntaxError */
export function* parseJsonInSteps(bytes: Buffer): Generator<undefined, unknown> {
  const start = bytes.length > STEP_BYTES ? startOfItems(bytes) : -1;
  if (start >= 0) {
    const items: unknown[] = [];
    const end = yield* readItems(bytes, start, items);
    if (end >= 0) {
      const around: unknown = parseJsonText(bytes.toString('utf8', 0, start) + bytes.toString('utf8', end));
      // Of a duplicate `items`, the last one counts.
      if (isObject(around) && isEmptyList(around['items'])) return { ...around, items };
    }
  }
  return parseJsonText(bytes.toString('utf8'));
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;
