import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compilePattern } from './compile.ts';
import { PatternError } from './parse.ts';

const matches = (source: string, text: string): boolean | undefined => compilePattern(source).matches(text);

describe('compilePattern', () => {
  test.each<readonly [string, string, boolean]>([
    ['', '', true],
    ['', 'a', true],
    ['b', 'abc', true],
    ['^b', 'abc', false],
    ['^a', 'abc', true],
    ['c$', 'abc', true],
    ['b$', 'abc', false],
    ['^a.c$', 'abc', true],
    ['^a.c$', 'a\nc', false],
    ['(?s)^a.c$', 'a\nc', true],
    ['^(?i)AbC$', 'aBc', true],
    ['^(?i:a)b$', 'Ab', true],
    ['^(?i:a)b$', 'AB', false],
    ['(?m)^b$', 'a\nb\nc', true],
    ['^b$', 'a\nb\nc', false],
    ['^(a|b)*$', 'abba', true],
    ['^(a|b)*$', 'abca', false],
    ['^a{2,3}$', 'aa', true],
    ['^a{2,3}$', 'aaaa', false],
    ['^a{2,}$', 'aaaaa', true],
    ['^a{2}$', 'a', false],
    ['^a{,2}$', 'a{,2}', true],
    ['^x?y+?$', 'yyy', true],
    ['^[a-c]+$', 'abc', true],
    ['^[^a-c]+$', 'abd', false],
    ['^[]a]+$', ']a', true],
    ['^[a-]+$', '-a', true],
    ['^[\\w.-]+$', 'a_b.c-1', true],
    ['^[[:alpha:][:digit:]]+$', 'aZ9', true],
    ['^[[:^digit:]]$', '9', false],
    ['^\\d+\\s\\S\\W\\D$', '12 x-y', true],
    ['\\bfoo\\b', 'a foo b', true],
    ['\\bfoo\\b', 'afoo', false],
    ['\\Bfoo', 'afoo', true],
    ['\\Aa\\z', 'a', true],
    ['^\\x41\\x{1F600}\\n$', 'A😀\n', true],
    ['^.$', '😀', true],
    ['^\\pL+$', 'äβж', true],
    ['^\\p{Greek}+$', 'αβ', true],
    ['^\\P{Greek}+$', 'αβ', false],
    ['^\\p{^Lu}$', 'A', false],
    ['^\\Qa.b\\E$', 'a.b', true],
    ['^\\Qa.b\\E$', 'axb', false],
    ['^(?P<n>a)(?:b)$', 'ab', true],
    ['^\\.\\/\\-$', './-', true],
    ['^\\101$', 'A', true],
    ['^(?i)[k]$', 'K', true],
    ['a||b', 'x', true],
    ['^(([a-z0-9]([-a-z0-9]*[a-z0-9])?)(\\.[a-z0-9]+)*)?$', 'a-b.c', true],
  ])('%s on %j is %s', (source, text, expected) => {
    expect(matches(source, text)).toBe(expected);
  });

  test.each([
    '(',
    ')',
    '[',
    '[b-a]',
    '*a',
    'a**',
    'a{3,2}',
    'a{1001}',
    '(?=a)',
    '(?!a)',
    '(?<=a)',
    '\\1',
    '\\k',
    '\\p{Nope}',
    '\\',
    '[[:nope:]]',
    '(?x)a',
    '((a{100}){100}){100}',
    '('.repeat(500),
  ])('refuses %s', (source) => {
    expect(() => compilePattern(source)).toThrow(PatternError);
  });

  test('has no catastrophes', () => {
    const text = `${'a'.repeat(100_000)}!`;
    expect(matches('^(a+)+$', text)).toBe(false);
    expect(matches('^(a|a)*b$', text)).toBe(false);
    expect(matches('^(a?){50}a{50}$', 'a'.repeat(50))).toBe(true);
  });

  test('gives up where the automaton grows without end', () => {
    let seed = 1;
    const noise = Array.from({ length: 5000 }, () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % 2 === 0 ? 'a' : 'b';
    }).join('');
    expect(matches('(a|b)*a(a|b){900}c', noise)).toBeUndefined();
  });

  const atom = fc.constantFrom(
    'a',
    'b',
    '.',
    '[ab]',
    '[^a]',
    '\\w',
    '(a|b)',
    '(?:ab)?',
    'a*',
    'b+',
    'a{1,2}',
    '^',
    '$',
    '\\b',
  );
  test('agrees with the engine of the runtime where both have the same language', () => {
    fc.assert(
      fc.property(
        fc.array(atom, { maxLength: 6 }),
        fc.string({ unit: fc.constantFrom('a', 'b', 'c', ' ', '\n') }),
        (atoms, text) => {
          const source = atoms.join('');
          expect(matches(source, text)).toBe(new RegExp(source, 'u').test(text));
        },
      ),
      { numRuns: 500 },
    );
  });
});
