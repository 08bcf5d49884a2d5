/** Functions on texts, lists and times. Pure. Source: CEL specification (standard functions), cel-go's string extension, and
 *  upstream's list library, release 1.24. */
import { compilePattern } from '../pattern/compile.ts';
import { type Charge, compare, equals, textCost } from './equality.ts';
import { characters, OPERATORS, textList } from './operators.ts';
import { define, method, type Overload } from './overload.ts';
import { type TimePart, timePart } from './times.ts';
import { DYN, sizeOf } from './types.ts';
import { CelDuration, CelError, CelList, CelTimestamp, CelUint, type CelValue } from './values.ts';

const product: Overload['cost'] = ([a = 0, b = 0]) => Math.max(1, textCost(a)) * Math.max(1, textCost(b));
const linear: Overload['cost'] = ([a = 0]) => textCost(a);
const sameText: Overload['result'] = ([type = DYN]) => ({ kind: 'string', most: sizeOf(type) });

type TextTest = (text: string, other: string) => boolean;

const textTest = (name: string, test: TextTest, cost: NonNullable<Overload['cost']>): Overload =>
  method(
    name,
    ['string', 'string'],
    'bool',
    (text: string, other: string, charge: Charge) => {
      charge(cost([text.length, other.length]));
      return test(text, other);
    },
    cost,
  );

/** Steps of the automaton for one match; each counts as a tenth. */
const MOST_STEPS = 100_000;

function matches(text: string, pattern: string, charge: Charge): CelValue {
  charge(patternCost([text.length, pattern.length]));
  const budget = { left: MOST_STEPS };
  let isMatch: boolean | undefined;
  try {
    isMatch = compilePattern(pattern).matches(text, budget);
  } catch (thrown) {
    return new CelError(`invalid pattern: ${thrown instanceof Error ? thrown.message : ''}`);
  }
  charge(textCost(MOST_STEPS - budget.left));
  return isMatch ?? new CelError('the pattern takes too long');
}

const patternCost: NonNullable<Overload['cost']> = ([text = 0, pattern = 0]) =>
  Math.ceil((text + 1) * 0.1) * Math.ceil(pattern * 0.25);

/** Offset in characters to one in code units, and back. */
const unitsOf = (text: string, offset: number): number => Array.from(text).slice(0, offset).join('').length;
const pointsOf = (text: string, units: number): bigint => BigInt(characters(text.slice(0, units)));

function found(text: string, units: number): CelValue {
  return units < 0 ? -1n : pointsOf(text, units);
}

const outside = (): CelError => new CelError('index out of range');

function substring(text: string, from: bigint, to: bigint, charge: Charge): CelValue {
  charge(textCost(text.length));
  const points = Array.from(text);
  if (from < 0n || to < from || to > BigInt(points.length)) return outside();
  return points.slice(Number(from), Number(to)).join('');
}

function replace(text: string, old: string, by: string, limit: bigint, charge: Charge): CelValue {
  const parts = text.split(old);
  const count = limit < 0n ? parts.length - 1 : Math.min(parts.length - 1, Number(limit));
  charge(textCost(text.length + count * by.length));
  return `${parts.slice(0, count + 1).join(by)}${parts
    .slice(count + 1)
    .map((part) => old + part)
    .join('')}`;
}

/** Worst: between all characters. */
const replaceCost: Overload['cost'] = ([text = 0, , by = 0]) => textCost(text + text * by);
const replaced: Overload['result'] = ([text = DYN, , by = DYN]) => ({
  kind: 'string',
  most: sizeOf(text) * Math.max(1, sizeOf(by)),
});

function split(text: string, separator: string, limit: bigint, charge: Charge): CelValue {
  charge(textCost(text.length));
  if (limit === 0n) return CelList.of([]);
  const parts = text.split(separator);
  if (limit < 0n || BigInt(parts.length) <= limit) return CelList.of(parts);
  const count = Number(limit) - 1;
  return CelList.of([...parts.slice(0, count), parts.slice(count).join(separator)]);
}

function joinTexts(list: CelList, separator: string, charge: Charge): CelValue {
  const texts: string[] = [];
  for (const item of list) {
    if (typeof item !== 'string') return new CelError('no such overload');
    charge(textCost(item.length + separator.length));
    texts.push(item);
  }
  return texts.join(separator);
}

