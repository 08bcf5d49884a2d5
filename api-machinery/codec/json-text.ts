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

/** Reports whether a key has a backslash, in one pass: no part of the text is searched twice. The first of several
 *  backslashes in a row begins an escape, because every search starts outside of one. */
function hasBackslashInKey(text: string): boolean {
  const { length } = text;
  const find = (written: string, from: number): number => {
    const found = text.indexOf(written, from);
    return found < 0 ? length : found;
  };
  let doubled = find('\\\\', 0);
  let numbered = find('\\u005', 0);
  for (let at = 0; ; ) {
    if (doubled < at) doubled = find('\\\\', at);
    if (numbered < at) numbered = find('\\u005', at);
    const found = Math.min(doubled, numbered);
    if (found === length) return false;
    const isBackslash = found === doubled || isC(text.charCodeAt(found + 5));
    at = isBackslash ? afterString(text, found + 2) : found + 2;
    if (!isBackslash) continue;
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
