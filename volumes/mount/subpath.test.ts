import { describe, expect, test } from 'vitest';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { parseSubPath } from './subpath.ts';

describe('parseSubPath', () => {
  test.each([
    ['a', ['a']],
    ['a/b', ['a', 'b']],
    ['a//b/./c/', ['a', 'b', 'c']],
    ['', []],
    ['.', []],
    ['..a', ['..a']],
    ['a..', ['a..']],
  ])('reads %j', (subPath, names) => {
    expect(parseSubPath(subPath)).toEqual(names);
  });

  test.each(['/', '/a', '..', '../a', 'a/..', 'a/../../b', 'a\0', 'x'.repeat(4096)])(
    'rejects %j',
    (subPath) => {
      expect(() => parseSubPath(subPath)).toThrow(VolumeSetupError);
    },
  );
});
