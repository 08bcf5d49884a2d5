/** Every regular expression of production code, found by a parser, takes time in proportion to the text it looks at,
 *  whatever the text: none backtracks over what it has seen, none looks anew at every character. */
import { describe, expect, test } from 'vitest';
import { COMPUTED } from './computed-patterns.ts';
import { findAll, findIn } from './sources.ts';
import { findWeakness } from './strain.ts';

const found = findAll().patterns;

describe('regular expressions', () => {
  test.each([
    '(a+)+$',
    '^(\\w+\\s?)*$',
    '^(?=(a+)+$)a',
    '\\s+$',
    '^\\s*(.*?)\\s*$',
    '^[^,]*,.*?,.*?$',
    '<!--.*?-->',
    '(["\'])(?:\\\\.|(?!\\1).)*\\1',
    '(?:[^"\\\\]|\\\\.)*"',
    '\\\\(?:\\\\|u005[cC])(?:[^"\\\\]|\\\\.)*"\\s*:',
    '\\$\\$|\\$\\(([^)]*)\\)',
    '^begin$([\\s\\S]*?)^end$',
  ])('%s is found to be weak', (source) => {
    expect(findWeakness(new RegExp(source, 'm'))).toBeDefined();
  });

  test('are found however they are written', () => {
    const text = 'const f = (a: string) => a.match(/x/g) ?? { b: [new RegExp(`${a}`), RegExp("y")] };';
    expect(findIn('a.ts', text).patterns.map(({ source, flags }) => source + flags)).toEqual([
      'xg',
      'new RegExp(`${a}`)',
      'RegExp("y")',
    ]);
  });

  test('that are put together are listed, with examples or a reason', () => {
    const computed = found
      .filter(({ isComputed }) => isComputed)
      .map(({ file, source }) => `${file}: ${source}`);
    expect(computed.toSorted()).toEqual(Object.keys(COMPUTED).toSorted());
  });

  test('withstand all attacks', { timeout: 120_000 }, () => {
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
    const all = [...written.values(), ...examples.map((pattern) => ({ file: 'computed', pattern }))];
    expect(all.length).toBeGreaterThan(300);
    const weak = all.flatMap(({ file, pattern }) => {
      const weakness = findWeakness(pattern);
      return weakness === undefined ? [] : [`${file}: ${String(pattern)}: ${weakness}`];
    });
    expect(weak).toEqual([]);
  });
});
