import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { finish } from '../kit/steps.ts';
import { copyJsonSteps } from './copy-json.ts';
import { parseJsonText } from './json-text.ts';
import { writeJsonSteps } from './json-writer.ts';

const written = (value: object): string => finish(writeJsonSteps(value)).toString('utf8');
const wide = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`k${index}`, [index, {}]]));

describe('writeJsonSteps', () => {
  test('writes the text of JSON.stringify', () => {
    fc.assert(
      fc.property(fc.oneof(fc.array(fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue())), (value) => {
        expect(written(value)).toBe(JSON.stringify(value));
      }),
    );
  });

  test.each([
    ['absent members', { a: undefined, b: [undefined], c: null }],
    ['exact numbers', { a: 9_007_199_254_740_993n, b: [1n] }],
    ['names of every kind', parseJsonText('{"__proto__":{"a":1},"toJSON":"text","1":1,"\\"":[]}')],
    ['very many members', wide],
  ] as const)('writes %s', (_what, value) => {
    expect(written(Object(value) as object)).toBe(JSON.stringify(value));
  });

  test('pauses after every few thousand values', () => {
    let pauses = 0;
    for (const _ of writeJsonSteps(wide)) pauses += 1;
    expect(pauses).toBeGreaterThan(10);
  });
});

describe('copyJsonSteps', () => {
  test('makes the same of values of any size, member by member', () => {
    const copy = finish(copyJsonSteps(wide));
    expect(copy).not.toBe(wide);
    expect(JSON.stringify(copy) === JSON.stringify(wide)).toBe(true);
  });
});
