import { mkdir, readdir, readFile, rename, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { PersistentVolume } from '#api/gen/core-v1.ts';
import { silentLogger } from '#api/kit/logger.ts';
import type { LocalVolumeSpec, LocalVolumes } from '../contract/local-volumes.ts';
import { findLoops } from '../devices/loop.ts';
import { unmounted } from '../devices/taken-down.fixture.ts';
import { createTestHost, type TestHost, testPod } from '../manage/host.fixture.ts';
import { createVolumeManager } from '../manage/manager.ts';
import { createMounter } from '../mount/mounter.ts';
import { createRunProgram } from '../programs/run-program.ts';
import { createRecordFiles } from '../staging/record-files.ts';
import { createLocalVolumes } from './volumes.ts';

const { signal } = new AbortController();
const MIB = 1024 * 1024;
const PATHS = { dev: '/dev', sys: '/sys' };

const spec = (more: Partial<LocalVolumeSpec> = {}): LocalVolumeSpec => ({
  name: 'default_data',
  kind: 'directory',
  owner: 'manifest',
  sizeBytes: 32 * MIB,
  reclaimPolicy: 'Delete',
  claim: { namespace: 'default', name: 'data' },
  ...more,
});

interface World {
  readonly volumes: LocalVolumes;
  readonly base: string;
  /** Another run of the agent. */
  readonly restart: () => LocalVolumes;
}

function worldOf({ rootDir }: TestHost): World {
  const restart = (): LocalVolumes =>
    createLocalVolumes({
      rootDir,
      log: silentLogger,
      files: createRecordFiles(),
      run: createRunProgram(),
      mounter: createMounter(),
      paths: PATHS,
    });
  return { volumes: restart(), base: join(rootDir, 'local-volumes'), restart };
}

const kinds = ['directory', 'filesystem'] as const;

describe('createLocalVolumes', () => {
  test.each(kinds)('%s: creates once, and removes everything', async (kind) => {
    await using t = await createTestHost();
    const { volumes, base, restart } = worldOf(t);
    const made = await volumes.create(spec({ kind }), signal);
    expect((await stat(made.path)).mode & 0o777).toBe(0o777);
    await writeFile(join(made.path, 'f'), 'kept');
    const again = await restart().create(spec({ kind, sizeBytes: 1 }), signal);
    expect(again).toEqual(made);
    expect(await readFile(join(again.path, 'f'), 'utf8')).toBe('kept');
    expect(await restart().remove(made.name, signal)).toBe(true);
    expect(await readdir(base)).toEqual([]);
    expect(await t.mounts()).toEqual([]);
    expect(await volumes.remove(made.name, signal)).toBe(true);
  });

  test('a file system has the requested size, and takes no space before it is used', async () => {
    await using t = await createTestHost();
    const { volumes, base } = worldOf(t);
    const { path, name } = await volumes.create(spec({ kind: 'filesystem' }), signal);
    const image = join(base, name, 'disk.img');
    expect((await stat(image)).size).toBe(32 * MIB);
    expect((await stat(image)).blocks * 512).toBeLessThan(16 * MIB);
    await expect(writeFile(join(path, 'big'), Buffer.alloc(40 * MIB))).rejects.toThrow(/ENOSPC/);
    await volumes.remove(name, signal);
  });

  test('a file system larger than the disk is rejected', async () => {
    await using t = await createTestHost();
    const { volumes } = worldOf(t);
    const huge = spec({ kind: 'filesystem', sizeBytes: 2 ** 52 });
    await expect(volumes.create(huge, signal)).rejects.toThrow(/was requested, but the disk/);
    expect(await volumes.get(huge.name)).toBeUndefined();
    await volumes.remove(huge.name, signal);
  });

  test('an image is mounted again after a restart of the machine', async () => {
    await using t = await createTestHost();
    const { volumes, base, restart } = worldOf(t);
    const { path, name } = await volumes.create(spec({ kind: 'filesystem' }), signal);
    await writeFile(join(path, 'f'), 'kept');
    await createMounter().syscalls.unmount(path, 0);
    await restart().prepare(path, 'u', signal);
    expect(await readFile(join(path, 'f'), 'utf8')).toBe('kept');
    await volumes.remove(name, signal);
    expect(await readdir(base)).toEqual([]);
  });

  test('an interrupted creation is repeated', async () => {
    await using t = await createTestHost();
    const { volumes, base, restart } = worldOf(t);
    const wanted = spec({ kind: 'filesystem' });
    const { path, name } = await volumes.create(wanted, signal);
    await createMounter().syscalls.unmount(path, 0);
    // Stopped within the formatting: the marker is there, and the image has no file system.
    const record = join(base, name, 'volume.json');
    await writeFile(record, (await readFile(record, 'utf8')).replace('"ready"', '"creating"'));
    const image = join(base, name, 'disk.img');
    for (const device of await findLoops(PATHS, image))
      await createRunProgram()('losetup', ['-d', device], { signal, timeoutMs: 60_000 });
    await truncate(image, 0);
    await writeFile(join(base, name, 'formatting'), '');
    expect(await restart().get(name)).toBeUndefined();
    await expect(restart().prepare(path, 'u', signal)).rejects.toThrow(/does not exist on this node/);
    await restart().create(wanted, signal);
    await writeFile(join(path, 'f'), 'kept');
    await volumes.remove(name, signal);
    expect(await readdir(base)).toEqual([]);
  });

  test('recovery completes removals, and removes directories without a record', async () => {
    await using t = await createTestHost();
    const { volumes, base, restart } = worldOf(t);
    await volumes.create(spec(), signal);
    await volumes.create(spec({ name: 'other' }), signal);
    await rename(join(base, 'other'), join(base, '.removed-other'));
    await mkdir(join(base, 'without-record'));
    await restart().recover(signal);
    expect(await readdir(base)).toEqual(['default_data']);
  });

  test('a volume of a pod stays until the directory of the pod is gone', async () => {
    await using t = await createTestHost();
    const { volumes, restart } = worldOf(t);
    const { path, name } = await volumes.create(spec(), signal);
    const pod = join(t.rootDir, 'pods', 'u1');
    await mkdir(pod, { recursive: true });
    await volumes.prepare(path, 'u1', signal);
    expect(await restart().remove(name, signal)).toBe(false);
    await rm(pod, { recursive: true });
    expect(await restart().get(name)).toMatchObject({ used: true });
    expect(await restart().remove(name, signal)).toBe(true);
  });

  test('links that a container left lead nowhere', async () => {
    await using t = await createTestHost();
    const { volumes } = worldOf(t);
    const outside = join(t.base, 'outside');
    await mkdir(outside);
    await writeFile(join(outside, 'f'), 'kept');
    const { path, name } = await volumes.create(spec(), signal);
    await symlink(outside, join(path, 'link'));
    await symlink('../../..', join(path, 'up'));
    expect(await volumes.remove(name, signal)).toBe(true);
    expect(await readFile(join(outside, 'f'), 'utf8')).toBe('kept');
  });

  test.each(['../x', '.', '.removed-a', 'a/b', ''])('rejects the name %j', async (name) => {
    await using t = await createTestHost();
    const { volumes } = worldOf(t);
    await expect(volumes.create(spec({ name }), signal)).rejects.toThrow(/not the name of a local volume/);
    await expect(volumes.remove(name, signal)).rejects.toThrow(/not the name of a local volume/);
  });

  test('a path beneath the directory of volumes is that of a volume, or rejected', async () => {
    await using t = await createTestHost();
    const { volumes, base } = worldOf(t);
    await volumes.prepare('/srv/data', 'u', signal);
    for (const path of [`${base}/a`, `${base}/a/volume.json`, `${base}/a/data/x`, `${base}/../x/data`]) {
      await expect(volumes.prepare(path, 'u', signal)).rejects.toThrow(/not the path of a local volume/);
    }
    await expect(volumes.prepare(`${base}/a/data`, 'u', signal)).rejects.toThrow(/does not exist/);
  });
});

describe('local with a volume of the agent', () => {
  test.each(kinds)('%s: is mounted for a pod, and keeps its content', async (kind) => {
    await using t = await createTestHost();
    const { volumes } = worldOf(t);
    const { path, name } = await volumes.create(spec({ kind }), signal);
    const volume: PersistentVolume = { metadata: { name: 'pv' }, spec: { local: { path } } };
    t.persistentVolumes.set('pv', volume);
    t.claims.set('default/c', { metadata: { namespace: 'default', name: 'c' }, spec: { volumeName: 'pv' } });
    const manager = createVolumeManager({ ...t.host, localVolumes: volumes });
    for (const uid of ['u1', 'u2']) {
      const pod = testPod(uid, [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }]);
      const found = (await manager.mountPod(pod, signal)).get('v')?.hostPath ?? '';
      await writeFile(join(found, uid), uid);
      expect(await readFile(join(found, 'u1'), 'utf8')).toBe('u1');
      await unmounted(manager, uid);
      await rm(join(t.rootDir, 'pods', uid), { recursive: true, force: true });
    }
    expect(await volumes.remove(name, signal)).toBe(true);
  });
});
