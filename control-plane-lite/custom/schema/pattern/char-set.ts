/** Sets of characters as sorted ranges of code points. Pure. */

type Range = readonly [low: number, high: number];
type Test = (point: number) => boolean;

const MAX = 0x10ffff;
const ASCII = 128;
const CASE_STEP = 0x20;

export class CharSet {
  static readonly all: CharSet = new CharSet([[0, MAX]], []);
  /** Sorted, apart from one another. */
  readonly #ranges: readonly Range[];
  /** Predicates of further characters in the set. */
  readonly #tests: readonly Test[];

  private constructor(ranges: readonly Range[], tests: readonly Test[]) {
    this.#ranges = ranges;
    this.#tests = tests;
  }

  static of(ranges: readonly Range[]): CharSet {
    return new CharSet(mergeRanges(ranges), []);
  }

  /** Creates a set from a predicate, for large sets without a list of ranges. */
  static by(test: Test): CharSet {
    return new CharSet([], [test]);
  }

  static union(sets: readonly CharSet[]): CharSet {
    const [first] = sets;
    if (sets.length === 1 && first !== undefined) return first;
    const ranges = sets.flatMap((set) => set.#ranges);
    const tests = sets.flatMap((set) => set.#tests);
    return new CharSet(mergeRanges(ranges), tests);
  }

  /** The one character of the set, if it is one. */
  get single(): number | undefined {
    const [first] = this.#ranges;
    if (this.#tests.length > 0 || this.#ranges.length !== 1 || first === undefined) return undefined;
    return first[0] === first[1] ? first[0] : undefined;
  }

  has(point: number): boolean {
    let low = 0;
    let high = this.#ranges.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const range = this.#ranges[middle];
      if (range === undefined || point < range[0]) high = middle - 1;
      else if (point > range[1]) low = middle + 1;
      else return true;
    }
    return this.#tests.some((test) => test(point));
  }

  negated(): CharSet {
    if (this.#tests.length > 0) return CharSet.by((point) => !this.has(point));
    const gaps: Range[] = [];
    let next = 0;
    for (const [low, high] of this.#ranges) {
      if (low > next) gaps.push([next, low - 1]);
      next = high + 1;
    }
    if (next <= MAX) gaps.push([next, MAX]);
    return new CharSet(gaps, []);
  }

  /** With both cases of its letters; of other letters than those of ASCII where the set is small. */
  foldCase(): CharSet {
    const added: Range[] = [];
    for (const [low, high] of this.#ranges) {
      addShifted(added, low, high, 0x41, 0x5a, CASE_STEP);
      addShifted(added, low, high, 0x61, 0x7a, -CASE_STEP);
      for (let point = Math.max(low, ASCII); point <= high && point - low < 512; point += 1) {
        for (const folded of casesOf(point)) added.push([folded, folded]);
      }
    }
    const tests = this.#tests.map(
      (test): Test =>
        (point) =>
          test(point) || casesOf(point).some(test),
    );
    return new CharSet(mergeRanges([...this.#ranges, ...added]), tests);
  }
}

function mergeRanges(ranges: readonly Range[]): readonly Range[] {
  if (ranges.length < 2) return ranges;
  const sorted = ranges.toSorted((a, b) => a[0] - b[0]);
  const merged: [number, number][] = [];
  for (const [low, high] of sorted) {
    const last = merged.at(-1);
    if (last !== undefined && low <= last[1] + 1) last[1] = Math.max(last[1], high);
    else merged.push([low, high]);
  }
  return merged;
}

function addShifted(added: Range[], low: number, high: number, from: number, to: number, step: number): void {
  const start = Math.max(low, from);
  const end = Math.min(high, to);
  if (start <= end) added.push([start + step, end + step]);
}

function casesOf(point: number): readonly number[] {
  const char = String.fromCodePoint(point);
  return [char.toLowerCase(), char.toUpperCase()].flatMap((text) => {
    const folded = text.codePointAt(0);
    return folded === undefined || text.length > (folded > 0xffff ? 2 : 1) ? [] : [folded];
  });
}

const DIGITS: readonly Range[] = [[0x30, 0x39]];
const UPPER: readonly Range[] = [[0x41, 0x5a]];
const LOWER: readonly Range[] = [[0x61, 0x7a]];
const WORD: readonly Range[] = [...DIGITS, ...UPPER, ...LOWER, [0x5f, 0x5f]];
const SPACE: readonly Range[] = [
  [0x09, 0x0a],
  [0x0c, 0x0d],
  [0x20, 0x20],
];

/** The set of `\d`, `\W` and the like. */
export function classOf(letter: string): CharSet | undefined {
  switch (letter) {
    case 'd':
      return CharSet.of(DIGITS);
    case 'D':
      return CharSet.of(DIGITS).negated();
    case 'w':
      return CharSet.of(WORD);
    case 'W':
      return CharSet.of(WORD).negated();
    case 's':
      return CharSet.of(SPACE);
    case 'S':
      return CharSet.of(SPACE).negated();
    default:
      return undefined;
  }
}

export const isWord = (point: number): boolean =>
  (point >= 0x30 && point <= 0x39) ||
  (point >= 0x41 && point <= 0x5a) ||
  (point >= 0x61 && point <= 0x7a) ||
  point === 0x5f;

const POSIX: Readonly<Record<string, readonly Range[]>> = {
  alnum: [...DIGITS, ...UPPER, ...LOWER],
  alpha: [...UPPER, ...LOWER],
  ascii: [[0, 0x7f]],
  blank: [
    [9, 9],
    [0x20, 0x20],
  ],
  cntrl: [
    [0, 0x1f],
    [0x7f, 0x7f],
  ],
  digit: DIGITS,
  graph: [[0x21, 0x7e]],
  lower: LOWER,
  print: [[0x20, 0x7e]],
  punct: [
    [0x21, 0x2f],
    [0x3a, 0x40],
    [0x5b, 0x60],
    [0x7b, 0x7e],
  ],
  space: [
    [9, 0x0d],
    [0x20, 0x20],
  ],
  upper: UPPER,
  word: WORD,
  xdigit: [...DIGITS, [0x41, 0x46], [0x61, 0x66]],
};

/** The set of `[:alpha:]` and the like. */
export function posixClass(name: string): CharSet | undefined {
  return Object.hasOwn(POSIX, name) ? CharSet.of(POSIX[name] ?? []) : undefined;
}

/** The set of a general category (`L`, `Lu`) or a script (`Greek`), as this runtime's own tables have it; `undefined`
 *  if there is none of this name. */
export function unicodeClass(name: string): CharSet | undefined {
  const test = compileClass(`\\p{${name}}`) ?? compileClass(`\\p{Script=${name}}`);
  return test === undefined ? undefined : CharSet.by((point) => test.test(String.fromCodePoint(point)));
}

function compileClass(source: string): RegExp | undefined {
  try {
    return new RegExp(source, 'u');
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