/** Changes the letters A to Z, or a to z, only. */
function ascii(text: string, first: string, change: (char: string) => string): string {
  const from = first.charCodeAt(0);
  let result = '';
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    const char = text.charAt(index);
    result += code >= from && code <= from + 25 ? change(char) : char;
  }
  return result;
}

const texts: readonly Overload[] = [
  textTest(
    'contains',
    (text, other) => text.includes(other),
    (sizes) => product(sizes),
  ),
  textTest(
    'startsWith',
    (text, other) => text.startsWith(other),
    ([, size = 0]) => textCost(size),
  ),
  textTest(
    'endsWith',
    (text, other) => text.endsWith(other),
    ([, size = 0]) => textCost(size),
  ),
  method('matches', ['string', 'string'], 'bool', matches, patternCost),
  define('matches', ['string', 'string'], 'bool', matches, patternCost),
  method(
    'charAt',
    ['string', 'int'],
    'string',
    (text: string, at: bigint, charge: Charge) => {
      charge(textCost(text.length));
      const points = Array.from(text);
      return at < 0n || at > BigInt(points.length) ? outside() : (points[Number(at)] ?? '');
    },
    linear,
  ),
  method(
    'indexOf',
    ['string', 'string'],
    'int',
    (text: string, other: string, charge: Charge) => {
      charge(product([text.length, other.length]));
      return found(text, text.indexOf(other));
    },
    product,
  ),
  method(
    'indexOf',
    ['string', 'string', 'int'],
    'int',
    (text: string, other: string, from: bigint, charge: Charge) => {
      charge(product([text.length, other.length]));
      if (from < 0n || from > BigInt(text.length)) return outside();
      return found(text, text.indexOf(other, unitsOf(text, Number(from))));
    },
    product,
  ),
  method(
    'lastIndexOf',
    ['string', 'string'],
    'int',
    (text: string, other: string, charge: Charge) => {
      charge(product([text.length, other.length]));
      return found(text, text.lastIndexOf(other));
    },
    product,
  ),
  method(
    'lastIndexOf',
    ['string', 'string', 'int'],
    'int',
    (text: string, other: string, from: bigint, charge: Charge) => {
      charge(product([text.length, other.length]));
      if (from < 0n || from > BigInt(text.length)) return outside();
      return found(text, text.lastIndexOf(other, unitsOf(text, Number(from))));
    },
    product,
  ),
  method(
    'lowerAscii',
    ['string'],
    sameText,
    (text: string, charge: Charge) => {
      charge(textCost(text.length));
      return ascii(text, 'A', (char) => char.toLowerCase());
    },
    linear,
  ),
  method(
    'upperAscii',
    ['string'],
    sameText,
    (text: string, charge: Charge) => {
      charge(textCost(text.length));
      return ascii(text, 'a', (char) => char.toUpperCase());
    },
    linear,
  ),
  method(
    'trim',
    ['string'],
    sameText,
    (text: string, charge: Charge) => {
      charge(textCost(text.length));
      return text.trim();
    },
    linear,
  ),
  method(
    'replace',
    ['string', 'string', 'string'],
    replaced,
    (text: string, old: string, by: string, charge: Charge) => replace(text, old, by, -1n, charge),
    replaceCost,
  ),
  method('replace', ['string', 'string', 'string', 'int'], replaced, replace, replaceCost),
  method(
    'split',
    ['string', 'string'],
    () => textList,
    (text: string, separator: string, charge: Charge) => split(text, separator, -1n, charge),
    linear,
  ),
  method('split', ['string', 'string', 'int'], () => textList, split, linear),
  method(
    'substring',
    ['string', 'int'],
    sameText,
    (text: string, from: bigint, charge: Charge) => substring(text, from, BigInt(characters(text)), charge),
    linear,
  ),
  method('substring', ['string', 'int', 'int'], sameText, substring, linear),
  method(
    'join',
    ['list'],
    'string',
    (list: CelList, charge: Charge) => joinTexts(list, '', charge),
    ([size = 0]) => size,
  ),
  method('join', ['list', 'string'], 'string', joinTexts, ([size = 0]) => size),
];

const itemType: Overload['result'] = ([list]) => (list?.kind === 'list' ? list.item : DYN);
const perItem: Overload['cost'] = ([size = 0]) => size;
const EMPTY = new CelError('called on an empty list');

