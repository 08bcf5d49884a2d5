import { describe, expect, it, test } from 'vitest';
import {
  absolutePathFaults,
  annotationSizeFaults,
  cIdentifierFaults,
  configMapKeyFaults,
  dns1035LabelFaults,
  dns1123LabelFaults,
  dns1123SubdomainFaults,
  envVarNameFaults,
  httpHeaderNameFaults,
  labelValueFaults,
  parentElementFaults,
  portNameFaults,
  portNumberFaults,
  qualifiedNameFaults,
  relativePathFaults,
  volumeFilePathFaults,
} from './names.ts';

type Check = (text: string) => readonly string[];

const CASES: readonly (readonly [
  name: string,
  check: Check,
  good: readonly string[],
  bad: readonly string[],
])[] = [
  [
    'dns1123LabelFaults',
    dns1123LabelFaults,
    ['a', '0', 'a-b', '1a', 'a'.repeat(63)],
    ['', '-a', 'a-', 'A', 'a.b', 'a_b', 'a'.repeat(64), 'a\n', 'é'],
  ],
  [
    'dns1123SubdomainFaults',
    dns1123SubdomainFaults,
    ['a', 'a.b', 'a-1.b2', `${'a'.repeat(63)}.${'b'.repeat(189)}`],
    ['', '.a', 'a.', 'a..b', 'a.-b', 'A.b', 'a'.repeat(254)],
  ],
  ['dns1035LabelFaults', dns1035LabelFaults, ['a', 'a1', 'a-b'], ['', '1a', '-a', 'a-', 'a'.repeat(64)]],
  [
    'qualifiedNameFaults',
    qualifiedNameFaults,
    ['a', 'A.b_c-d', 'x.io/a', '1', 'a'.repeat(63)],
    ['', '/', 'a/', '/a', 'a/b/c', 'X.io/a', '-a', 'a-', 'a b', 'a'.repeat(64), 'x..io/a'],
  ],
  ['labelValueFaults', labelValueFaults, ['', 'a', 'A.1_-b'], ['-', 'a b', 'a/b', 'a'.repeat(64), 'a\n']],
  [
    'envVarNameFaults',
    envVarNameFaults,
    ['A', '_a', 'a.b-c', '-x', '.x'],
    ['', '1a', 'a b', 'a=b', '.', '..', '..x'],
  ],
  ['cIdentifierFaults', cIdentifierFaults, ['a', '_', 'A1'], ['', '1', 'a-b', 'a.b']],
  [
    'portNameFaults',
    portNameFaults,
    ['a', 'http', 'a-1', '80a', 'abcdefghijklmno'],
    ['', '80', 'A', '-a', 'a-', 'a--b', 'a_b', 'abcdefghijklmnop'],
  ],
  [
    'configMapKeyFaults',
    configMapKeyFaults,
    ['a', 'A.b', '.a', '_', '-', 'a'.repeat(253)],
    ['', '.', '..', '..a', 'a/b', 'a b', 'a'.repeat(254)],
  ],
  ['httpHeaderNameFaults', httpHeaderNameFaults, ['A', 'X-Y', '1'], ['', 'a b', 'a:', 'a_b', 'a\r\nb']],
  [
    'relativePathFaults',
    relativePathFaults,
    ['', 'a', 'a/b', '..a', 'a..b'],
    ['/a', '..', 'a/..', '../a', 'a/../b'],
  ],
  [
    'volumeFilePathFaults',
    volumeFilePathFaults,
    ['a', 'a/b', 'a/..b', '.a'],
    ['/a', '..', '..a', '..data/x', 'a/../b'],
  ],
  ['absolutePathFaults', absolutePathFaults, ['/', '/a'], ['', 'a', './a']],
  ['parentElementFaults', parentElementFaults, ['/a', 'a', '/a/..b'], ['/..', '/a/../b', '..']],
];

describe.each(CASES)('%s', (_, check, good, bad) => {
  test.each(good)('accepts %j', (text) => expect(check(text)).toEqual([]));
  test.each(bad)('rejects %j', (text) => expect(check(text).length).toBeGreaterThan(0));
});

describe('portNumberFaults', () => {
  test.each([1, 80, 65_535])('accepts %d', (port) => expect(portNumberFaults(port)).toEqual([]));
  test.each([0, -1, 65_536, 1.5, Number.NaN])('rejects %d', (port) =>
    expect(portNumberFaults(port)).toHaveLength(1),
  );
});

it('returns every reason, not only the first', () => {
  expect(portNameFaults('A--')).toHaveLength(4);
  expect(qualifiedNameFaults('X/-')).toHaveLength(2);
});

it('counts annotations in bytes', () => {
  expect(annotationSizeFaults({ a: 'é'.repeat(131_071) })).toEqual([]);
  expect(annotationSizeFaults({ a: 'é'.repeat(131_072) })).toHaveLength(1);
});
