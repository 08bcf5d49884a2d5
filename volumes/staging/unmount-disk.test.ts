import { describe, expect, test } from 'vitest';
import { parseMountInfo } from '../mount/mountinfo.ts';
import { mountsElsewhere } from './unmount-disk.ts';

const line = (device: string, root: string, path: string): string =>
  `1 0 ${device} ${root} ${path} rw - ext4 /dev/x rw`;
const at = (...lines: readonly string[]): readonly string[] =>
  mountsElsewhere(parseMountInfo(lines.join('\n')), '/r/plugins/p/globalmount', '/r');

const DISK = line('7:1', '/', '/r/plugins/p/globalmount');

describe('mountsElsewhere', () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ['nothing else', [DISK], []],
    ['the same disk in a pod', [DISK, line('7:1', '/', '/r/pods/a/v')], ['/r/pods/a/v']],
    ['a folder of the disk in a pod', [DISK, line('7:1', '/sub', '/r/pods/a/s')], ['/r/pods/a/s']],
    ['another disk', [DISK, line('7:2', '/', '/r/pods/a/v')], []],
    ['a mount in it', [DISK, line('7:1', '/in', '/r/plugins/p/globalmount/in')], []],
    ['the disk outside of the root', [DISK, line('7:1', '/', '/mnt')], []],
    [
      'another folder of the same file system',
      [line('8:1', '/one', '/r/plugins/p/globalmount'), line('8:1', '/other', '/r/pods/a/v')],
      [],
    ],
    [
      'the same folder of a file system',
      [line('8:1', '/one', '/r/plugins/p/globalmount'), line('8:1', '/one', '/r/pods/a/v')],
      ['/r/pods/a/v'],
    ],
  ])('finds %s', (_, lines, found) => expect(at(...lines)).toEqual(found));
});
