import { Buffer } from 'node:buffer';
import { describe, expect, it, test } from 'vitest';
import { parseDocuments, parseDocumentsInTurns } from './documents.ts';

const summary = (input: string | Uint8Array): readonly unknown[] =>
  parseDocuments(input).map(({ number, line, value, errors }) => [number, line, value, errors.length]);

describe('parseDocuments', () => {
  test.each([
    ['', []],
    ['---\n# nothing\n---\n', []],
    ['null', []],
    ['a: 1', [['1', 1, { a: 1 }, 0]]],
    [
      'a: 1\n---\n---\nb: 2',
      [
        ['1', 1, { a: 1 }, 0],
        ['3', 4, { b: 2 }, 0],
      ],
    ],
    ['{"a":1}', [['1', 1, { a: 1 }, 0]]],
    [
      ' \n{"a":1}\n{"b":2}',
      [
        ['1', 2, { a: 1 }, 0],
        ['2', 3, { b: 2 }, 0],
      ],
    ],
    [
      '{"a":1}\n---\n{"b":2}',
      [
        ['1', 1, { a: 1 }, 0],
        ['2', 3, { b: 2 }, 0],
      ],
    ],
    ['{a: 1}', [['1', 1, { a: 1 }, 0]]],
    ['[1, x]', [['1', 1, [1, 'x'], 0]]],
    ['\uFEFFa: 1', [['1', 1, { a: 1 }, 0]]],
    ['\uFEFF{"a":1}', [['1', 1, { a: 1 }, 0]]],
    ['a: 1\r\nb: 2\r\n', [['1', 1, { a: 1, b: 2 }, 0]]],
    ['just text', [['1', 1, 'just text', 0]]],
  ])('reads %j', (text, expected) => {
    expect(summary(text)).toEqual(expected);
  });

  it('returns the valid documents beside an invalid one', () => {
    expect(summary('a: 1\n---\nb: [\n---\nc: 3\n')).toEqual([
      ['1', 1, { a: 1 }, 0],
      ['2', 3, undefined, 1],
      ['3', 5, { c: 3 }, 0],
    ]);
  });

  test.each([
    ['a NUL character', 'a: 1\nb: \0', 'line 2, column 4', /not text/],
    ['a control character', 'a: \u001b[31m', 'line 1, column 4', /U\+001b/],
    ['bytes that are no UTF-8', Buffer.from([0x61, 0x3a, 0xff, 0xfe]), 'line 1, column 1', /UTF-8/],
    ['a program', Buffer.from('\x7fELF\x02\x01\x01\0\0'), 'line 1, column 1', /not text/],
    ['half a JSON object', '{"kind":"Pod","metadata":{"na', 'line 1, column 30', /not valid JSON/],
    ['deep JSON', '['.repeat(200_000), 'line 1, column 101', /deeper/],
    ['deep YAML', '- '.repeat(200_000), 'line 1, column', /deeper/],
  ])('gives one clear error for %s', (_, input, place, message) => {
    const documents = parseDocuments(input);
    expect(documents).toHaveLength(1);
    const [error] = documents[0]?.errors ?? [];
    expect(error?.field.startsWith(place)).toBe(true);
    expect(error?.detail).toMatch(message);
    expect(documents[0]?.value).toBeUndefined();
  });

  it('refuses by size before it reads', () => {
    const [document] = parseDocuments(Buffer.alloc(10_000_000, 0xff));
    expect(document?.errors[0]?.detail).toBe('manifest has 10000000 bytes, at most 3145728 are read');
    expect(parseDocuments('a: 1', { maxBytes: 3 })[0]?.errors).toHaveLength(1);
  });

  it('reports too many documents after those it read', () => {
    const documents = parseDocuments('a: 1\n---\nb: 2\n---\nc: 3', { maxDocuments: 2 });
    expect(documents.map(({ number, errors }) => [number, errors.length])).toEqual([
      ['1', 0],
      ['2', 0],
      ['3', 1],
    ]);
  });
});

describe('parseDocumentsInTurns', () => {
  const text = Array.from({ length: 400 }, (_, index) => `a: ${index}\nb: [1, 2, 3]`).join('\n---\n');

  it('returns the result of parseDocuments', async () => {
    const { signal } = new AbortController();
    expect(await parseDocumentsInTurns(text, signal)).toEqual(parseDocuments(text));
  });

  it('lets others run meanwhile', async () => {
    let turns = 0;
    let done = false;
    const count = (): void => {
      turns += 1;
      if (!done) setImmediate(count);
    };
    setImmediate(count);
    await parseDocumentsInTurns(`${text}\n---\nc: [${'1, '.repeat(20_000)}1]`, new AbortController().signal);
    done = true;
    expect(turns).toBeGreaterThan(1);
  });

  it('stops when the signal fires', async () => {
    await expect(parseDocumentsInTurns(text, AbortSignal.abort())).rejects.toThrow(/abort/i);
  });
});
