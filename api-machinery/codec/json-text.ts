/** `JSON.parse` without its fault: once it has seen a key with a backslash in it, V8 takes keys of later texts for that
 *  one if their escaped form begins like it (nodejs/node issue 63785; in every release so far). One client's text
 *  could so change what is read of another's. Texts with such keys are read here instead, and so V8 never sees one. */
import { parseJson } from './json.ts';
import { SyntaxFault } from './limits.ts';

/** A backslash in a string, written as an escape, that may be a key: nothing but the string's rest before a colon. */
const BACKSLASH_IN_KEY = /\\(?:\\|u005[cC])(?:[^"\\]|\\.)*"\s*:/;

/** Texts without an escaped backslash, nearly all, are told by this in no time. */
const mayHaveBackslash = (text: string): boolean => text.includes('\\\\') || text.includes('\\u005');

/** The value of a JSON text, as `JSON.parse` gives it. All JSON that comes from outside of the program, or was made
 *  of what did, is read with this.
 *  @throws SyntaxError */
export function parseJsonText(text: string): unknown {
  if (!mayHaveBackslash(text) || !BACKSLASH_IN_KEY.test(text)) return JSON.parse(text);
  try {
    return parseJson(text, { maxBytes: Number.POSITIVE_INFINITY }).value;
  } catch (cause) {
    if (cause instanceof SyntaxFault) throw new SyntaxError(cause.message, { cause });
    throw cause;
  }
}
