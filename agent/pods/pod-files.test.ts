import { mkdir, mkdtemp, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { podIdentity } from '../pod-identity/identity.ts';
import { createPodFiles, type PodFiles, PodFolderError } from './pod-files.ts';

const pod: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'u1' },
  spec: { containers: [{ name: 'web' }] },
};

let dir: string;
let files: PodFiles;
beforeEach(async () => {
  dir = await mkdtemp('/tmp/na-pf-');
  const [vocabulary] = Object.values(VOCABULARIES);
  if (vocabulary === undefined) throw new Error('there is no vocabulary');
  files = createPodFiles({ podsDir: dir, clusterDomain: 'cluster.local', vocabulary });
});
afterEach(async () => await rm(dir, { recursive: true, force: true }));

const hostsPath = (): string => join(dir, 'u1', 'etc-hosts');

describe('writeHosts', () => {
  test('updates the content in place, with the same inode', async () => {
    const path = await files.writeHosts({ ...podIdentity(pod), pod }, ['10.0.0.1']);
    const before = await stat(path);
    await files.writeHosts({ ...podIdentity(pod), pod }, ['10.0.0.2']);
    const after = await stat(path);
    expect(after.ino).toBe(before.ino);
    expect(after.mode & 0o777).toBe(0o644);
    const text = await readFile(path, 'utf8');
    expect(text).toContain('10.0.0.2\tweb');
    expect(text).not.toContain('10.0.0.1');
  });

  test('does not write an unchanged file', async () => {
    const path = await files.writeHosts({ ...podIdentity(pod), pod }, ['10.0.0.1']);
    const before = await stat(path, { bigint: true });
    await files.writeHosts({ ...podIdentity(pod), pod }, ['10.0.0.1']);
    expect((await stat(path, { bigint: true })).mtimeNs).toBe(before.mtimeNs);
  });

  test('replaces the content of a file that a container made huge, without reading it', async () => {
    const path = await files.writeHosts({ ...podIdentity(pod), pod }, ['10.0.0.1']);
    // Larger than any buffer that a read of the whole file would allocate.
    await truncate(path, 2 ** 40);
    await files.writeHosts({ ...podIdentity(pod), pod }, ['10.0.0.1']);
    expect((await stat(path)).size).toBeLessThan(1000);
    expect(await readFile(path, 'utf8')).toContain('10.0.0.1\tweb');
  });

  test('follows no link', async () => {
    const target = join(dir, 'elsewhere');
    await writeFile(target, 'precious');
    await mkdir(join(dir, 'u1'));
    await symlink(target, hostsPath());
    await expect(files.writeHosts({ ...podIdentity(pod), pod }, ['10.0.0.1'])).rejects.toMatchObject({
      code: 'ELOOP',
    });
    expect(await readFile(target, 'utf8')).toBe('precious');
  });
});

describe('createTerminationLog', () => {
  test('creates an empty world-writable file in a directory that only root may enter', async () => {
    const path = await files.createTerminationLog('u1', 'web', 3);
    expect(path).toBe(files.terminationLog('u1', 'web', 3));
    await writeFile(path, 'last words of another try');
    await files.createTerminationLog('u1', 'web', 3);
    const { size, mode } = await stat(path);
    expect({ size, mode: mode & 0o777 }).toEqual({ size: 0, mode: 0o666 });
    expect((await stat(join(dir, 'u1'))).mode & 0o007).toBe(0);
  });

  test('follows no link', async () => {
    const target = join(dir, 'elsewhere');
    await writeFile(target, 'precious');
    const path = files.terminationLog('u1', 'web', 0);
    await mkdir(join(path, '..'), { recursive: true });
    await symlink(target, path);
    await expect(files.createTerminationLog('u1', 'web', 0)).rejects.toMatchObject({ code: 'ELOOP' });
    expect(await readFile(target, 'utf8')).toBe('precious');
  });
});

describe('remove', () => {
  test('removes the directory, idempotently', async () => {
    await files.writeHosts({ ...podIdentity(pod), pod }, []);
    await files.createTerminationLog('u1', 'web', 0);
    await files.remove('u1');
    await files.remove('u1');
    await expect(stat(join(dir, 'u1'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test.each(['volumes', 'volume-subpaths'])('removes nothing while there are %s', async (name) => {
    const data = join(dir, 'u1', name, 'data');
    await mkdir(data, { recursive: true });
    await expect(files.remove('u1')).rejects.toThrow(PodFolderError);
    expect((await stat(data)).isDirectory()).toBe(true);
  });
});
