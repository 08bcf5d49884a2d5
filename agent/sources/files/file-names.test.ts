import { describe, expect, test } from 'vitest';
import { isIgnoredName, isIndirection, isManifestName } from './file-watch.ts';

describe('isIgnoredName', () => {
  test.each([
    'a.yaml',
    'a.yml',
    'a.json',
    'a',
    'web.conf',
    'old.yaml',
    'a.b.yaml',
    'new',
    '12345678',
    'tmp.yaml',
  ])('reads %s', (name) => {
    expect(isIgnoredName(name)).toBe(false);
  });

  test.each([
    '.a.yaml',
    '..data',
    '.a.yaml.swp',
    'a.yaml~',
    '#a.yaml#',
    'a.yaml.bak',
    'a.yaml.BAK',
    'a.yaml.orig',
    'a.yaml.tmp',
    'a.yaml.rpmsave',
    'a.yaml.dpkg-dist',
    'a.yaml.swx',
    'a.yaml.part',
    '4913',
  ])('skips %s', (name) => {
    expect(isIgnoredName(name)).toBe(true);
  });
});

describe('isIndirection', () => {
  test.each([
    ['..data', true],
    ['..2024_01', true],
    ['.hidden', false],
    ['a..yaml', false],
  ])('%s: %s', (name, expected) => {
    expect(isIndirection(name)).toBe(expected);
  });
});

describe('isManifestName', () => {
  test.each([
    ['a.yaml', true],
    ['a.YML', true],
    ['a.json', true],
    ['yaml', false],
    ['a.yaml.d', false],
  ])('%s: %s', (name, expected) => {
    expect(isManifestName(name)).toBe(expected);
  });
});
