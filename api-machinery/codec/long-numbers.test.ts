import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseJsonText } from './json-text.ts';
import { hasLongNumber, holdsLongNumber } from './long-numbers.ts';

describe('hasLongNumber', () => {
  test.each<readonly [string, boolean]>([
    ['1234567890123456', true],
    ['-1234567890123456', true],
    ['123456789012345', false],
    ['{"a":1234567890123456}', true],
    ['{"a": -1234567890123456 }', true],
    ['[1,\n1234567890123456]', true],
    ['["1234567890123456"]', false],
    ['["-1234567890123456"]', false],
    ['["2022-12345678901234567"]', false],
    ['[0.1234567890123456]', false],
    [`["${'a1'.repeat(40)}"]`, false],
    ['', false],
  ])('%s: %s', (text, expected) => expect(hasLongNumber(text)).toBe(expected));

  test('finds every number that JSON.parse does not hold, wherever it stands', () => {
    const number = fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n });
    const around = fc.json({ maxDepth: 1 });
    fc.assert(
      fc.property(around, number, fc.boolean(), around, (before, value, negative, after) => {
        const text = `[${before},${negative ? -value : value},${after}]`;
        expect(hasLongNumber(text)).toBe(true);
        const read = parseJsonText(text);
        expect(Array.isArray(read) && String(read[1])).toBe(String(negative ? -value : value));
        expect(JSON.stringify(read)).toBe(JSON.stringify(parseJsonText(JSON.stringify(read))));
      }),
    );
  });
});

test('numbers in long texts are found in the values of the engine', () => {
  const filler = `"${'x'.repeat(20_000)}"`;
  const odd = 2n ** 53n + 1n;
  for (const number of [odd, -odd, 2n ** 53n]) {
    const text = `{"a":${filler},"b":[{"c":[1,${number}]}],"d":1.5}`;
    expect(JSON.stringify(parseJsonText(text))).toBe(text);
  }
  expect(holdsLongNumber([{ a: [Number.MAX_SAFE_INTEGER, 0.1, 'x', null, true] }])).toBe(false);
  expect(holdsLongNumber(2 ** 53)).toBe(true);
  const depth = 100_000;
  const deep = parseJsonText('['.repeat(depth) + ']'.repeat(depth));
  expect(Array.isArray(deep)).toBe(true);
});

test.each(['{"a":9007199254740993,"b":', '{"\\\\":9007199254740993,"b":'])(
  '%s may be nested deeper than bodies',
  (first) => {
    const text = `${first}${'['.repeat(300)}${']'.repeat(300)}}`;
    expect(JSON.stringify(parseJsonText(text))).toBe(text);
  },
);

describe('numbers that no integer of 64 bits is', () => {
  test.each<readonly [string, number | bigint]>([
    ['9223372036854775808', 2 ** 63],
    ['-9223372036854775809', -(2 ** 63)],
    ['18446744073709551615', 2 ** 64],
    [`1${'0'.repeat(400)}`, Number.POSITIVE_INFINITY],
    ['9007199254740993.0', 2 ** 53],
    ['9007199254740993e0', 2 ** 53],
    ['1e18', 1e18],
    ['1000000000000000000', 10n ** 18n],
    ['-9007199254740992', -(2n ** 53n)],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
  ])('%s', (text, value) => expect(parseJsonText(text)).toBe(value));
});
