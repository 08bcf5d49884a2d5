/** Parser of JSON paths as in upstream's command line: `.spec.replicas`,
 *  `.status.conditions[?(@.type=="Ready")].status`, `['a.b']`, `[0]`, `[-1:]`, `[*]`, `..name`. Pure.
 *  Source: the platform's JSONPath template without its braces. */
import { readNumber } from '../kit/int64.ts';

export type PathStep =
  | { readonly kind: 'members'; readonly names: readonly string[] }
  | { readonly kind: 'items'; readonly indices: readonly number[] }
  | { readonly kind: 'slice'; readonly from?: number; readonly to?: number; readonly by: number }
  | { readonly kind: 'all' }
  /** The value itself and everything in it. */
  | { readonly kind: 'deep' }
  | { readonly kind: 'filter'; readonly filter: PathFilter };

/** Without an operator: checks existence. */
export interface PathFilter {
  readonly left: Operand;
  readonly compare?: { readonly operator: Operator; readonly right: Operand };
}

export type Operand =
  | { readonly kind: 'path'; readonly steps: readonly PathStep[] }
  | { readonly kind: 'literal'; readonly value: string | number | bigint | boolean };

const OPERATORS = ['==', '!=', '<=', '>=', '<', '>'] as const;
export type Operator = (typeof OPERATORS)[number];

export class JsonPathError extends Error {
  override readonly name = 'JsonPathError';
}

/** Longer than any meaningful path. */
const MAX_LENGTH = 1024;
/** Maximum nesting of filters. */
const MAX_DEPTH = 8;
const NAME = /[^.[\]()\s=!<>'",\\]/;

class Parser {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): readonly PathStep[] {
    const steps = this.#steps();
    if (this.#at < this.#text.length) this.#fail(`unexpected ${JSON.stringify(this.#text[this.#at])}`);
    return steps;
  }

  #fail(why: string): never {
    throw new JsonPathError(`${why} at character ${this.#at + 1} of ${JSON.stringify(this.#text)}`);
  }

  #take(text: string): boolean {
    if (!this.#text.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #expect(text: string): void {
    if (!this.#take(text)) this.#fail(`expected ${JSON.stringify(text)}`);
  }

  #space(): void {
    while (this.#text[this.#at] === ' ') this.#at += 1;
  }

  #steps(): readonly PathStep[] {
    const steps: PathStep[] = [];
    for (;;) {
      if (this.#take('..')) {
        steps.push({ kind: 'deep' });
        if (this.#text[this.#at] !== '[') steps.push(this.#dotted());
      } else if (this.#take('.')) {
        // `.['a']` and `.[0]` are the same without the dot; a single dot is the value itself.
        if (this.#text[this.#at] !== '[' && this.#at < this.#text.length) steps.push(this.#dotted());
      } else if (this.#take('[')) steps.push(this.#bracket());
      else return steps;
    }
  }

  #dotted(): PathStep {
    if (this.#take('*')) return { kind: 'all' };
    let name = '';
    for (let char = this.#text[this.#at]; char !== undefined; char = this.#text[this.#at]) {
      if (char === '\\') {
        this.#at += 1;
        name += this.#text[this.#at] ?? this.#fail('expected a character');
      } else if (NAME.test(char)) name += char;
      else break;
      this.#at += 1;
    }
    if (name === '') this.#fail('expected a name');
    return { kind: 'members', names: [name] };
  }

  #bracket(): PathStep {
    this.#space();
    const step = this.#insideOfBracket();
    this.#space();
    this.#expect(']');
    return step;
  }

  #insideOfBracket(): PathStep {
    if (this.#take('*')) return { kind: 'all' };
    if (this.#take('?(')) return this.#filter();
    const quote = this.#text[this.#at];
    if (quote === "'" || quote === '"') {
      return { kind: 'members', names: this.#listOf(() => this.#quoted()) };
    }
    return this.#indices();
  }

  #listOf<T>(read: () => T): readonly T[] {
    const items: T[] = [];
    do {
      this.#space();
      items.push(read());
      this.#space();
    } while (this.#take(','));
    return items;
  }

  #quoted(): string {
    const quote = this.#text[this.#at];
    if (quote !== "'" && quote !== '"') return this.#fail('expected a quoted text');
    this.#at += 1;
    let text = '';
    for (let char = this.#text[this.#at]; char !== quote; char = this.#text[this.#at]) {
      if (char === undefined) this.#fail('unterminated string');
      if (char === '\\') this.#at += 1;
      text += this.#text[this.#at] ?? '';
      this.#at += 1;
    }
    this.#at += 1;
    return text;
  }

  #indices(): PathStep {
    const first = this.#integer();
    this.#space();
    if (this.#text[this.#at] !== ':') {
      if (first === undefined) this.#fail('expected an index');
      const rest = this.#take(',')
        ? this.#listOf(() => this.#integer() ?? this.#fail('expected an index'))
        : [];
      return { kind: 'items', indices: [first, ...rest] };
    }
    this.#expect(':');
    const to = this.#integer();
    const by = this.#take(':') ? (this.#integer() ?? 1) : 1;
    if (by <= 0) this.#fail('a step must be positive');
    return {
      kind: 'slice',
      by,
      ...(first === undefined ? {} : { from: first }),
      ...(to === undefined ? {} : { to }),
    };
  }

  #integer(): number | undefined {
    const found = /^\s*(-?\d{1,9})/.exec(this.#text.slice(this.#at, this.#at + 12));
    if (found === null) return undefined;
    this.#at += found[0].length;
    return Number(found[1]);
  }

  #filter(): PathStep {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) this.#fail('filters are nested too deeply');
    this.#space();
    const left = this.#operand();
    this.#space();
    const operator = OPERATORS.find((each) => this.#take(each));
    this.#space();
    const filter: PathFilter =
      operator === undefined ? { left } : { left, compare: { operator, right: this.#operand() } };
    this.#space();
    this.#expect(')');
    this.#depth -= 1;
    return { kind: 'filter', filter };
  }

  #operand(): Operand {
    if (this.#take('@')) return { kind: 'path', steps: this.#steps() };
    const quote = this.#text[this.#at];
    if (quote === "'" || quote === '"') return { kind: 'literal', value: this.#quoted() };
    if (this.#take('true')) return { kind: 'literal', value: true };
    if (this.#take('false')) return { kind: 'literal', value: false };
    const number = /^-?\d{1,19}(?:\.\d{1,15})?/.exec(this.#text.slice(this.#at, this.#at + 40));
    if (number === null) return this.#fail('expected @, a string or a number');
    this.#at += number[0].length;
    return { kind: 'literal', value: readNumber(number[0]) };
  }
}

/** @throws JsonPathError */
export function parseSteps(text: string): readonly PathStep[] {
  if (text.length > MAX_LENGTH) throw new JsonPathError(`a path has at most ${MAX_LENGTH} characters`);
  return new Parser(text).parse();
}
