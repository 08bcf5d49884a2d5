/** Conformance of the expression language: tables written from the CEL specification. */
import { assert, property, string } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileExpression } from './expression.ts';
import { ExpressionError } from './syntax.ts';
import { type CelType, DYN, INT, listOf, STRING } from './types.ts';
import { CelError, CelList, type CelValue, fromJson } from './values.ts';

const SELF: CelType = {
  kind: 'object',
  fields: new Map<string, { name: string; type: CelType }>([
    ['n', { name: 'n', type: INT }],
    ['s', { name: 's', type: STRING }],
    ['list', { name: 'list', type: listOf(INT, 100) }],
    ['texts', { name: 'texts', type: listOf(STRING, 100) }],
    ['map', { name: 'map', type: { kind: 'map', key: STRING, value: INT, most: 100 } }],
    ['any', { name: 'any', type: DYN }],
    ['absent', { name: 'absent', type: INT }],
    ['set', { name: 'set', type: { kind: 'list', item: STRING, most: 10, as: 'set' } }],
    ['when', { name: 'when', type: { kind: 'timestamp' } }],
    ['period', { name: 'period', type: { kind: 'duration' } }],
  ]),
};

const OBJECT = {
  n: 5,
  s: 'héllo',
  list: [1, 2, 3],
  texts: ['b', 'a'],
  map: { a: 1, b: 2 },
  any: '1',
  set: ['x', 'y'],
  when: '2024-02-29T12:30:45.5Z',
  period: '1h30m',
};

const LIMIT = 1_000_000;

function valueOf(rule: string): CelValue | undefined {
  const program = compileExpression(rule, { self: SELF });
  return program.evaluate([fromJson(OBJECT, SELF)], LIMIT).value;
}

const plain = (value: CelValue | undefined): unknown => {
  if (value instanceof CelList) return [...value].map(plain);
  return value instanceof CelError ? `error: ${value.message}` : value;
};

describe('is true:', () => {
  test.each([
    // Literals.
    'true && !false',
    '0x1F == 31 && 10u == uint(10) && 1.5e3 == 1500.0 && .5 == 0.5',
    '-9223372036854775808 < 9223372036854775807',
    `"a\\n\\x41\\u0042\\101" == 'a\\nABA'`,
    `r"\\n" == "\\\\n" && """a"b""" == 'a"b'`,
    'b"abc" == bytes("abc") && size(b"\\xff") == 1',
    'null == null',
    // Operators and precedence.
    '1 + 2 * 3 == 7 && (1 + 2) * 3 == 9 && 7 / 2 == 3 && -7 % 3 == -1',
    '1 < 2 && 2 <= 2 && 3 > 2 && "a" < "b" && false < true',
    'true ? self.n == 5 : 1 / 0 > 0',
    '2 in [1, 2] && !(3 in [1, 2]) && "a" in self.map && !("c" in self.map)',
    '[1, 2] + [3] == self.list && self.list[0] == 1 && self.map["b"] == 2 && self.map.b == 2',
    '{"a": 1}.a == 1 && {1: "x"}[1] == "x" && {"a": 1, "b": 2} == {"b": 2, "a": 1}',
    // An error does not matter if the other operand decides.
    'true || 1 / 0 > 0',
    '1 / 0 > 0 || true',
    '!(false && 1 / 0 > 0) && !(1 / 0 > 0 && false)',
    // Macros.
    'self.list.all(x, x > 0) && !self.list.all(x, x > 1)',
    'self.list.exists(x, x == 2) && self.list.exists_one(x, x == 2) && !self.list.exists_one(x, x > 1)',
    'self.list.map(x, x * 2) == [2, 4, 6] && self.list.map(x, x > 1, x * 2) == [4, 6]',
    'self.list.filter(x, x != 2) == [1, 3]',
    'self.map.all(k, self.map[k] > 0) && self.map.exists(k, k == "a")',
    'self.list.all(x, self.list.exists(y, x == y))',
    '[1, 0].exists(x, 1 / x == 1)',
    'has(self.n) && !has(self.absent) && has(self.map.a) && !has(self.map.z)',
    // Sizes and texts.
    'size(self.s) == 5 && self.s.size() == 5 && size(self.list) == 3 && size(self.map) == 2',
    'self.s.contains("llo") && self.s.startsWith("h") && self.s.endsWith("o")',
    'self.s.matches("^h.*o$") && matches("abc", "b") && !"abc".matches("^b")',
    '"héllo".charAt(1) == "é" && "abcabc".indexOf("c") == 2 && "abcabc".indexOf("c", 3) == 5',
    '"abcabc".lastIndexOf("b") == 4 && "aBc".lowerAscii() == "abc" && "aBc".upperAscii() == "ABC"',
    '" a ".trim() == "a" && "aaa".replace("a", "b") == "bbb" && "aaa".replace("a", "b", 2) == "bba"',
    '"a,b,c".split(",") == ["a", "b", "c"] && "a,b,c".split(",", 2) == ["a", "b,c"]',
    '"hello".substring(1) == "ello" && "hello".substring(1, 3) == "el"',
    '["a", "b"].join("-") == "a-b"',
    // Lists.
    '[1, 2, 2].isSorted() && ![2, 1].isSorted() && [1, 2].sum() == 3 && [1.5, 2.0].sum() == 3.5',
    '[3, 1].min() == 1 && [3, 1].max() == 3 && [1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2',
    'self.set == ["y", "x"] || self.set.all(x, x in ["x", "y"])',
    // Conversions and types.
    'int("7") == 7 && int(2.9) == 2 && double(1) == 1.0 && string(1) == "1" && uint(1) == 1u',
    'type(1) == int && type("a") == string && type([]) == list && type(null) == null_type',
    'dyn(1) == 1 && self.any == "1"',
    // Times.
    'duration("1h").getMinutes() == 60 && self.period == duration("90m")',
    'self.when.getFullYear() == 2024 && self.when.getMonth() == 1 && self.when.getDate() == 29',
    'self.when.getDayOfMonth() == 28 && self.when.getDayOfWeek() == 4 && self.when.getDayOfYear() == 59',
    'self.when.getHours() == 12 && self.when.getHours("02:00") == 14 && self.when.getMilliseconds() == 500',
    'timestamp("2024-01-01T00:00:00Z") + duration("24h") == timestamp("2024-01-02T00:00:00Z")',
    'timestamp("2024-01-02T00:00:00Z") - timestamp("2024-01-01T00:00:00Z") == duration("24h")',
    'string(timestamp("2024-01-01T00:00:00.120Z")) == "2024-01-01T00:00:00.12Z"',
    'string(duration("90s")) == "90s"',
    '// a comment\ntrue',
  ])('%s', (rule) => {
    expect(plain(valueOf(rule))).toBe(true);
  });
});

