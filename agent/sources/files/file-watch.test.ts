import { describe, expect, test } from 'vitest';
import {
  createWriteWatch,
  isIgnoredName,
  isIndirection,
  isManifestName,
  type PathChange,
  readRawEvent,
} from './file-watch.ts';

const target = { path: '/etc/agent/manifests', real: '/srv/manifests' };

describe('readRawEvent', () => {
  test.each<[string, string, string | undefined, PathChange | undefined]>([
    ['rename', 'a.yaml', '/etc/agent/manifests', { kind: 'entry', name: 'a.yaml', inPlace: false }],
    ['change', 'a.yaml', '/srv/manifests', { kind: 'entry', name: 'a.yaml', inPlace: true }],
    ['rename', 'manifests', '/srv/manifests', { kind: 'self', inPlace: false }],
    ['rename', '', '/srv/manifests', { kind: 'self', inPlace: false }],
    ['rename', 'manifests', '/etc/agent', { kind: 'self', inPlace: false }],
    ['rename', 'agent', '/etc', { kind: 'self', inPlace: false }],
    ['rename', 'srv', '/', { kind: 'self', inPlace: false }],
    ['rename', 'unrelated', '/etc/agent', undefined],
    ['change', 'manifests.log', '/etc/agent', undefined],
    ['rename', 'whatever', undefined, { kind: 'self', inPlace: false }],
  ])('%s of %s in %s', (event, name, watchedPath, expected) => {
    expect(readRawEvent(event, name, watchedPath, target)).toEqual(expected);
  });
});

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

describe('createWriteWatch', () => {
  test('a file without writes may be read', () => {
    const writes = createWriteWatch(25, 1000);
    expect(writes.restsAtMs('/a')).toBeUndefined();
    expect(writes.afterRead('/a', 0)).toBeUndefined();
  });

  test('waits until the writer pauses, for that file only', () => {
    const writes = createWriteWatch(25, 1000);
    writes.note('/a', 100);
    expect(writes.restsAtMs('/a')).toBe(125);
    writes.note('/a', 120);
    expect(writes.restsAtMs('/a')).toBe(145);
    expect(writes.restsAtMs('/b')).toBeUndefined();
  });

  test('a write during the read invalidates it; one before does not', () => {
    const writes = createWriteWatch(25, 1000);
    writes.note('/a', 100);
    expect(writes.afterRead('/a', 100)).toBe(125);
    expect(writes.afterRead('/a', 130)).toBeUndefined();
    expect(writes.restsAtMs('/a')).toBeUndefined();
  });

  test('does not wait for ever, and reads a continuously written file only once per grace period', () => {
    const writes = createWriteWatch(25, 1000);
    for (let ms = 0; ms <= 2000; ms += 10) writes.note('/log', ms);
    expect(writes.restsAtMs('/log')).toBe(1000);
    expect(writes.afterRead('/log', 1995)).toBe(2995);
  });
});
