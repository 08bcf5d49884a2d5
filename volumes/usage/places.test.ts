import { describe, expect, test } from 'vitest';
import { type MountInfo, parseMountInfo } from '../mount/mountinfo.ts';
import { createMountTable, wayOf } from './places.ts';

const DIR = '/r/pods/u/volumes/x~s';
const line = (point: string, fsType: string, device = '0:7'): string =>
  `1 0 ${device} / ${point} rw - ${fsType} none rw`;

const mounts: readonly MountInfo[] = parseMountInfo(
  [
    line(`${DIR}/memory`, 'tmpfs', '0:50'),
    line(`${DIR}/far`, 'nfs4'),
    line(`${DIR}/program`, 'fuse.glusterfs'),
    line(`${DIR}/driven/mount`, 'ext4', '7:1'),
    line(`${DIR}/raw`, 'devtmpfs'),
    line(`${DIR}/under`, 'ext4', '7:2'),
    line(`${DIR}/under`, 'cifs'),
    line(`${DIR}/plain/in/other`, 'ext4'),
    line(`${DIR}/plain/in`, 'tmpfs'),
    line(`${DIR}/plain2/in`, 'tmpfs'),
  ].join('\n'),
);
const table = createMountTable(mounts);

describe('wayOf', () => {
  test.each([
    ['a directory of the node, without mounts in it', 'plain', { kind: 'walk', without: ['in', 'in/other'] }],
    ['a folder with nothing in it', 'empty', { kind: 'walk', without: [] }],
    ['a file system of its own', 'memory', { kind: 'fileSystem', device: '0:50' }],
    ['what a driver mounts within its folder', 'driven', { kind: 'fileSystem', device: '7:1' }],
    ['the file system of a server', 'far', { kind: 'apart', mount: mounts[1] }],
    ['the file system of a program', 'program', { kind: 'apart', mount: mounts[2] }],
    ['the uppermost of stacked mounts', 'under', { kind: 'apart', mount: mounts[6] }],
  ])('knows %s', (_, name, way) => {
    expect(wayOf(`${DIR}/${name}`, true, table, false)).toEqual(way);
  });

  test('delegates volumes with drivers to them, mounted or not', () => {
    expect(wayOf(`${DIR}/driven`, true, table, true)).toEqual({ kind: 'apart', mount: mounts[3] });
    expect(wayOf(`${DIR}/empty`, true, table, true)).toEqual({ kind: 'apart', mount: undefined });
  });

  test('treats a file as the raw device mounted on it, and ignores a file without a mount', () => {
    expect(wayOf(`${DIR}/raw`, false, table, false)).toEqual({ kind: 'device' });
    expect(wayOf(`${DIR}/file`, false, table, false)).toBeUndefined();
  });
});
