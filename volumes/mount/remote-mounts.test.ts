import { describe, expect, test } from 'vitest';
import { ProgramTimeoutError } from '../programs/errors.ts';
import { type MountInfo, parseMountInfo } from './mountinfo.ts';
import { checkResponds, detachRemote, isRemote, mountOf, remoteByPath } from './remote-mounts.ts';

const never = new AbortController().signal;
const table = (...mounts: readonly (readonly [path: string, fsType: string])[]): readonly MountInfo[] =>
  parseMountInfo(mounts.map(([path, fsType]) => `1 0 0:1 / ${path} rw - ${fsType} srv:/x rw`).join('\n'));
const paths = (mounts: readonly MountInfo[]): readonly string[] => mounts.map(({ mountPoint }) => mountPoint);

describe('isRemote', () => {
  test.each([
    ['nfs4', true],
    ['cifs', true],
    ['fuse.glusterfs', true],
    ['ext4', false],
    ['tmpfs', false],
    ['fuseblk', false],
  ])('of %s is %s', (fsType, remote) => expect(isRemote({ fsType })).toBe(remote));
});

describe('remoteByPath', () => {
  test('omits mounts inside another one, where a container may rename directories', () => {
    const mounts = table(['/p/a', 'nfs4'], ['/p/b', 'ext4'], ['/p/b/c', 'nfs4'], ['/p/ab', 'cifs']);
    expect(paths(remoteByPath(mounts))).toEqual(['/p/a', '/p/ab']);
  });
});

describe('mountOf', () => {
  test.each([
    ['/p/a', '/p/a'],
    ['/p/a/x', '/p/a'],
    ['/p/ab', '/'],
    ['/', '/'],
  ])('of %s is %s', (path, found) => {
    expect(mountOf(table(['/', 'ext4'], ['/p/a', 'nfs4']), path)?.mountPoint).toBe(found);
  });
});

describe('an unresponsive server', () => {
  const hang = (program: string): Promise<never> => Promise.reject(new ProgramTimeoutError(program, 1000));

  test('is reported', async () => {
    const mounter = { list: async () => table(['/p/a', 'nfs4']) };
    await expect(checkResponds({ mounter, run: hang }, '/p/a/sub', never)).rejects.toThrow(
      'srv:/x (nfs4) does not respond',
    );
  });

  test('is not contacted for volumes of the node', async () => {
    const mounter = { list: async () => table(['/p/a', 'ext4']) };
    await expect(checkResponds({ mounter, run: hang }, '/p/a/sub', never)).resolves.toBeUndefined();
  });

  test.each<[string, readonly MountInfo[], string]>([
    ['does not prevent unmounting', [], 'done'],
    ['is reported when the mount stays', table(['/p/a', 'nfs4']), 'umount did not finish within 1 s'],
  ])('%s', async (_, left, outcome) => {
    const mounter = { list: async () => left };
    const work = detachRemote({ mounter, run: hang }, '/p/a', never);
    const result = await work.then(
      () => 'done',
      (thrown: unknown) => String(thrown),
    );
    expect(result).toContain(outcome);
  });
});
