import { assert, constantFrom, jsonValue, property, string } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findFirst, parseJsonPath } from './json-path.ts';
import { JsonPathError } from './json-path-parser.ts';

const CAKE = {
  metadata: { name: 'tart', annotations: { 'shop.example/oven': '7' } },
  spec: {
    layers: [
      { name: 'base', cm: 2 },
      { name: 'cream', cm: 1 },
      { name: 'top', cm: 3, glazed: true },
    ],
  },
  status: {
    conditions: [
      { type: 'Baked', status: 'True' },
      { type: 'Sold', status: 'False' },
    ],
  },
};

describe('parseJsonPath', () => {
  test.each<readonly [string, readonly unknown[]]>([
    ['.metadata.name', ['tart']],
    ["['metadata']['name']", ['tart']],
    ['.metadata.annotations.shop\\.example/oven', ['7']],
    [".metadata.annotations['shop.example/oven']", ['7']],
    ['.spec.layers[0].name', ['base']],
    ['.spec.layers[-1].name', ['top']],
    ['.spec.layers[0,2].cm', [2, 3]],
    ['.spec.layers[1:].name', ['cream', 'top']],
    ['.spec.layers[:2].name', ['base', 'cream']],
    ['.spec.layers[::2].name', ['base', 'top']],
    ['.spec.layers[*].cm', [2, 1, 3]],
    ['.status.conditions[?(@.type=="Baked")].status', ['True']],
    [".status.conditions[?(@.type == 'Sold')].status", ['False']],
    ['.spec.layers[?(@.cm>=2)].name', ['base', 'top']],
    ['.spec.layers[?(@.cm!=2)].name', ['cream', 'top']],
    ['.spec.layers[?(@.glazed)].name', ['top']],
    ['.spec.layers[?(@.glazed==true)].cm', [3]],
    ['..name', ['tart', 'base', 'cream', 'top']],
    ["['metadata','spec'].name", ['tart']],
    ['.spec.missing.deeper', []],
    ['.metadata.name[0]', []],
    ['.constructor', []],
    ['.', [CAKE]],
  ])('%s', (text, values) => {
    expect([...parseJsonPath(text).find(CAKE)]).toEqual(values);
  });

  test.each([
    'spec',
    '.spec..',
    '.a[',
    '.a[]',
    '.a[x]',
    ".a['b]",
    '.a[?(@.b=)]',
    '.a[?@.b]',
    '.a b',
    '.a\\',
    '.a[1:2:0]',
    '.a'.repeat(600),
  ])('%s is none', (text) => {
    expect(() => parseJsonPath(text)).toThrow(JsonPathError);
  });

  test('any text is a path or an error, and any value may be searched', () => {
    const alphabet = constantFrom(
      '.',
      '[',
      ']',
      '*',
      '?(',
      '(@',
      ')',
      '=',
      '"',
      "'",
      'a',
      '0',
      '-',
      ':',
      ',',
      '\\',
    );
    const outcome = (text: string, value: unknown): unknown => {
      try {
        return [...parseJsonPath(text).find(value)].includes(undefined);
      } catch (error) {
        return error instanceof JsonPathError ? false : error;
      }
    };
    assert(
      property(string({ unit: alphabet, maxLength: 20 }), jsonValue(), (text, value) => {
        expect(outcome(text, value)).toBe(false);
      }),
    );
  });

  test('a search ends in time', () => {
    const list = Array.from({ length: 300 }, () => ({ a: 1 }));
    const wide = Array.from({ length: 300 }, () => list);
    expect([...parseJsonPath('..a').find(wide)].length).toBeLessThan(20_001);
  });
});

describe('findFirst', () => {
  test('is the first of all', () => {
    expect(findFirst(parseJsonPath('.spec.layers[*].name'), CAKE)).toBe('base');
    expect(findFirst(parseJsonPath('.spec.none'), CAKE)).toBeUndefined();
  });
});
