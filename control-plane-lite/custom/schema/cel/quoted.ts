/** Literals of strings and bytes: quotes, triple quotes, raw ones, escapes. Linear. */
import { type Constant, ExpressionError } from './syntax.ts';

interface Quoted {
  readonly value: Constant;
  readonly end: number;
}

interface Start {
  readonly isRaw: boolean;
  readonly isBytes: boolean;
  readonly quote: string;
  readonly from: number;
}

function startOf(text: string, at: number): Start | undefined {
  let from = at;
  let isRaw = false;
  let isBytes = false;
  while (from - at < 2) {
    const char = text.charAt(from).toLowerCase();
    if (char === 'r' && !isRaw) isRaw = true;
    else if (char === 'b' && !isBytes) isBytes = true;
    else break;
    from += 1;
  }
  const char = text.charAt(from);
  if (char !== '"' && char !== "'") return undefined;
  const triple = char.repeat(3);
  const quote = text.startsWith(triple, from) ? triple : char;
  return { isRaw, isBytes, quote, from: from + quote.length };
}

const SIMPLE: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  '?': '?',
  '"': '"',
  "'": "'",
  '`': '`',
};

/** Digits and base of numeric escapes. */
const NUMERIC: Readonly<Record<string, number>> = { x: 2, X: 2, u: 4, U: 8 };

interface Escape {
  readonly code: number;
  readonly end: number;
  /** One byte of bytes. */
  readonly isByte: boolean;
}

function readEscape(text: string, at: number, isBytes: boolean): Escape {
  const char = text.charAt(at + 1);
  const fail = (): ExpressionError => new ExpressionError('invalid escape', at);
  const simple = SIMPLE[char];
  if (simple !== undefined) return { code: simple.charCodeAt(0), end: at + 2, isByte: false };
  const count = NUMERIC[char];
  const isOctal = char >= '0' && char <= '3';
  if (count === undefined && !isOctal) throw fail();
  const from = isOctal ? at + 1 : at + 2;
  const digits = text.slice(from, from + (count ?? 3));
  const valid = isOctal ? /^[0-3][0-7]{2}$/ : /^[0-9a-fA-F]+$/;
  if (digits.length < (count ?? 3) || !valid.test(digits)) throw fail();
  const code = Number.parseInt(digits, isOctal ? 8 : 16);
  const isByte = isBytes && (count ?? 2) === 2;
  if (!isByte && (code > 0x10_ff_ff || (code >= 0xd8_00 && code <= 0xdf_ff))) throw fail();
  if (isBytes && (char === 'u' || char === 'U')) throw fail();
  return { code, end: from + digits.length, isByte };
}

/** Returns the literal that begins at the offset; undefined if none does. @throws ExpressionError */
export function readQuoted(text: string, at: number): Quoted | undefined {
  const start = startOf(text, at);
  if (start === undefined) return undefined;
  const { isRaw, isBytes, quote, from } = start;
  const parts: (string | Uint8Array)[] = [];
  let plainFrom = from;
  let index = from;
  while (!text.startsWith(quote, index)) {
    const char = text.charAt(index);
    if (char === '' || (quote.length === 1 && (char === '\n' || char === '\r')))
      throw new ExpressionError('the string does not end', at);
    if (char !== '\\' || isRaw) {
      index += 1;
      continue;
    }
    const { code, end, isByte } = readEscape(text, index, isBytes);
    parts.push(text.slice(plainFrom, index), isByte ? Uint8Array.of(code) : String.fromCodePoint(code));
    index = end;
    plainFrom = end;
  }
  parts.push(text.slice(plainFrom, index));
  const end = index + quote.length;
  if (!isBytes) return { value: { type: 'string', value: parts.join('') }, end };
  return { value: { type: 'bytes', value: Buffer.concat(parts.map((part) => Buffer.from(part))) }, end };
}
