import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { chmod, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { MountedVolume, VolumeManager } from '../contract/volume-manager.ts';
import { MS_SHARED } from '../files/syscalls.ts';
import { createTestHost, type TestHost, testPod } from '../manage/host.fixture.ts';
import { createVolumeManager } from '../manage/manager.ts';
import { createMounter } from './mounter.ts';
import { startSwapping } from './swapper.fixture.ts';

const never = new AbortController().signal;

interface Scene extends AsyncDisposable {
  readonly t: TestHost;
  readonly manager: VolumeManager;
  readonly volume: MountedVolume;
  /** Directory of the node, outside the volume, with a file `secret` and a directory `x`. */
  readonly host: string;
  readonly bind: (subPath: string, mountIndex?: number) => Promise<string>;
}

async function createScene(fsGroup?: number): Promise<Scene> {
  const t = await createTestHost();
  const manager = createVolumeManager(t.host);
  const spec = fsGroup === undefined ? {} : { securityContext: { fsGroup } };
  const volumes = await manager.mountPod(testPod('uid-1', [{ name: 'v', emptyDir: {} }], spec), never);
  const volume = volumes.get('v');
  if (volume === undefined) throw new Error('not mounted');
  const host = join(t.base, 'host');
  await mkdir(join(host, 'x'), { recursive: true });
  await writeFile(join(host, 'secret'), 'of the node');
  return {
    t,
    manager,
    volume,
    host,
    bind: (subPath, mountIndex = 0) =>
      manager.prepareSubPath({ podUID: 'uid-1', volume, containerName: 'app', mountIndex, subPath }),
    [Symbol.asyncDispose]: () => t[Symbol.asyncDispose](),
  };
}

describe('prepareSubPath', () => {
  test('binds a directory, and creates missing parts with the mode of the volume', async () => {
    await using scene = await createScene(4321);
    const { t, volume, bind } = scene;
    const target = await bind('new/deep');
    expect(target).toBe(`${t.rootDir}/pods/uid-1/volume-subpaths/v/app/0`);
    await writeFile(join(target, 'f'), 'x');
    expect(readFileSync(join(volume.hostPath, 'new/deep/f'), 'utf8')).toBe('x');
    const stats = statSync(join(volume.hostPath, 'new'));
    expect([stats.mode & 0o7777, stats.gid]).toEqual([0o2777, 4321]);
  });

  test.each([0o1777, 0o777, 0o3770, 0o755])(
    'creates missing directories with mode %o of the volume',
    async (mode) => {
      await using scene = await createScene();
      const { volume, bind } = scene;
      await chmod(volume.hostPath, mode);
      await bind('new/deep');
      const modes = ['new', 'new/deep'].map((name) => statSync(join(volume.hostPath, name)).mode & 0o7777);
      expect(modes).toEqual([mode, mode]);
    },
  );

  test('binds a file, a socket and a pipe onto a file', async () => {
    await using scene = await createScene();
    const { volume, bind } = scene;
    await writeFile(join(volume.hostPath, 'f'), 'x');
    const server = createServer().listen(join(volume.hostPath, 's'));
    expect(readFileSync(await bind('f', 0), 'utf8')).toBe('x');
    expect(statSync(await bind('s', 1)).isSocket()).toBe(true);
    server.close();
  });

  test('binds a key of a configMap, and its new version', async () => {
    await using t = await createTestHost();
    t.configMaps.set('default/app', { data: { k: '1' } });
    const manager = createVolumeManager(t.host);
    const pod = testPod('uid-1', [{ name: 'v', configMap: { name: 'app' } }]);
    const volume = (await manager.mountPod(pod, never)).get('v');
    if (volume === undefined) throw new Error('not mounted');
    const request = { podUID: 'uid-1', volume, containerName: 'app', mountIndex: 0, subPath: 'k' };
    const target = await manager.prepareSubPath(request);
    expect(readFileSync(target, 'utf8')).toBe('1');
    t.configMaps.set('default/app', { data: { k: '2' } });
    await manager.refreshPod(pod);
    await manager.prepareSubPath(request);
    expect(readFileSync(target, 'utf8')).toBe('2');
    expect(await t.mounts()).toHaveLength(1);
    await expect(manager.prepareSubPath({ ...request, subPath: 'absent' })).rejects.toThrow(
      'volume "v": subPath "absent" does not exist in the read-only volume',
    );
  });

  test('is repeated without stacking, and follows what replaced the directory', async () => {
    await using scene = await createScene();
    const { t, volume, bind } = scene;
    const target = await bind('a');
    await bind('a');
    expect(await t.mounts()).toHaveLength(1);
    await rename(join(volume.hostPath, 'a'), join(volume.hostPath, 'old'));
    await writeFile(join(volume.hostPath, 'a'), 'a file now');
    await bind('a');
    expect(readFileSync(target, 'utf8')).toBe('a file now');
    expect(await t.mounts()).toHaveLength(1);
  });

  test('follows links that stay inside the volume', async () => {
    await using scene = await createScene();
    const { volume, bind } = scene;
    await mkdir(join(volume.hostPath, 'real/sub'), { recursive: true });
    await symlink('real', join(volume.hostPath, 'link'));
    await symlink('../real/sub', join(volume.hostPath, 'real/up'));
    await writeFile(join(volume.hostPath, 'real/sub/f'), 'x');
    expect(readdirSync(await bind('link/up'))).toEqual(['f']);
    await bind('link/made');
    expect(existsSync(join(volume.hostPath, 'real/made'))).toBe(true);
  });

  test.each([
    ['an absolute link', 'HOST', 'link', 'leads out of the volume'],
    ['an absolute link on the way', 'HOST', 'link/x', 'leads out of the volume'],
    ['a new directory behind a link', 'HOST', 'link/new', 'leads out of the volume'],
    ['a link upwards', '../../../../../host', 'link/x', 'leads out of the volume'],
    ['a link to the parent', '..', 'link', 'leads out of the volume'],
    ['a link to itself', 'link', 'link', 'contains a link that is not followed'],
    ['a magic link', '/proc/self/root', 'link/etc', 'leads out of the volume'],
    ['a link to nothing', 'nothing', 'link', 'ENOENT'],
    ['a file on the way', 'file', 'link/x', 'goes through something that is not a directory'],
  ])('rejects %s', async (_, target, subPath, message) => {
    await using scene = await createScene();
    const { t, volume, host, bind } = scene;
    await writeFile(join(volume.hostPath, 'file'), '');
    await symlink(target.replace('HOST', host), join(volume.hostPath, 'link'));
    await expect(bind(subPath)).rejects.toMatchObject({
      name: 'VolumeError',
      message: expect.stringContaining(message) as string,
    });
    expect(readdirSync(host).sort()).toEqual(['secret', 'x']);
    expect(readdirSync(join(host, 'x'))).toEqual([]);
    expect(await t.mounts()).toHaveLength(0);
  });

  test.each(['..', '../x', 'a/../../x', '/etc'])('rejects %j', async (subPath) => {
    await using scene = await createScene();
    await expect(scene.bind(subPath)).rejects.toThrow(/must not contain "\.\."|must be relative/);
  });

  test.each(['../app', 'a/b', '..', ''])('rejects a container named %j', async (containerName) => {
    await using scene = await createScene();
    const { manager, volume } = scene;
    const request = { podUID: 'uid-1', volume, containerName, mountIndex: 0, subPath: 'a' };
    await expect(manager.prepareSubPath(request)).rejects.toThrow('container name');
    await expect(manager.cleanSubPaths('uid-1', containerName)).rejects.toThrow('container name');
  });

  test('shows later mounts of the original, and detaches none of them', async () => {
    await using scene = await createScene();
    const { t, manager, volume, bind } = scene;
    const shared = join(t.base, 'shared');
    await mkdir(shared);
    const { syscalls } = createMounter();
    await syscalls.mount({ source: 'tmpfs', target: shared, fsType: 'tmpfs', flags: 0 });
    await syscalls.mount({ source: 'none', target: shared, flags: MS_SHARED });
    await mkdir(join(shared, 'sub/inner'), { recursive: true });
    const request = { podUID: 'uid-1', containerName: 'app', mountIndex: 0, subPath: 'sub' };
    await manager.prepareSubPath({ ...request, volume: { ...volume, name: 'h', hostPath: shared } });
    await syscalls.mount({ source: 'tmpfs', target: join(shared, 'sub/inner'), fsType: 'tmpfs', flags: 0 });
    expect(await t.mounts()).toHaveLength(4);
    await manager.unmountPod('uid-1');
    expect((await t.mounts()).map(({ mountPoint }) => mountPoint)).toEqual([
      join(shared, 'sub/inner'),
      shared,
    ]);
    await expect(bind('a')).rejects.toThrow('ENOENT');
  });
});

describe('cleanSubPaths', () => {
  test('removes those of one container only', async () => {
    await using scene = await createScene();
    const { t, manager, volume, bind } = scene;
    await bind('a', 0);
    await bind('b', 1);
    const other = { podUID: 'uid-1', volume, containerName: 'other', mountIndex: 0, subPath: 'a' };
    const remaining = await manager.prepareSubPath(other);
    await manager.cleanSubPaths('uid-1', 'app');
    expect((await t.mounts()).map(({ mountPoint }) => mountPoint)).toEqual([remaining]);
    await manager.cleanSubPaths('uid-1', 'other');
    await manager.cleanSubPaths('uid-1', 'other');
    await manager.cleanSubPaths('uid-2', 'app');
    expect(readdirSync(`${t.rootDir}/pods/uid-1/volume-subpaths`)).toEqual([]);
    expect(readdirSync(volume.hostPath).sort()).toEqual(['a', 'b']);
  });
});

describe('prepareSubPath against a container that swaps a directory for a link', () => {
  test.each([
    ['to a directory of the node', undefined, 'a/x'],
    ['to a directory of the node, as the last part', undefined, 'a'],
    ['to /etc', '/etc', 'a'],
    ['to the root', '/', 'a/x'],
  ])('never shows what is behind a link %s', async (_, target, subPath) => {
    await using scene = await createScene();
    const { t, manager, volume, host, bind } = scene;
    await mkdir(join(volume.hostPath, 'a/x'), { recursive: true });
    await writeFile(join(volume.hostPath, 'a/mine'), '');
    await writeFile(join(volume.hostPath, 'a/x/mine'), '');
    await symlink(target ?? host, join(volume.hostPath, 'link'));
    const counts = { bound: 0, refused: 0 };
    {
      await using swapping = await startSwapping(volume.hostPath);
      expect(swapping).toBeDefined();
      for (
        let round = 0;
        round < 2000 && (round < 250 || Math.min(counts.bound, counts.refused) < 20);
        round += 1
      ) {
        try {
          const names = readdirSync(await bind(subPath));
          expect(names).toContain('mine');
          counts.bound += 1;
        } catch (thrown) {
          if (!(thrown instanceof Error) || thrown.name !== 'VolumeError') throw thrown;
          counts.refused += 1;
        }
        if (round % 5 === 0) await manager.cleanSubPaths('uid-1', 'app');
      }
    }
    expect(counts.bound).toBeGreaterThan(0);
    expect(counts.refused).toBeGreaterThan(0);
    expect(readdirSync(host).sort()).toEqual(['secret', 'x']);
    await manager.unmountPod('uid-1');
    expect(await t.mounts()).toHaveLength(0);
    expect(readFileSync(join(host, 'secret'), 'utf8')).toBe('of the node');
  });

  test('never creates or changes a directory outside', async () => {
    await using scene = await createScene();
    const { manager, volume, host, bind } = scene;
    await mkdir(join(volume.hostPath, 'a'));
    await symlink(host, join(volume.hostPath, 'link'));
    await chmod(join(host, 'x'), 0o700);
    {
      await using swapping = await startSwapping(volume.hostPath);
      expect(swapping).toBeDefined();
      for (let round = 0; round < 250; round += 1) {
        try {
          await bind(`a/new-${round}/x`, round);
        } catch (thrown) {
          if (!(thrown instanceof Error) || thrown.name !== 'VolumeError') throw thrown;
        }
      }
    }
    const created = ['a', 'link'].flatMap((name) => readdirSync(join(volume.hostPath, name)));
    expect(created.filter((name) => name.startsWith('new-')).length).toBeGreaterThan(0);
    expect(readdirSync(host).sort()).toEqual(['secret', 'x']);
    expect(statSync(join(host, 'x')).mode & 0o7777).toBe(0o700);
    await manager.unmountPod('uid-1');
  });

  test('removes nothing outside or in a mount during teardown', async () => {
    await using scene = await createScene();
    const { t, manager, volume, host } = scene;
    await mkdir(join(volume.hostPath, 'a/x/y'), { recursive: true });
    await symlink(host, join(volume.hostPath, 'link'));
    {
      const swapping = await startSwapping(volume.hostPath);
      const removal = manager.unmountPod('uid-1').catch((thrown: unknown) => thrown);
      await removal;
      await swapping[Symbol.asyncDispose]();
    }
    await manager.unmountPod('uid-1');
    expect(existsSync(`${t.rootDir}/pods/uid-1`)).toBe(false);
    expect(readFileSync(join(host, 'secret'), 'utf8')).toBe('of the node');
    await rm(host, { recursive: true });
  });
});
