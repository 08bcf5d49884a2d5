/** Parses a regular expression in RE2 syntax (that of upstream's servers): no backreferences and no
 *  lookaround, so that matching never takes more than linear time. Source: RE2 syntax. */
import { CharSet, classOf, posixClass, unicodeClass } from './char-set.ts';

export class PatternError extends Error {
  override readonly name = 'PatternError';
}

export type Assertion = 'textStart' | 'textEnd' | 'lineStart' | 'lineEnd' | 'wordBoundary' | 'noWordBoundary';

export type PatternNode =
  | { readonly kind: 'empty' }
  | { readonly kind: 'set'; readonly set: CharSet }
  | { readonly kind: 'assertion'; readonly assertion: Assertion }
  | { readonly kind: 'sequence'; readonly nodes: readonly PatternNode[] }
  | { readonly kind: 'choice'; readonly nodes: readonly PatternNode[] }
  | { readonly kind: 'repeat'; readonly node: PatternNode; readonly min: number; readonly max: number };

interface Flags {
  readonly ignoreCase: boolean;
  readonly multiline: boolean;
  readonly dotAll: boolean;
}

const NO_FLAGS: Flags = { ignoreCase: false, multiline: false, dotAll: false };
const MAX_REPEAT = 1000;
const MAX_DEPTH = 250;
const MAX_CODE_POINT = 0x10ffff;
const EMPTY: PatternNode = { kind: 'empty' };
const NEWLINE = 0x0a;

class Parser {
  readonly #source: string;
  #at = 0;
  #flags: Flags = NO_FLAGS;
  #depth = 0;

  constructor(source: string) {
    this.#source = source;
  }

  parse(): PatternNode {
    const node = this.#choice();
    if (this.#at < this.#source.length) throw new PatternError('unexpected )');
    return node;
  }

  #peek(text: string): boolean {
    return this.#source.startsWith(text, this.#at);
  }

  #take(text: string): boolean {
    if (!this.#peek(text)) return false;
    this.#at += text.length;
    return true;
  }

