/** `JSON.parse` without a V8 bug: once it has parsed a key with a backslash, V8 mistakes keys of later texts
 *  for that one if their escaped form begins like it (nodejs/node issue 63785; in every release so far). One
 *  client's text could thus change how another's is parsed. Texts with such keys are parsed here, so that V8
 *  never sees one. */
import { parseJsonValue } from './json.ts';
import { TextSyntaxError } from './limits.ts';
import { hasLongNumber, holdsLongNumber } from './long-numbers.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const LETTER_U = 0x75;
const FIVE = 0x35;

/** Reports whether this is the `c` of `\\u005c`, in either case. */
const isC = (code: number): boolean => (code | 0x20) === 0x63;
const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

/** Returns the offset after the closing quote of the string around `from`, which lies between two characters. */
function afterString(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code === BACKSLASH) at += 1;
  }
  return text.length;
}

/** Characters that are looked at one by one before the engine searches: a search costs as much as they do, and texts
 *  full of escapes would need one for each. */
const NEAR = 64;

/** Returns the offset of the next backslash, negative if there is none. */
function nextBackslash(text: string, from: number): number {
  for (let at = from; at < from + NEAR; at += 1) {
    if (text.charCodeAt(at) === BACKSLASH) return at;
  }
  return text.indexOf('\\', from + NEAR);
}

/** Reports whether the escape at this offset means a backslash, by itself or by its number. */
function isBackslashEscape(text: string, at: number): boolean {
  const code = text.charCodeAt(at + 1);
  if (code !== LETTER_U) return code === BACKSLASH;
  // Most numbers differ in the last digit but one.
  return text.charCodeAt(at + 4) === FIVE && text.startsWith('005', at + 2) && isC(text.charCodeAt(at + 5));
}

/** Reports whether a key has a backslash, in one pass: no part of the text is searched twice. The first of several
 *  backslashes in a row begins an escape, because every search starts outside of one. */
function hasBackslashInKey(text: string): boolean {
  for (let at = 0; ; ) {
    const found = nextBackslash(text, at);
    if (found < 0) return false;
    at = found + 2;
    if (!isBackslashEscape(text, found)) continue;
    at = afterString(text, at);
    while (isSpace(text.charCodeAt(at))) at += 1;
    if (text.charCodeAt(at) === COLON) return true;
  }
}

/** In longer texts the value is searched for numbers instead of the text: most of their length is strings. */
const SCANNED_CHARACTERS = 16 * 1024;

/** Returns the value of a JSON text as `JSON.parse` does, except for 64-bit integers: those that a number
 *  cannot represent exactly are bigints (`meta/int64.ts`). All JSON from outside the program, or derived from
 *  it, is parsed with this. Takes time in proportion to the text, whatever its content.
 *  @throws SyntaxError */
export function parseJsonText(text: string): unknown {
  // In nearly all texts backslashes only precede quotes or line ends.
  if (text.includes('\\') && hasBackslashInKey(text)) return parseHere(text);
  if (text.length <= SCANNED_CHARACTERS) return hasLongNumber(text) ? parseHere(text) : JSON.parse(text);
  const value: unknown = JSON.parse(text);
  return holdsLongNumber(value) ? parseHere(text) : value;
}

function parseHere(text: string): unknown {
  try {
    return parseJsonValue(text);
  } catch (cause) {
    if (cause instanceof TextSyntaxError) throw new SyntaxError(cause.message, { cause });
    throw cause;
  }
}
