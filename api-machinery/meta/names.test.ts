import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  absolutePathErrors,
  annotationSizeErrors,
  cIdentifierErrors,
  configMapKeyErrors,
  dns1035LabelErrors,
  dns1123LabelErrors,
  dns1123SubdomainErrors,
  envVarNameErrors,
  httpHeaderNameErrors,
  labelValueErrors,
  parentElementErrors,
  portNameErrors,
  portNumberErrors,
  qualifiedNameErrors,
  relativePathErrors,
  volumeFilePathErrors,
} from './names.ts';

type Check = (text: string) => readonly string[];

const CASES: readonly (readonly [
  name: string,
  check: Check,
  good: readonly string[],
  bad: readonly string[],
])[] = [
  [
    'dns1123LabelErrors',
    dns1123LabelErrors,
    ['a', '0', 'a-b', '1a', 'a'.repeat(63)],
    ['', '-a', 'a-', 'A', 'a.b', 'a_b', 'a'.repeat(64), 'a\n', 'é'],
  ],
  [
    'dns1123SubdomainErrors',
    dns1123SubdomainErrors,
    ['a', 'a.b', 'a-1.b2', `${'a'.repeat(63)}.${'b'.repeat(189)}`],
    ['', '.a', 'a.', 'a..b', 'a.-b', 'A.b', 'a'.repeat(254)],
  ],
  ['dns1035LabelErrors', dns1035LabelErrors, ['a', 'a1', 'a-b'], ['', '1a', '-a', 'a-', 'a'.repeat(64)]],
  [
    'qualifiedNameErrors',
    qualifiedNameErrors,
    ['a', 'A.b_c-d', 'x.io/a', '1', 'a'.repeat(63)],
    ['', '/', 'a/', '/a', 'a/b/c', 'X.io/a', '-a', 'a-', 'a b', 'a'.repeat(64), 'x..io/a'],
  ],
  ['labelValueErrors', labelValueErrors, ['', 'a', 'A.1_-b'], ['-', 'a b', 'a/b', 'a'.repeat(64), 'a\n']],
  [
    'envVarNameErrors',
    envVarNameErrors,
    ['A', '_a', 'a.b-c', '-x', '.x'],
    ['', '1a', 'a b', 'a=b', '.', '..', '..x'],
  ],
  ['cIdentifierErrors', cIdentifierErrors, ['a', '_', 'A1'], ['', '1', 'a-b', 'a.b']],
  [
    'portNameErrors',
    portNameErrors,
    ['a', 'http', 'a-1', '80a', 'abcdefghijklmno'],
    ['', '80', 'A', '-a', 'a-', 'a--b', 'a_b', 'abcdefghijklmnop'],
  ],
  [
    'configMapKeyErrors',
    configMapKeyErrors,
    ['a', 'A.b', '.a', '_', '-', 'a'.repeat(253)],
    ['', '.', '..', '..a', 'a/b', 'a b', 'a'.repeat(254)],
  ],
  ['httpHeaderNameErrors', httpHeaderNameErrors, ['A', 'X-Y', '1'], ['', 'a b', 'a:', 'a_b', 'a\r\nb']],
  [
    'relativePathErrors',
    relativePathErrors,
    ['', 'a', 'a/b', '..a', 'a..b'],
    ['/a', '..', 'a/..', '../a', 'a/../b'],
  ],
  [
    'volumeFilePathErrors',
    volumeFilePathErrors,
    ['a', 'a/b', 'a/..b', '.a'],
    ['/a', '..', '..a', '..data/x', 'a/../b'],
  ],
  ['absolutePathErrors', absolutePathErrors, ['/', '/a'], ['', 'a', './a']],
  ['parentElementErrors', parentElementErrors, ['/a', 'a', '/a/..b'], ['/..', '/a/../b', '..']],
];

describe.each(CASES)('%s', (_, check, good, bad) => {
  test.each(good)('accepts %j', (text) => expect(check(text)).toEqual([]));
  test.each(bad)('rejects %j', (text) => expect(check(text).length).toBeGreaterThan(0));
});

describe('portNumberErrors', () => {
  test.each([1, 80, 65_535])('accepts %d', (port) => expect(portNumberErrors(port)).toEqual([]));
  test.each([0, -1, 65_536, 1.5, Number.NaN])('rejects %d', (port) =>
    expect(portNumberErrors(port)).toHaveLength(1),
  );
});

describe('label values and the name part of keys', () => {
  const form = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)$/;
  const texts = fc.string({
    unit: fc.constantFrom('a', 'z', 'A', 'Z', '0', '9', '-', '_', '.', '/', '@', '[', '`', '{', ':', 'ä'),
    maxLength: 5,
  });
  test('have the form of the pattern', () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(labelValueErrors(text).length === 0).toBe(text === '' || form.test(text));
        const name = text.replaceAll('/', '-');
        expect(qualifiedNameErrors(name).length === 0).toBe(form.test(name));
      }),
      { numRuns: 2000 },
    );
  });

  test('have at most 63 characters', () => {
    expect(qualifiedNameErrors('a'.repeat(63))).toEqual([]);
    expect(qualifiedNameErrors('a'.repeat(64))).toHaveLength(1);
    expect(qualifiedNameErrors(`example.com/${'a'.repeat(63)}`)).toEqual([]);
    expect(qualifiedNameErrors(`example.com/${'a'.repeat(64)}`)).toHaveLength(1);
  });
});

it('returns every reason, not only the first', () => {
  expect(portNameErrors('A--')).toHaveLength(4);
  expect(qualifiedNameErrors('X/-')).toHaveLength(2);
});

it('counts annotations in bytes', () => {
  expect(annotationSizeErrors({ a: 'é'.repeat(131_071) })).toEqual([]);
  expect(annotationSizeErrors({ a: 'é'.repeat(131_072) })).toHaveLength(1);
});
