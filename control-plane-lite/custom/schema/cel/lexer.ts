/** Tokens of the expression language. Linear in the length of the text, without regular expressions. */

import { readQuoted } from './quoted.ts';
import { type Constant, ExpressionError } from './syntax.ts';

export type Token = { readonly at: number } & (
  | { readonly kind: 'name'; readonly text: string }
  | { readonly kind: 'constant'; readonly value: Constant }
  | { readonly kind: 'symbol'; readonly text: string }
  | { readonly kind: 'end' }
);

/** Longest rule. */
export const MAX_LENGTH = 16_384;

const DOUBLE_SYMBOLS: ReadonlySet<string> = new Set(['&&', '||', '==', '!=', '<=', '>=']);
const SYMBOLS = '()[]{}.,?:!-+*/%<>';

const isDigit = (char: string): boolean => char >= '0' && char <= '9';
const isHex = (char: string): boolean =>
  isDigit(char) || (char >= 'a' && char <= 'f') || (char >= 'A' && char <= 'F');
const isLetter = (char: string): boolean =>
  (char >= 'a' && char <= 'z') || (char >= 'A' && char <= 'Z') || char === '_';
const isSpace = (char: string): boolean => ' \t\n\r\f'.includes(char) && char !== '';

const MOST_INT = 2n ** 63n;
const MOST_UINT = 2n ** 64n;

class Lexer {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  #char(offset = 0): string {
    return this.#text.charAt(this.#at + offset);
  }

  #while(accept: (char: string) => boolean): string {
    const from = this.#at;
    while (this.#at < this.#text.length && accept(this.#char())) this.#at += 1;
    return this.#text.slice(from, this.#at);
  }

  #skip(): void {
    for (;;) {
      this.#while(isSpace);
      if (this.#char() !== '/' || this.#char(1) !== '/') return;
      this.#while((char) => char !== '\n');
    }
  }

  next(): Token {
    this.#skip();
    const at = this.#at;
    const char = this.#char();
    if (char === '') return { kind: 'end', at };
    const quoted = readQuoted(this.#text, at);
    if (quoted !== undefined) {
      this.#at = quoted.end;
      return { kind: 'constant', value: quoted.value, at };
    }
    if (isDigit(char) || (char === '.' && isDigit(this.#char(1)))) return this.#number();
    if (isLetter(char)) {
      const text = this.#while((each) => isLetter(each) || isDigit(each));
      return { kind: 'name', text, at };
    }
    const two = this.#text.slice(at, at + 2);
    const text = DOUBLE_SYMBOLS.has(two) ? two : char;
    if (text.length === 1 && !SYMBOLS.includes(text))
      throw new ExpressionError(`unexpected ${JSON.stringify(text)}`, at);
    this.#at += text.length;
    return { kind: 'symbol', text, at };
  }

  #number(): Token {
    const at = this.#at;
    const integer = (value: bigint): Token => {
      const isUnsigned = this.#char() === 'u' || this.#char() === 'U';
      if (isUnsigned) this.#at += 1;
      // One more than the greatest: the operand of a minus.
      if (isUnsigned ? value >= MOST_UINT : value > MOST_INT)
        throw new ExpressionError('the number is too large', at);
      this.#endNumber();
      return { kind: 'constant', value: { type: isUnsigned ? 'uint' : 'int', value }, at };
    };
    if (this.#char() === '0' && 'xX'.includes(this.#char(1)) && this.#char(1) !== '') {
      this.#at += 2;
      const digits = this.#while(isHex);
      if (digits === '' || digits.length > 16) throw new ExpressionError('not a hexadecimal number', at);
      return integer(BigInt(`0x${digits}`));
    }
    const whole = this.#while(isDigit);
    const isFraction = this.#char() === '.' && isDigit(this.#char(1));
    if (isFraction) {
      this.#at += 1;
      this.#while(isDigit);
    }
    const hasExponent = this.#exponent();
    if (isFraction || hasExponent) {
      this.#endNumber();
      return {
        kind: 'constant',
        value: { type: 'double', value: Number(this.#text.slice(at, this.#at)) },
        at,
      };
    }
    if (whole.length > 20) throw new ExpressionError('the number is too large', at);
    return integer(BigInt(whole));
  }

  #exponent(): boolean {
    if (this.#char() !== 'e' && this.#char() !== 'E') return false;
    const signed = '+-'.includes(this.#char(1)) && this.#char(1) !== '' ? 2 : 1;
    if (!isDigit(this.#char(signed))) return false;
    this.#at += signed;
    this.#while(isDigit);
    return true;
  }

  #endNumber(): void {
    if (isLetter(this.#char())) throw new ExpressionError('unexpected letter after a number', this.#at);
  }
}

/** @throws ExpressionError */
export function tokensOf(text: string): readonly Token[] {
  if (text.length > MAX_LENGTH) throw new ExpressionError(`longer than ${MAX_LENGTH} characters`, 0);
  const lexer = new Lexer(text);
  const tokens: Token[] = [];
  for (;;) {
    const token = lexer.next();
    tokens.push(token);
    if (token.kind === 'end') return tokens;
  }
}
