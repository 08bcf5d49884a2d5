import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { parseJson } from './json.ts';
import { parseJsonBytes } from './json-bytes.ts';
import { TextSyntaxError } from './limits.ts';

const outcome = (parse: () => unknown): unknown => {
  try {
    return parse();
  } catch (error) {
    if (error instanceof TextSyntaxError) return [error.message, error.line, error.column];
    throw error;
  }
};

describe('parseJsonBytes', () => {
  it('agrees with the strict reader, whatever it is given', () => {
    const text = fc.oneof(
      fc.json({ maxDepth: 5 }),
      fc.tuple(fc.json(), fc.json()).map(([first, second]) => `{"a":${first},"a":${second}}`),
      fc
        .tuple(fc.json(), fc.nat(), fc.constantFrom('', '"', '{', '[', ':', '\\'))
        .map(([json, at, insert]) => {
          const index = at % (json.length + 1);
          return json.slice(0, index) + insert + json.slice(index + 1);
        }),
    );
    fc.assert(
      fc.property(text, (json) => {
        expect(outcome(() => parseJsonBytes(Buffer.from(json)))).toEqual(outcome(() => parseJson(json)));
      }),
      { numRuns: 1000 },
    );
  });

  test.each([
    '{"a":1,"a":2}',
    '{"x":[{"b":":","b":1}]}',
    '{"\\u0061":1,"a":2}',
    '{"__proto__":1,"__proto__":2}',
  ])('finds the key that %s has twice', (json) => {
    expect(parseJsonBytes(Buffer.from(json)).errors).toHaveLength(1);
  });

  describe('of a large text', () => {
    const many = '1,\n'.repeat(50_000);

    test.each([
      ['is cut off', `[${many}`, 50_001, 1],
      ['is cut off in a word', `[${many}"a`, 50_001, 3],
      ['has a control character', `[${many}"a\tb"]`, 50_001, 3],
      ['goes on', `[${many}1] 2`, 50_001, 4],
      ['is too deep', `[${many}${'['.repeat(200)}`, 50_001, 100],
    ])('that %s reports the line and column', (_name, text, line, column) => {
      expect(outcome(() => parseJsonBytes(Buffer.from(text)))).toEqual([expect.any(String), line, column]);
    });

    it('reports the cause where the position is unknown', () => {
      expect(() => parseJsonBytes(Buffer.from(`[${many}x]`))).toThrow(/Unexpected token 'x'/);
    });

    it('reports the first duplicate keys only, and parses all of them', () => {
      const members = Array.from({ length: 20_000 }, (_, index) => `"k${index}":1,"k${index}":2`);
      const { value, errors } = parseJsonBytes(Buffer.from(`{"a":[{${members.join()}}],"b":1}`));
      expect(errors).toHaveLength(100);
      expect(errors[99]?.field).toBe('a[0].k99');
      expect(value).toMatchObject({ a: [{ k19999: 2 }], b: 1 });
    });
  });

  it('rejects text that is too deep or too large before it is parsed', () => {
    const deep = Buffer.from('['.repeat(1_000_000));
    expect(() => parseJsonBytes(deep)).toThrow(/deeper than 100/);
    expect(() => parseJsonBytes(Buffer.from('"12345"'), { maxBytes: 5 })).toThrow(/larger than 5/);
    const just = `${'['.repeat(100)}${']'.repeat(100)}`;
    expect(parseJsonBytes(Buffer.from(just)).errors).toEqual([]);
    expect(() => parseJsonBytes(Buffer.from(`[${just}]`))).toThrow(/deeper/);
  });
});