  #nextPoint(): number {
    const point = this.#source.codePointAt(this.#at);
    if (point === undefined) throw new PatternError('unexpected end of the expression');
    this.#at += point > 0xffff ? 2 : 1;
    return point;
  }

  #choice(): PatternNode {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new PatternError('nested too deeply');
    const nodes = [this.#sequence()];
    while (this.#take('|')) nodes.push(this.#sequence());
    this.#depth -= 1;
    return nodes.length === 1 ? (nodes[0] ?? EMPTY) : { kind: 'choice', nodes };
  }

  #sequence(): PatternNode {
    const nodes: PatternNode[] = [];
    while (this.#at < this.#source.length && !this.#peek('|') && !this.#peek(')')) {
      const atom = this.#atom();
      if (atom !== undefined) nodes.push(this.#repeated(atom));
    }
    return nodes.length === 1 ? (nodes[0] ?? EMPTY) : { kind: 'sequence', nodes };
  }

  /** `undefined`: only flags were set. */
  #atom(): PatternNode | undefined {
    if (this.#peek('(')) return this.#group();
    if (this.#peek('[')) return this.#set(this.#bracket());
    const next = this.#source[this.#at] ?? '';
    if (next === '*' || next === '+' || next === '?')
      throw new PatternError(`missing argument to repetition operator: ${next}`);
    const { multiline, dotAll } = this.#flags;
    if (this.#take('.')) {
      return this.#plainSet(dotAll ? CharSet.all : CharSet.of([[NEWLINE, NEWLINE]]).negated());
    }
    if (this.#take('^')) return assertion(multiline ? 'lineStart' : 'textStart');
    if (this.#take('$')) return assertion(multiline ? 'lineEnd' : 'textEnd');
    if (this.#peek('\\')) return this.#escape();
    const point = this.#nextPoint();
    return this.#set(CharSet.of([[point, point]]));
  }

  #set(set: CharSet): PatternNode {
    return this.#plainSet(this.#flags.ignoreCase ? set.foldCase() : set);
  }

  #plainSet(set: CharSet): PatternNode {
    return { kind: 'set', set };
  }

  #group(): PatternNode | undefined {
    this.#take('(');
    const outer = this.#flags;
    if (this.#take('?')) {
      const named = /^(?:P?<([A-Za-z_]\w*)>)/.exec(this.#source.slice(this.#at, this.#at + 200));
      if (named !== null) this.#at += named[0].length;
      else if (this.#groupFlags()) return undefined;
    }
    const node = this.#choice();
    if (!this.#take(')')) throw new PatternError('missing closing )');
    this.#flags = outer;
    return node;
  }

  /** Flags up to `)` (true: they hold for the rest of the group around) or `:`. */
  #groupFlags(): boolean {
    const found = /^([imsU]*)(?:-([imsU]+))?([:)])/.exec(this.#source.slice(this.#at, this.#at + 20));
    if (found === null) throw new PatternError('invalid or unsupported Perl syntax: (?');
    const [text, on = '', off = '', end] = found;
    this.#at += text.length;
    const flag = (name: string, before: boolean): boolean =>
      (before || on.includes(name)) && !off.includes(name);
    this.#flags = {
      ignoreCase: flag('i', this.#flags.ignoreCase),
      multiline: flag('m', this.#flags.multiline),
      dotAll: flag('s', this.#flags.dotAll),
    };
    return end === ')';
  }

  #repeated(atom: PatternNode): PatternNode {
    let node = atom;
    let count = 0;
    for (;;) {
      const range = this.#quantifier();
      if (range === undefined) return node;
      count += 1;
      if (count > 1) throw new PatternError('invalid nested repetition operator');
      // Whether as much or as little as possible is taken makes no difference to whether there is a match.
      this.#take('?');
      node = { kind: 'repeat', node, ...range };
    }
  }

  #quantifier(): { readonly min: number; readonly max: number } | undefined {
    if (this.#take('*')) return { min: 0, max: Number.POSITIVE_INFINITY };
    if (this.#take('+')) return { min: 1, max: Number.POSITIVE_INFINITY };
    if (this.#take('?')) return { min: 0, max: 1 };
    if (!this.#peek('{')) return undefined;
    const found = /^\{(\d+)(?:(,)(\d*))?\}/.exec(this.#source.slice(this.#at, this.#at + 20));
    if (found === null) return undefined;
    const [text, low = '', comma, high = ''] = found;
    this.#at += text.length;
    const min = Number(low);
    const max = comma === undefined ? min : high === '' ? Number.POSITIVE_INFINITY : Number(high);
    if (min > MAX_REPEAT || (Number.isFinite(max) && max > MAX_REPEAT) || max < min) {
      throw new PatternError(`invalid repeat count: ${text}`);
    }
    return { min, max };
  }

  #escape(): PatternNode {
    const next = this.#source[this.#at + 1] ?? '';
    const asserted = ASSERTIONS.get(next);
    if (asserted !== undefined) {
      this.#at += 2;
      return assertion(asserted);
    }
    if (next === 'Q') return this.#quoted();
    return this.#set(this.#escapedSet());
  }

  #quoted(): PatternNode {
    const start = this.#at + 2;
    const end = this.#source.indexOf('\\E', start);
    const text = this.#source.slice(start, end < 0 ? undefined : end);
    this.#at = end < 0 ? this.#source.length : end + 2;
    const nodes = Array.from(text, (char): PatternNode => {
      const point = char.codePointAt(0) ?? 0;
      return this.#set(CharSet.of([[point, point]]));
    });
    return { kind: 'sequence', nodes };
  }

  #escapedSet(): CharSet {
    this.#take('\\');
    const rest = this.#source.slice(this.#at, this.#at + 64);
    const known = classOf(rest[0] ?? '');
    if (known !== undefined) {
      this.#at += 1;
      return known;
    }
    const unicode = /^([pP])(?:\{(\^?)(\w+)\}|([A-Z]))/.exec(rest);
    if (unicode !== null) {
      this.#at += unicode[0].length;
      const name = unicode[3] ?? unicode[4] ?? '';
      const set = unicodeClass(name);
      if (set === undefined) throw new PatternError(`invalid character class range: \\p{${name}}`);
      return (unicode[1] === 'P') !== (unicode[2] === '^') ? set.negated() : set;
    }
    const point = this.#escapedPoint(rest);
    return CharSet.of([[point, point]]);
  }

  #escapedPoint(rest: string): number {
    const control = CONTROLS.get(rest[0] ?? '');
    if (control !== undefined) {
      this.#at += 1;
      return control;
    }
    const hex = /^x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]{1,8})\})/.exec(rest);
    const octal = /^(?:0[0-7]{0,2}|[1-7][0-7]{1,2})/.exec(rest);
    const found = hex ?? octal;
    if (found !== null) {
      this.#at += found[0].length;
      const point = hex === null ? Number.parseInt(found[0], 8) : Number.parseInt(hex[1] ?? hex[2] ?? '', 16);
      if (point > MAX_CODE_POINT) throw new PatternError(`invalid escape sequence: \\${found[0]}`);
      return point;
    }
    const char = rest[0] ?? '';
    if (char === '') throw new PatternError('trailing backslash at end of expression');
    // Only punctuation can be escaped: letters and digits are reserved.
    if (/[A-Za-z0-9]/.test(char)) throw new PatternError(`invalid escape sequence: \\${char}`);
    return this.#nextPoint();
  }

  #bracket(): CharSet {
    this.#take('[');
    const negated = this.#take('^');
    const items: CharSet[] = [];
    while (items.length === 0 || !this.#peek(']')) {
      if (this.#at >= this.#source.length) throw new PatternError('missing closing ]');
      items.push(this.#bracketItem());
    }
    this.#take(']');
    const set = CharSet.union(items);
    const folded = this.#flags.ignoreCase ? set.foldCase() : set;
    return negated ? folded.negated() : folded;
  }

  #bracketItem(): CharSet {
    const posix = this.#peek('[:')
      ? /^\[:(\^?)(\w+):\]/.exec(this.#source.slice(this.#at, this.#at + 32))
      : null;
    if (posix !== null) {
      this.#at += posix[0].length;
      const set = posixClass(posix[2] ?? '');
      if (set === undefined) throw new PatternError(`invalid character class range: ${posix[0]}`);
      return posix[1] === '^' ? set.negated() : set;
    }
    if (this.#peek('\\')) {
      const set = this.#escapedSet();
      const point = set.single;
      return point === undefined ? set : this.#range(point);
    }
    return this.#range(this.#nextPoint());
  }

  /** The character, or the range that it begins. */
  #range(low: number): CharSet {
    if (!this.#peek('-') || this.#source.startsWith(']', this.#at + 1)) return CharSet.of([[low, low]]);
    const before = this.#at;
    this.#take('-');
    const high = this.#peek('\\') ? this.#escapedSet().single : this.#nextPoint();
    if (high === undefined || high < low) {
      throw new PatternError(`invalid character class range: ${this.#source.slice(before - 1, this.#at)}`);
    }
    return CharSet.of([[low, high]]);
  }
}

const assertion = (name: Assertion): PatternNode => ({ kind: 'assertion', assertion: name });

const ASSERTIONS: ReadonlyMap<string, Assertion> = new Map<string, Assertion>([
  ['A', 'textStart'],
  ['z', 'textEnd'],
  ['b', 'wordBoundary'],
  ['B', 'noWordBoundary'],
]);

const CONTROLS: ReadonlyMap<string, number> = new Map([
  ['a', 7],
  ['f', 12],
  ['t', 9],
  ['n', 10],
  ['r', 13],
  ['v', 11],
]);

/** @throws PatternError */
export const parsePattern = (source: string): PatternNode => new Parser(source).parse();
