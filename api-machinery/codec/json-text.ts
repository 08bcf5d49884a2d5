/** `JSON.parse` without its fault: once it has seen a key with a backslash in it, V8 takes keys of later texts for that
 *  one if their escaped form begins like it (nodejs/node issue 63785; in every release so far). One client's text
 *  could so change what is read of another's. Texts with such keys are read here instead, and so V8 never sees one. */
import { parseJsonValue } from './json.ts';
import { SyntaxFault } from './limits.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

/** Of `\\u005c`, in either case. */
const isC = (code: number): boolean => (code | 0x20) === 0x63;
const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

/** Offset after the closing quote of the string that `from` lies in, between two of its characters. */
function afterString(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code === BACKSLASH) at += 1;
  }
  return text.length;
}

/** Reports whether a key has a backslash, in one pass: no part of the text is searched twice. The first of several
 *  backslashes in a row begins an escape, as what is searched begins outside of one. */
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

/** The value of a JSON text, as `JSON.parse` gives it. All JSON that comes from outside of the program, or was made
 *  of what did, is read with this. Takes time in proportion to the text, whatever it contains.
 *  @throws SyntaxError */
export function parseJsonText(text: string): unknown {
  // Nearly all texts with a backslash have it before quotes or line ends only.
  if (!text.includes('\\') || !hasBackslashInKey(text)) return JSON.parse(text);
  try {
    return parseJsonValue(text);
  } catch (cause) {
    if (cause instanceof SyntaxFault) throw new SyntaxError(cause.message, { cause });
    throw cause;
  }
}
