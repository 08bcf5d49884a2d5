import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { parseJson, parseJsonStream } from './json.ts';
import { TextSyntaxError } from './limits.ts';

function errorOf(work: () => unknown): TextSyntaxError {
  try {
    work();
  } catch (error) {
    if (error instanceof TextSyntaxError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('parseJson', () => {
  it('reads the text of a value as the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(0, 1, '\t', ' \n'), (value, indent) => {
        const text = JSON.stringify(value);
        const read = parseJson(JSON.stringify(value, null, indent));
        expect(JSON.stringify(read.value)).toBe(text);
        expect(read.errors).toEqual([]);
      }),
    );
  });

  it('rejects the texts that JSON.parse rejects', () => {
    const nearly = fc.tuple(
      fc.json({ maxDepth: 2 }),
      fc.nat(),
      fc.constantFrom('', ',', '"', '}', '[', '0', '.', '\\'),
    );
    fc.assert(
      fc.property(nearly, ([text, at, insert]) => {
        const index = at % (text.length + 1);
        const changed = text.slice(0, index) + insert + text.slice(index + (insert === '' ? 1 : 0));
        const accepts = (parse: (text: string) => unknown): boolean => {
          try {
            parse(changed);
            return true;
          } catch {
            return false;
          }
        };
        expect(accepts(parseJson)).toBe(accepts((source) => JSON.parse(source)));
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    ['{"a":1,"a":2}', ['a']],
    ['{"a":{"b":1,"b":2}}', ['a.b']],
    ['[{"x":[0,{"y":1,"y":2,"y":3}]}]', ['[0].x[1].y', '[0].x[1].y']],
    ['{"a.b":{"c":1,"c":1}}', ['[a.b].c']],
    ['{"\\u0061":1,"a":2}', ['a']],
  ])('reports every key given twice in %s', (text, fields) => {
    expect(parseJson(text).errors.map((error) => error.field)).toEqual(fields);
  });

  test.each([
    ['', 1, 1],
    ['{"a":1,}', 1, 8],
    ['{\n  "a": tru\n}', 2, 8],
    ['[1 2]', 1, 4],
    ['{"a" 1}', 1, 6],
    ["{'a':1}", 1, 2],
    ['"a\nb"', 1, 3],
    ['"\\x"', 1, 1],
    ['1 2', 1, 3],
    ['{"a":1', 1, 7],
    ['01', 1, 2],
    ['NaN', 1, 1],
  ])('reports the position of the error in %j', (text, line, column) => {
    const fieldError = errorOf(() => parseJson(text));
    expect([fieldError.line, fieldError.column]).toEqual([line, column]);
  });

  it('does not let a key change the prototype', () => {
    const { value } = parseJson('{"__proto__":{"polluted":true}}');
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.keys(value as object)).toEqual(['__proto__']);
  });

  it('holds its limits', () => {
    expect(parseJson(`${'['.repeat(100)}${']'.repeat(100)}`).errors).toEqual([]);
    expect(errorOf(() => parseJson('['.repeat(101))).message).toContain('deeper than 100');
    expect(errorOf(() => parseJson('["éé"]', { maxBytes: 7 })).message).toContain('larger than 7 bytes');
    expect(parseJson('["éé"]', { maxBytes: 8 }).value).toEqual(['éé']);
  });
});

describe('parseJsonStream', () => {
  it('reads values one after the other with their lines', () => {
    expect(parseJsonStream('{"a":1}{"b":2}\n\n[3]').map(({ line, value }) => [line, value])).toEqual([
      [1, { a: 1 }],
      [1, { b: 2 }],
      [3, [3]],
    ]);
    expect(parseJsonStream(' \n')).toEqual([]);
  });

  it('limits the number of documents', () => {
    expect(errorOf(() => parseJsonStream('1 2 3', { maxDocuments: 2 })).message).toContain('more than 2');
  });
});
