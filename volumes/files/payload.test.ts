import { describe, expect, test } from 'vitest';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { checkPayload, mergePayloads, type Payload, selectKeys } from './payload.ts';

const files = (...paths: string[]): Payload =>
  new Map(paths.map((path) => [path, { mode: 0o644, data: Buffer.from(path) }]));

describe('selectKeys', () => {
  const data = new Map([
    ['a', Buffer.from('1')],
    ['b', Buffer.from('2')],
  ]);
  const selection = {
    object: 'ConfigMap default/app',
    items: undefined,
    defaultMode: 0o640,
    optional: false,
  };

  test('selects every key without items', () => {
    expect(selectKeys(data, selection)).toEqual(
      new Map([
        ['a', { mode: 0o640, data: Buffer.from('1') }],
        ['b', { mode: 0o640, data: Buffer.from('2') }],
      ]),
    );
  });

  test('selects only the listed keys, with their modes', () => {
    const items = [
      { key: 'b', path: 'x/y', mode: 0o400 },
      { key: 'b', path: 'z' },
    ];
    expect(selectKeys(data, { ...selection, items })).toEqual(
      new Map([
        ['x/y', { mode: 0o400, data: Buffer.from('2') }],
        ['z', { mode: 0o640, data: Buffer.from('2') }],
      ]),
    );
  });

  test('reports a missing listed key, unless it is optional', () => {
    const items = [{ key: 'c', path: 'c' }];
    expect(() => selectKeys(data, { ...selection, items })).toThrow('ConfigMap default/app has no key "c"');
    expect(selectKeys(data, { ...selection, items, optional: true }).size).toBe(0);
  });
});

describe('checkPayload', () => {
  test.each([
    ['a', 'a'],
    ['a/b.c/d', 'a/b.c/d'],
    ['a//b/', 'a/b'],
    ['./a/./b', 'a/b'],
    ['.hidden', '.hidden'],
    ['a..b', 'a..b'],
    ['a/..b', 'a/..b'],
  ])('takes %j as %j', (written, path) => {
    expect([...checkPayload(files(written)).keys()]).toEqual([path]);
  });

  test.each([
    ['', 'is empty'],
    ['.', 'is empty'],
    ['/etc/passwd', 'is not relative'],
    ['..', 'starts with ".."'],
    ['../x', 'starts with ".."'],
    ['..data', 'starts with ".."'],
    ['./../x', 'starts with ".."'],
    ['a/../../x', 'has the element ".."'],
    ['a/..', 'has the element ".."'],
    ['a\0b', 'contains a NUL'],
    ['a'.repeat(256), 'has an element longer than 255 bytes'],
    ['a/'.repeat(2100), 'is longer than 4096 bytes'],
  ])('rejects %j', (path, reason) => {
    expect(() => checkPayload(files(path))).toThrow(reason);
  });

  test.each([-1, 0o1000, 1.5, Number.NaN])('rejects mode %d', (mode) => {
    expect(() => checkPayload(new Map([['a', { mode, data: Buffer.alloc(0) }]]))).toThrow(VolumeSetupError);
  });

  test('rejects a path that is a file and a directory', () => {
    expect(() => checkPayload(files('a/b/c', 'a/b'))).toThrow('"a/b" is both a file and a directory');
    expect(() => checkPayload(files('a', 'a/b/c'))).toThrow('"a" is both');
  });
});

describe('mergePayloads', () => {
  test('lets the later file win', () => {
    const later: Payload = new Map([['a', { mode: 0o600, data: Buffer.from('later') }]]);
    expect(
      mergePayloads([files('a', 'b'), later])
        .get('a')
        ?.data.toString(),
    ).toBe('later');
  });
});
