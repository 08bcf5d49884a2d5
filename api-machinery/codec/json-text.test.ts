import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseJsonText } from './json-text.ts';

describe('JSON texts', () => {
  test.each([
    ['a backslash', '{"a":1,"\\\\":2}', '{"a":1,"\\"":2}', '"'],
    ['a backslash by its number', '{"b":1,"\\u005C":2}', '{"b":1,"\\n":2}', '\n'],
    [
      'an escaped field of a list',
      '{"c":1,"k:{\\\\\\"name\\\\":2}',
      '{"c":1,"k:{\\"name\\":":2}',
      'k:{"name":',
    ],
  ])('are read as they are after a key with %s', (_, before, text, key) => {
    for (let time = 0; time < 3; time += 1) parseJsonText(before);
    expect(Object.keys(parseJsonText(text) as object).at(-1)).toBe(key);
  });

  test('have the members that they were made of, whatever was read before', () => {
    const key = fc.oneof(
      fc.string(),
      fc.constantFrom('\\', '"', '\n', '\\"', '\\n', 'k:{"name":', 'k:{\\"name\\'),
    );
    // Built as texts: an object with such a key is what `setMember` avoids.
    const members = fc.uniqueArray(fc.tuple(key, fc.nat(9)), { selector: ([name]) => name, maxLength: 5 });
    fc.assert(
      fc.property(members, (pairs) => {
        const text = `{${pairs.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join()}}`;
        const read = parseJsonText(text) as Record<string, unknown>;
        const names = pairs.map(([name]) => name);
        expect(Object.keys(read).toSorted()).toEqual(names.toSorted());
        for (const [name, value] of pairs) expect(read[name]).toBe(value);
      }),
      { numRuns: 2000 },
    );
  });

  test.each(['', '{', '{"a\\\\":}', '[1,]', '{"\\\\":1,}'])('%j is none', (text) => {
    expect(() => parseJsonText(text)).toThrow(SyntaxError);
  });
});