function extreme(list: CelList, isBetter: (order: number) => boolean, charge: Charge): CelValue {
  let best: CelValue | undefined;
  for (const item of list) {
    charge(1);
    if (best === undefined) {
      best = item;
      continue;
    }
    const order = compare(item, best, charge);
    if (order instanceof CelError) return order;
    if (isBetter(order)) best = item;
  }
  return best ?? EMPTY;
}

function isSorted(list: CelList, charge: Charge): CelValue {
  for (let index = 1; index < list.length; index += 1) {
    charge(1);
    const order = compare(list.at(index - 1), list.at(index), charge);
    if (order instanceof CelError) return order;
    if (order > 0) return false;
  }
  return true;
}

const SUMS = OPERATORS.filter(
  ({ name, params }) => name === '+' && params.length === 2 && params[0] === params[1],
);

function sum(list: CelList, charge: Charge): CelValue {
  let total: CelValue | undefined;
  for (const item of list) {
    charge(1);
    if (total === undefined) total = item;
    else if (typeof total === 'bigint' && typeof item === 'bigint')
      total = SUMS[0]?.call([total, item], charge) ?? null;
    else if (typeof total === 'number' && typeof item === 'number') total += item;
    else if (total instanceof CelUint && item instanceof CelUint)
      total = new CelUint(total.value + item.value);
    else if (total instanceof CelDuration && item instanceof CelDuration)
      total = new CelDuration(total.ns + item.ns);
    else return new CelError('no such overload');
    if (total instanceof CelError) return total;
  }
  return total ?? 0n;
}

function indexIn(list: CelList, wanted: CelValue, isLast: boolean, charge: Charge): CelValue {
  let index = -1n;
  let at = 0n;
  for (const item of list) {
    if (equals(item, wanted, charge)) {
      index = at;
      if (!isLast) return index;
    }
    at += 1n;
  }
  return index;
}

const lists: readonly Overload[] = [
  method('isSorted', ['list'], 'bool', isSorted, perItem),
  method('sum', ['list'], itemType, sum, perItem),
  method(
    'min',
    ['list'],
    itemType,
    (list: CelList, charge: Charge) => extreme(list, (order) => order < 0, charge),
    perItem,
  ),
  method(
    'max',
    ['list'],
    itemType,
    (list: CelList, charge: Charge) => extreme(list, (order) => order > 0, charge),
    perItem,
  ),
  method(
    'indexOf',
    ['list', 'any'],
    'int',
    (list: CelList, item: CelValue, charge: Charge) => indexIn(list, item, false, charge),
    perItem,
  ),
  method(
    'lastIndexOf',
    ['list', 'any'],
    'int',
    (list: CelList, item: CelValue, charge: Charge) => indexIn(list, item, true, charge),
    perItem,
  ),
];

const PARTS: readonly TimePart[] = [
  'FullYear',
  'Month',
  'Date',
  'DayOfMonth',
  'DayOfWeek',
  'DayOfYear',
  'Hours',
  'Minutes',
  'Seconds',
  'Milliseconds',
];

const partOf = (ns: bigint, part: TimePart, zone?: string): CelValue => {
  const value = timePart(ns, part, zone);
  return value === undefined ? new CelError(`unknown time zone ${JSON.stringify(zone)}`) : BigInt(value);
};

const DIVISORS: readonly (readonly [string, bigint])[] = [
  ['getHours', 3_600_000_000_000n],
  ['getMinutes', 60_000_000_000n],
  ['getSeconds', 1_000_000_000n],
  ['getMilliseconds', 1_000_000n],
];

const times: readonly Overload[] = [
  ...PARTS.flatMap((part) => [
    method(`get${part}`, ['timestamp'], 'int', ({ ns }: CelTimestamp) => partOf(ns, part)),
    method(`get${part}`, ['timestamp', 'string'], 'int', ({ ns }: CelTimestamp, zone: string) =>
      partOf(ns, part, zone),
    ),
  ]),
  ...DIVISORS.map(([name, divisor]) =>
    method(name, ['duration'], 'int', ({ ns }: CelDuration) => ns / divisor),
  ),
];

/** By name: operators and functions. */
export const FUNCTIONS: ReadonlyMap<string, readonly Overload[]> = Map.groupBy(
  [...OPERATORS, ...texts, ...lists, ...times],
  ({ name }) => name,
);
