/** Detection of numbers in JSON that a JavaScript number may not represent exactly, at a fraction of the cost
 *  of parsing: in the text itself, or in the parsed value. Pure. */

/** Number of digits of the shortest integer that may not be exact. */
const INEXACT_DIGITS = 16;
const ZERO = 0x30;
const NINE = 0x39;
const MINUS = 0x2d;
const SPACE = 0x20;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;

const isDigit = (code: number): boolean => code >= ZERO && code <= NINE;

/** Reports whether a number may follow this character in JSON; NaN is the beginning of the text. Strings
 *  contain such characters too. */
const isBefore = (code: number): boolean =>
  code === COLON || code === COMMA || code === OPEN_LIST || code <= SPACE || Number.isNaN(code);

/** Reports whether so many digits follow a place where a number may begin. Without such a number it is false,
 *  except for some texts with the like in a string. Samples one character in sixteen until that is a digit,
 *  and never scans the same digits twice. */
export function hasLongNumber(text: string): boolean {
  const { length } = text;
  for (let at = INEXACT_DIGITS - 1; at < length; at += INEXACT_DIGITS) {
    if (!isDigit(text.charCodeAt(at))) continue;
    let first = at;
    while (first > 0 && isDigit(text.charCodeAt(first - 1))) first -= 1;
    let last = at;
    while (last + 1 < length && isDigit(text.charCodeAt(last + 1))) last += 1;
    const isLong = last - first + 1 >= INEXACT_DIGITS;
    if (isLong && isBefore(text.charCodeAt(text.charCodeAt(first - 1) === MINUS ? first - 2 : first - 1))) {
      return true;
    }
    at = last;
  }
  return false;
}

type Structure = Readonly<Record<string, unknown>> | readonly unknown[];

const isStructure = (value: unknown): value is Structure => typeof value === 'object' && value !== null;
const isList = (value: Structure): value is readonly unknown[] => Array.isArray(value);

/** Reports whether a parsed value has a number that may differ from the written one. Texts with few but long
 *  strings cost nothing. Not recursive, as the engine's parser is not. */
export function holdsLongNumber(value: unknown): boolean {
  if (!isStructure(value)) return isLong(value);
  const open: Structure[] = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (isList(next)) {
      for (const item of next) {
        if (isStructure(item)) open.push(item);
        else if (isLong(item)) return true;
      }
      continue;
    }
    // `Object.values` would cost five times as much.
    for (const name in next) {
      const member = next[name];
      if (isStructure(member)) open.push(member);
      else if (isLong(member)) return true;
    }
  }
  return false;
}

const isLong = (value: unknown): boolean =>
  typeof value === 'number' && (value > Number.MAX_SAFE_INTEGER || value < Number.MIN_SAFE_INTEGER);
