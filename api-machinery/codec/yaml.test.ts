import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { parseJsonText } from './json-text.ts';
import { formatYaml, parseYaml } from './yaml.ts';

const valuesOf = (text: string): readonly unknown[] => parseYaml(text).map((document) => document.value);

describe('parseYaml', () => {
  test.each([
    ['a: yes\nb: on\nc: "no"', { a: 'yes', b: 'on', c: 'no' }],
    ['mode: 0644', { mode: 420 }],
    ['mode: 0o644', { mode: 420 }],
    ["mode: '0644'", { mode: '0644' }],
    ['a: 08', { a: 8 }],
    ['a: 0x1F', { a: 31 }],
    ['a: 1e3', { a: 1000 }],
    ['a: 1.5', { a: 1.5 }],
    ['a: ~\nb:\nc: null', { a: null, b: null, c: null }],
    ['a: 2020-01-01', { a: '2020-01-01' }],
    ['a: !!str 12', { a: '12' }],
    ['1: x\ntrue: y\nnull: z', { '1': 'x', true: 'y', null: 'z' }],
    ['a: |\n  x\n  y\n', { a: 'x\ny\n' }],
    ['a: &x {b: 1}\nc: *x', { a: { b: 1 }, c: { b: 1 } }],
    ['a: &x {b: 1, c: 2}\nd: {<<: *x, b: 3}', { a: { b: 1, c: 2 }, d: { b: 3, c: 2 } }],
    [
      'a: &x {b: 1}\ne: &y {f: 2, b: 9}\nd: {<<: [*x, *y]}',
      { a: { b: 1 }, e: { f: 2, b: 9 }, d: { b: 1, f: 2 } },
    ],
    ['a: &x 1\nb: *x\nc: &x 2\nd: *x', { a: 1, b: 1, c: 2, d: 2 }],
  ])('reads %j', (text, value) => {
    const [document] = parseYaml(text);
    expect(document?.errors).toEqual([]);
    expect(document?.value).toEqual(value);
  });

  it('reads several documents and marks the empty ones', () => {
    const documents = parseYaml('# only this\n---\na: 1\n---\n---\nb: 2\n...\n');
    expect(documents.map(({ empty, line }) => [empty, line])).toEqual([
      [false, 3],
      [true, 4],
      [false, 6],
    ]);
  });

  test.each([
    ['a: 1\nb: 2\na: 3', ['a']],
    ['x: [{a: 1, a: 2}]', ['x[0].a']],
    ['x: {1: a, "1": b}', ['x[1]']],
  ])('reports keys given twice in %j', (text, fields) => {
    const [document] = parseYaml(text);
    expect(document?.errors.map((error) => [error.kind, error.field])).toEqual(
      fields.map((field) => ['FieldValueDuplicate', field]),
    );
  });

  test.each([
    ['a: [1', 'line 1'],
    ['a: 1\n b: 2', 'line '],
    ['\ta: 1', 'line 1'],
    ['a: *nowhere', 'line 1, column 4'],
    ['a: &x [1, *x]', 'line 1, column 7'],
    ['a: !custom b', 'line 1, column 4'],
    ['? [1]\n: 2', 'line 1'],
    ['a: {<<: &x 3, b: 1}\nc: {<<: *x}', 'line 2'],
    ['a: "\\q"', 'line 1'],
  ])('gives %j no value, but a place', (text, place) => {
    const [document] = parseYaml(text);
    expect(document?.value).toBeUndefined();
    expect(document?.errors[0]?.field.startsWith(place)).toBe(true);
  });

  it('keeps numbers out that JSON does not have', () => {
    expect(parseYaml('a: {b: .nan}')[0]?.errors).toMatchObject([{ field: 'a.b', badValue: '.nan' }]);
  });

  it('does not let a key change the prototype', () => {
    const [value] = valuesOf('__proto__: {polluted: true}');
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });
});

describe('limits', () => {
  it('refuse nesting before it reaches the recursive parts', () => {
    const inFlow = '['.repeat(50_000);
    const inBlocks = '- '.repeat(5000);
    for (const text of [inFlow, inBlocks]) expect(() => parseYaml(text)).toThrow(/deeper than 100 levels/);
  });

  it('accept the maximum depth', () => {
    const text = `${'['.repeat(100)}${']'.repeat(100)}`;
    expect(parseYaml(text)[0]?.errors).toEqual([]);
    expect(parseYaml(`[${text}]`)[0]?.errors[0]?.detail).toContain('deeper');
  });

  it('refuse a bomb of aliases by the work it would make', () => {
    const lines = ['l0: &l0 [x, x, x, x, x, x, x, x, x]'];
    for (let level = 1; level < 12; level += 1) {
      lines.push(`l${level}: &l${level} [${Array.from({ length: 9 }, () => `*l${level - 1}`).join(', ')}]`);
    }
    expect(parseYaml(lines.join('\n'))[0]?.errors[0]?.detail).toContain('aliases');
  });

  it('count the text that aliases repeat', () => {
    const text = `a: &a ${'x'.repeat(20_000)}\nb: [${Array.from({ length: 20 }, () => '*a').join(', ')}]`;
    expect(parseYaml(text)[0]?.errors[0]?.detail).toContain('aliases');
  });

  it('leave ordinary use of anchors alone', () => {
    const text = `a: &a {b: 1, c: [1, 2]}\nd: [${Array.from({ length: 500 }, () => '*a').join(', ')}]`;
    expect(parseYaml(text)[0]?.errors).toEqual([]);
  });

  it('bound size and number of documents', () => {
    expect(() => parseYaml('a: é', { maxBytes: 4 })).toThrow(/larger than 4 bytes/);
    expect(() => parseYaml('a\n---\nb\n---\nc', { maxDocuments: 2 })).toThrow(/more than 2 documents/);
  });
});

describe('formatYaml', () => {
  it('quotes scalars that YAML 1.1 would read as another type', () => {
    expect(formatYaml({ a: 'yes', b: '0644', c: '1', d: 'true', e: 'null' })).toBe(
      'a: "yes"\nb: "0644"\nc: "1"\nd: "true"\ne: "null"\n',
    );
  });

  it('uses neither anchors nor folded lines', () => {
    const shared = { x: 'word '.repeat(60).trim() };
    const text = formatYaml([shared, shared]);
    expect(text).not.toMatch(/[&*>]/);
    expect(text.split('\n')).toHaveLength(3);
  });

  it('is read back to the same value', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), (text) => {
        const value = parseJsonText(text);
        expect(parseYaml(formatYaml(value))[0]?.value ?? null).toEqual(value);
      }),
    );
  });
});
