/** Every regular expression in production code, found by a parser, takes linear time on any text: none
 *  backtracks over the text, none rescans it from every character. */
import { describe, expect, test } from 'vitest';
import { COMPUTED } from './computed-patterns.ts';
import { DRIVERS, EXCUSED } from './drivers.ts';
import { findAll, findIn } from './sources.ts';
import { findOverflow, findWeakness } from './strain.ts';

const all = findAll();
const found = all.patterns;

describe('regular expressions', () => {
  test.each([
    '(a+)+$',
    '^(\\w+\\s?)*$',
    '\\s+$',
    '(["\'])(?:\\\\.|(?!\\1).)*\\1',
    '\\\\(?:\\\\|u005[cC])(?:[^"\\\\]|\\\\.)*"\\s*:',
    '\\$\\$|\\$\\(([^)]*)\\)',
    '^begin$([\\s\\S]*?)^end$',
  ])('%s is found to be weak', (source) => {
    // A busy machine may hide the growth of the times once.
    const isFound = [1, 2, 3].some(() => findWeakness(new RegExp(source, 'm')) !== undefined);
    expect(isFound).toBe(true);
  });

  test.each(['^v?1(\\.\\d+)*$', '^(?:(?:\\d+(?:\\.\\d*)?|\\.\\d+)(?:s|m|h))+$'])(
    '%s is found to exhaust the stack',
    (source) => {
      expect(findOverflow(new RegExp(source))).toMatch(/stack/);
    },
  );

  test('are found in any spelling', () => {
    const text = 'const f = (a: string) => a.match(/x/g) ?? { b: [new RegExp(`${a}`), RegExp("y")] };';
    expect(findIn('a.ts', text).patterns.map(({ source, flags }) => source + flags)).toEqual([
      'xg',
      'new RegExp(`${a}`)',
      'RegExp("y")',
    ]);
  });

  test('built at run time are listed, with examples or a reason', () => {
    const computed = found
      .filter(({ isComputed }) => isComputed)
      .map(({ file, source }) => `${file}: ${source}`);
    expect(computed.toSorted()).toEqual(Object.keys(COMPUTED).toSorted());
  });

  test('withstand all attacks', { timeout: 900_000 }, () => {
    const examples = Object.values(COMPUTED).flatMap((listed) =>
      'examples' in listed ? listed.examples : [],
    );
    const written = new Map(
      found
        .filter(({ isComputed }) => !isComputed)
        .map(({ file, source, flags }) => [
          `${source}/${flags}`,
          { file, pattern: new RegExp(source, flags) },
        ]),
    );
    const patterns = [...written.values(), ...examples.map((pattern) => ({ file: 'computed', pattern }))];
    expect(patterns.length).toBeGreaterThan(300);
    const weak = patterns.flatMap(({ file, pattern }) => {
      const weakness = findWeakness(pattern) ?? findOverflow(pattern);
      return weakness === undefined ? [] : [`${file}: ${String(pattern)}: ${weakness}`];
    });
    expect(weak).toEqual([]);
  });
});

describe('scanners', () => {
  test.each([
    ['const f = (text: string) => { for (let at = 0; at < 9; at += 1) text.charCodeAt(at); }', ['f']],
    ['function g(t: string) { return t.indexOf("a", 5); }', ['g']],
    ['class C { #h(bytes: Buffer) { let i = 0; while (bytes[i] === 3) i += 1; } }', ['#h']],
    ['const k = (r: string) => { while (r !== "") r = r.slice(1); }', ['k']],
    ['const m = (c: Buffer) => { rest = Buffer.concat([rest, c]); }', ['m']],
    ['const n = { async *o(t: string) { for (const x of y) /a/.exec(x); } }', ['o']],
  ])('are found: %s', (text, names) => {
    expect(findIn('a.ts', text).scanners.map(({ name }) => name)).toEqual(names);
  });

  test('are driven, or excused', () => {
    const driven = new Set(DRIVERS.flatMap(({ covers }) => covers));
    const files = new Set(all.scanners.map(({ file }) => file));
    expect([...files].filter((file) => !driven.has(file) && !(file in EXCUSED)).toSorted()).toEqual([]);
    expect(Object.keys(EXCUSED).filter((file) => !files.has(file) || driven.has(file))).toEqual([]);
  });
});
