import { array, assert, constantFrom, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MS_NODEV, MS_NOEXEC, MS_NOSUID, MS_RDONLY } from '../files/syscalls.ts';
import { parseMountOptions, splitMountOptions } from './mount-options.ts';

describe('parseMountOptions', () => {
  test.each<[readonly string[], number, string]>([
    [[], 0, ''],
    [['ro'], MS_RDONLY, ''],
    [['ro', 'rw'], 0, ''],
    [['nosuid,nodev', 'noexec'], MS_NOSUID | MS_NODEV | MS_NOEXEC, ''],
    [['nosuid', 'defaults'], 0, ''],
    [['noatime', 'relatime'], 1 << 21, ''],
    [['discard', 'data=journal,noatime'], 1024, 'discard,data=journal'],
    [['_netdev', 'nofail', 'x-systemd.automount', 'X-mount.mkdir', 'comment=x'], 0, ''],
    [['context="a:b:c0,c1",ro'], MS_RDONLY, 'context="a:b:c0,c1"'],
    [['constructor', '__proto__'], 0, 'constructor,__proto__'],
  ])('%j', (options, flags, data) => {
    expect(parseMountOptions(options)).toEqual({ flags, data });
  });

  test.each(['bind', 'remount', 'move', 'rshared', 'loop=/dev/loop0'])('rejects %s', (option) => {
    expect(() => parseMountOptions(['ro', option])).toThrow(
      `mount option ${JSON.stringify(option)} is not allowed`,
    );
  });

  test('rejects options that the kernel would truncate', () => {
    expect(() => parseMountOptions(['x'.repeat(5000)])).toThrow('longer than a page');
    expect(() => parseMountOptions(['a\0b'])).toThrow('NUL');
  });

  test('parses options independent of their separation', () => {
    const option = constantFrom('ro', 'rw', 'noatime', 'discard', 'a="x,y"', 'nodev', 'user_xattr');
    assert(
      property(array(option), (options) => {
        expect(parseMountOptions([options.join(',')])).toEqual(parseMountOptions(options));
        expect(splitMountOptions([options.join(',')])).toEqual(options);
      }),
    );
  });
});