test.each([
  ['1 / 0', 'division by zero'],
  ['1 % 0', 'modulus by zero'],
  ['9223372036854775807 + 1', 'integer overflow'],
  ['0u - 1u', 'unsigned integer overflow'],
  ['self.list[7]', 'index out of bounds: 7'],
  ['self.map["z"]', 'no such key: z'],
  ['self.absent', 'no such key: absent'],
  ['dyn(1) + dyn("a")', 'no such overload'],
  ['int("x")', 'cannot convert the text to an integer'],
  ['duration("x")', 'invalid duration "x"'],
  ['timestamp("2023-02-30T00:00:00Z")', 'invalid timestamp "2023-02-30T00:00:00Z"'],
  ['[].min()', 'called on an empty list'],
  ['"a".matches("(")', 'invalid pattern'],
  ['[0, 1].all(x, 1 / x == 1)', 'division by zero'],
])('%s is the error %s', (rule, message) => {
  expect(plain(valueOf(rule))).toContain(`error: ${message}`);
});

test.each([
  ['', 'expected an expression'],
  ['1 +', 'expected an expression'],
  ['(1', 'expected ")"'],
  ['1 2', 'unexpected text'],
  ['"abc', 'does not end'],
  ['"\\q"', 'invalid escape'],
  ['9223372036854775808', 'too large'],
  ['1x', 'unexpected letter'],
  ['a.1', 'unexpected text'],
  ['for', 'reserved word'],
  ['other', "undeclared reference to 'other'"],
  ['self.other', "undefined field 'other'"],
  ['self.n.x', 'does not support field selection'],
  ['self.n == "a"', "no matching overload for '=='"],
  ['1 + "a"', "no matching overload for '+'"],
  ['1 == 1.0', "no matching overload for '=='"],
  ['!1', "no matching overload for '!'"],
  ['1 && true', "expected type 'bool'"],
  ['self.s.unknown()', "undeclared reference to 'unknown'"],
  ['self.n.all(x, true)', 'cannot be range of a comprehension'],
  ['self.list.all(1, true)', 'takes the name of a variable'],
  ['has(self)', 'has() takes one selection'],
  ['"a" in self.list', "no matching overload for 'in'"],
  ['('.repeat(200), 'nested too deeply'],
  ['!'.repeat(200), 'nested too deeply'],
  [`1${' + 1'.repeat(200)}`, 'too many operators'],
  ['a'.repeat(20_000), 'longer than'],
])('%s is rejected: %s', (rule, message) => {
  expect(() => compileExpression(rule, { self: SELF })).toThrow(ExpressionError);
  expect(() => compileExpression(rule, { self: SELF })).toThrow(message);
});

describe('work', () => {
  const LONG = Array.from({ length: 2000 }, (_, index) => index);
  const LIST = listOf(INT, 2000);

  test('is limited', () => {
    const program = compileExpression('self.all(x, self.all(y, x + y >= 0))', { self: LIST });
    expect(program.cost).toBeGreaterThan(10_000_000);
    expect(program.evaluate([fromJson(LONG, LIST)], LIMIT)).toEqual({ value: undefined, cost: LIMIT });
  });

  test('is counted, and never more than estimated', () => {
    const program = compileExpression('self.all(x, x >= 0)', { self: LIST });
    const { value, cost } = program.evaluate([fromJson(LONG, LIST)], LIMIT);
    expect(value).toBe(true);
    expect(cost).toBeGreaterThan(2000);
    expect(cost).toBeLessThanOrEqual(program.cost);
  });
});

/** Name of what compiling the text throws. */
function failureOf(text: string): string {
  try {
    compileExpression(text, { self: SELF });
    return 'none';
  } catch (thrown) {
    return thrown instanceof Error ? thrown.name : typeof thrown;
  }
}

test('any text is a rule or an ExpressionError', () => {
  assert(property(string(), (text) => ['none', 'ExpressionError'].includes(failureOf(text))));
});
