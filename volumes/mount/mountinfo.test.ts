import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type MountInfo, MountInfoError, mountsBeneath, parseMountInfo } from './mountinfo.ts';

const escape = (text: string): string =>
  text.replaceAll(/[\\ \t\n]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`);

function format(mount: MountInfo): string {
  return [
    mount.id,
    mount.parentId,
    mount.device,
    escape(mount.root),
    escape(mount.mountPoint),
    mount.options.join(','),
    ...mount.propagation,
    '-',
    escape(mount.fsType),
    escape(mount.source),
    mount.superOptions.join(','),
  ].join(' ');
}

const path = fc.string({ unit: fc.constantFrom('a', '-', '/', ' ', '\\', '\t', '\n', 'é', '0', '4') });
const option = fc.constantFrom('rw', 'ro', 'noexec', 'size=4k', 'lowerdir=/a:/b');
const mountInfo: fc.Arbitrary<MountInfo> = fc.record({
  id: fc.nat(),
  parentId: fc.nat(),
  device: fc.tuple(fc.nat(), fc.nat()).map(([major, minor]) => `${major}:${minor}`),
  root: path.map((text) => `/${text}`),
  mountPoint: path.map((text) => `/${text}`),
  options: fc.array(option, { minLength: 1 }),
  propagation: fc.array(fc.constantFrom('shared:1', 'master:22', 'propagate_from:3', 'unbindable')),
  fsType: fc.constantFrom('tmpfs', 'ext4', 'fuse.sshfs'),
  source: path.map((text) => `x${text}`),
  superOptions: fc.array(option, { minLength: 1 }),
});

describe('parseMountInfo', () => {
  test('reads what the kernel writes', () => {
    const text =
      '36 35 98:0 /mnt1 /mnt\\0402\\134 rw,noatime shared:1 master:2 - ext3 /dev/ro\\011ot rw,errors=continue\n';
    expect(parseMountInfo(text)).toEqual([
      {
        id: 36,
        parentId: 35,
        device: '98:0',
        root: '/mnt1',
        mountPoint: '/mnt 2\\',
        options: ['rw', 'noatime'],
        propagation: ['shared:1', 'master:2'],
        fsType: 'ext3',
        source: '/dev/ro\tot',
        superOptions: ['rw', 'errors=continue'],
      },
    ]);
  });

  test('reads every table that the kernel can write', () => {
    fc.assert(
      fc.property(fc.array(mountInfo), (mounts) => {
        expect(parseMountInfo(mounts.map((mount) => `${format(mount)}\n`).join(''))).toEqual(mounts);
      }),
    );
  });

  test.each(['x', '1 2 3:4 / /', '1 2 3:4 / /a rw - ext4', 'a 2 3:4 / /a rw - ext4 dev rw'])(
    'rejects %j',
    (line) => {
      expect(() => parseMountInfo(line)).toThrow(MountInfoError);
    },
  );
});

describe('mountsBeneath', () => {
  const mounts = parseMountInfo(
    ['/', '/a', '/ab', '/a/b', '/a/b/c', '/a/b']
      .map((at, id) => `${id} 0 0:1 / ${at} rw - tmpfs tmpfs rw`)
      .join('\n'),
  );
  test('lists newest first and takes whole names only', () => {
    expect(mountsBeneath(mounts, '/a').map(({ id }) => id)).toEqual([5, 4, 3, 1]);
    expect(mountsBeneath(mounts, '/a/b').map(({ id }) => id)).toEqual([5, 4, 3]);
    expect(mountsBeneath(mounts, '/c')).toEqual([]);
  });
});
