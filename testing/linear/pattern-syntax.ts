/** Regular expressions as trees, as far as needed to generate matching texts. Reads patterns that the
 *  engine has accepted, so nothing is validated. */

export type PatternNode =
  /** One character of a set, in the pattern's own syntax. */
  | { readonly kind: 'set'; readonly source: string }
  | { readonly kind: 'sequence'; readonly parts: readonly PatternNode[] }
  | { readonly kind: 'choice'; readonly options: readonly PatternNode[] }
  | { readonly kind: 'repeat'; readonly part: PatternNode; readonly min: number; readonly max: number }
  | { readonly kind: 'group'; readonly part: PatternNode; readonly names: readonly string[] }
  | { readonly kind: 'back'; readonly name: string }
  /** Lookarounds, and other parts without width. */
  | { readonly kind: 'empty'; readonly lookaround?: PatternNode };

const ESCAPES: readonly RegExp[] = [
  /\\k<([^>]+)>/y,
  /\\[pP]\{[^}]*\}/y,
  /\\u\{[^}]*\}/y,
  /\\u[0-9a-fA-F]{4}/y,
  /\\x[0-9a-fA-F]{2}/y,
  /\\c[A-Za-z]/y,
  /\\[\s\S]/y,
];
const QUANTIFIER = /(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/y;
const GROUP = /\((?:\?(?:(:)|(<?[=!])|<([^>]+)>))?/y;
const SET = /\[(?:[^\]\\]|\\[\s\S])*\]/y;

class PatternReader {
  readonly #source: string;
  #at = 0;
  #groups = 0;

  constructor(source: string) {
    this.#source = source;
  }

  choice(): PatternNode {
    const options = [this.#sequence()];
    while (this.#source[this.#at] === '|') {
      this.#at += 1;
      options.push(this.#sequence());
    }
    const [only] = options;
    return options.length === 1 && only !== undefined ? only : { kind: 'choice', options };
  }

  #take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#source);
    if (found !== null) this.#at += found[0].length;
    return found;
  }

  #sequence(): PatternNode {
    const parts: PatternNode[] = [];
    while (this.#at < this.#source.length && !'|)'.includes(this.#source[this.#at] ?? '')) {
      parts.push(this.#quantified(this.#atom()));
    }
    return { kind: 'sequence', parts };
  }

  #quantified(part: PatternNode): PatternNode {
    const found = this.#take(QUANTIFIER);
    if (found === null) return part;
    const [, sign, from, comma, to] = found;
    if (sign !== undefined) {
      return { kind: 'repeat', part, min: sign === '+' ? 1 : 0, max: sign === '?' ? 1 : Infinity };
    }
    const min = Number(from);
    const max = comma === undefined ? min : to === '' ? Infinity : Number(to);
    return { kind: 'repeat', part, min, max };
  }

  #atom(): PatternNode {
    const next = this.#source[this.#at];
    if (next === '(') return this.#group();
    const set = this.#take(SET);
    if (set !== null) return { kind: 'set', source: set[0] };
    if (next === '\\') return this.#escape();
    this.#at += 1;
    if (next === '^' || next === '$') return { kind: 'empty' };
    return { kind: 'set', source: next ?? '' };
  }

  #escape(): PatternNode {
    for (const escape of ESCAPES) {
      const found = this.#take(escape);
      if (found === null) continue;
      if (found[1] !== undefined) return { kind: 'back', name: found[1] };
      if (/^\\[bB]$/.test(found[0])) return { kind: 'empty' };
      if (/^\\[1-9]$/.test(found[0])) return { kind: 'back', name: found[0].slice(1) };
      return { kind: 'set', source: found[0] };
    }
    throw new Error(`pattern ${this.#source} ends with a backslash`);
  }

  #group(): PatternNode {
    const [, plain, lookaround, name] = this.#take(GROUP) ?? [];
    const names: string[] = [];
    if (plain === undefined && lookaround === undefined) {
      this.#groups += 1;
      names.push(String(this.#groups), ...(name === undefined ? [] : [name]));
    }
    const part = this.choice();
    this.#at += 1;
    return lookaround === undefined ? { kind: 'group', part, names } : { kind: 'empty', lookaround: part };
  }
}

/** Returns the tree of a pattern. */
export const readPattern = (source: string): PatternNode => new PatternReader(source).choice();
