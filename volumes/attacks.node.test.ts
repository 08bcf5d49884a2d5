/** Attacks of hostile pods on the node through their volumes. Whatever happens to the pod, the host stays
 *  unchanged. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { chmod, link, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { PodSpec, Volume } from '#api/gen/core-v1.ts';
import { type VolumeManager } from './contract/volume-manager.ts';
import { VolumeError } from './errors/volume-error.ts';
import { setOwnership } from './files/ownership.ts';
import { createTestHost, type TestHost, testPod } from './manage/host.fixture.ts';
import { createVolumeManager } from './manage/manager.ts';
import { createMounter } from './mount/mounter.ts';
import { startSwapping } from './mount/swapper.fixture.ts';

const never = new AbortController().signal;

interface Scene extends TestHost {
  readonly manager: VolumeManager;
  /** Directory of the node with a file, a directory with a file in it, and unusual modes. */
  readonly victim: string;
  /** Returns names, modes, owners and contents of all entries. */
  readonly snapshot: () => Promise<readonly string[]>;
  readonly mountPod: (volumes: readonly Volume[], spec?: Partial<PodSpec>) => Promise<string>;
}

async function createScene(): Promise<Scene> {
  const t = await createTestHost();
  const manager = createVolumeManager(t.host);
  const victim = join(t.base, 'victim');
  await mkdir(join(victim, 'dir'), { recursive: true });
  await writeFile(join(victim, 'secret'), 'of the node');
  await writeFile(join(victim, 'dir/f'), 'of the node too');
  await chmod(join(victim, 'secret'), 0o604);
  await chmod(join(victim, 'dir'), 0o715);
  const snapshot = async (): Promise<readonly string[]> =>
    Promise.all(
      (await readdir(victim, { recursive: true })).toSorted().map(async (name) => {
        const { mode, uid, gid, nlink, size } = await stat(join(victim, name));
        const text = (mode & 0o40000) === 0 ? await readFile(join(victim, name), 'utf8') : '';
        return [name, mode.toString(8), uid, gid, nlink, size, text].join(' ');
      }),
    );
  return {
    ...t,
    manager,
    victim,
    snapshot,
    async mountPod(volumes, spec = {}) {
      const mounted = await manager.mountPod(testPod('uid-1', volumes, spec), never);
      return mounted.get(volumes[0]?.name ?? '')?.hostPath ?? '';
    },
  };
}

describe('subPath', () => {
  test('never leads out of the volume, in 10,000 races with a container that swaps directories for links', async () => {
    await using scene = await createScene();
    const { manager, victim } = scene;
    const path = await scene.mountPod([{ name: 'v', emptyDir: {} }]);
    await mkdir(join(path, 'a/dir'), { recursive: true });
    await writeFile(join(path, 'a/dir/mine'), '');
    const targets = [victim, '/', '../../../../../../../../..', '/proc/self/root', join(victim, 'dir')];
    for (const [index, target] of targets.entries()) await symlink(target, join(path, `link${index}`));
    const links = targets.map((_, index) => `link${index}`);
    const volume = { name: 'v', hostPath: path, readOnly: false, seLinuxRelabel: false };
    const before = await scene.snapshot();
    const counts = { bound: 0, refused: 0 };

    /** A reader must see only the container's own directory, or one created in it. */
    async function race(runner: number): Promise<void> {
      const containerName = `c${runner}`;
      for (let round = 0; round < 1250; round += 1) {
        try {
          const request = { podUID: 'uid-1', volume, containerName, mountIndex: 0, subPath: 'a/dir' };
          const names = readdirSync(await manager.prepareSubPath(request));
          expect(names.filter((name) => name !== 'mine')).toEqual([]);
          counts.bound += 1;
        } catch (thrown) {
          if (!(thrown instanceof VolumeError)) throw thrown;
          counts.refused += 1;
        }
        if (round % 50 === 49) await manager.cleanSubPaths('uid-1', containerName);
      }
    }
    {
      await using swapping = await startSwapping(path, 'a', links, 20);
      expect(swapping).toBeDefined();
      await Promise.all(Array.from({ length: 8 }, (_, runner) => race(runner)));
    }
    expect(counts.bound + counts.refused).toBe(10_000);
    expect(counts.bound).toBeGreaterThan(0);
    expect(counts.refused).toBeGreaterThan(0);
    await manager.unmountPod('uid-1');
    expect(await scene.mounts()).toEqual([]);
    expect(await scene.snapshot()).toEqual(before);
  }, 180_000);
});

const token = (path: string): Volume => ({
  name: 'v',
  projected: { sources: [{ serviceAccountToken: { path } }] },
});
const fieldRef = { fieldPath: 'metadata.name' };

/** Fields that name files or directories. */
const FIELDS: readonly (readonly [string, (path: string) => Volume])[] = [
  ['configMap.items.path', (path) => ({ name: 'v', configMap: { name: 'c', items: [{ key: 'k', path }] } })],
  ['secret.items.path', (path) => ({ name: 'v', secret: { secretName: 's', items: [{ key: 'k', path }] } })],
  ['downwardAPI.items.path', (path) => ({ name: 'v', downwardAPI: { items: [{ path, fieldRef }] } })],
  [
    'projected.configMap.items.path',
    (path) => ({
      name: 'v',
      projected: { sources: [{ configMap: { name: 'c', items: [{ key: 'k', path }] } }] },
    }),
  ],
  [
    'projected.downwardAPI.items.path',
    (path) => ({ name: 'v', projected: { sources: [{ downwardAPI: { items: [{ path, fieldRef }] } }] } }),
  ],
  ['projected.serviceAccountToken.path', token],
  ['volume name', (name) => ({ name, emptyDir: {} })],
];

const ESCAPES = ['..', '../escape', 'a/../../escape', '/escape', '..data/x', 'a/../..', './../escape'];

describe('paths', () => {
  test.each(FIELDS.flatMap(([field, make]) => ESCAPES.map((path) => [field, path, make] as const)))(
    'in %s can’t be %j',
    async (_, path, make) => {
      await using scene = await createScene();
      scene.configMaps.set('default/c', { data: { k: 'x' } });
      scene.secrets.set('default/s', { data: { k: 'eA==' } });
      const accountToken = (): Promise<string> => Promise.resolve('t');
      const manager = createVolumeManager({ ...scene.host, accountToken });
      const before = await scene.snapshot();
      await expect(manager.mountPod(testPod('uid-1', [make(path)]), never)).rejects.toThrow(VolumeError);
      expect(await readdir(scene.base, { recursive: true })).not.toContainEqual(
        expect.stringMatching(/(?:^|\/)escape$/),
      );
      expect(await scene.snapshot()).toEqual(before);
      await manager.unmountPod('uid-1');
    },
  );

  test.each(['../x', '..', '/x', '..data'])('cannot be created by a ConfigMap key %j', async (key) => {
    await using scene = await createScene();
    scene.configMaps.set('default/c', { data: { [key]: 'x', good: 'y' } });
    const attempt = scene.mountPod([{ name: 'v', configMap: { name: 'c' } }]);
    await expect(attempt).rejects.toThrow(VolumeError);
    const found = await readdir(scene.rootDir, { recursive: true });
    expect(found.filter((name) => /(?:^|\/)x$/.test(name))).toEqual([]);
    await scene.manager.unmountPod('uid-1');
  });
});

/** Creates every kind of file that may be an obstacle, as a container would create them. */
async function fill(path: string, victim: string): Promise<void> {
  await symlink(victim, join(path, 'link'));
  await symlink(join(victim, 'dir/f'), join(path, 'link-to-file'));
  await symlink('/', join(path, 'link-to-root'));
  await symlink('loop', join(path, 'loop'));
  await mkdir(join(path, 'deep/er'), { recursive: true });
  await symlink(victim, join(path, 'deep/er/link'));
  await writeFile(join(path, 'plain'), 'x');
  await link(join(path, 'plain'), join(path, 'deep/hard'));
  execFileSync('mkfifo', [join(path, 'fifo'), join(path, 'deep/fifo')]);
  execFileSync('mknod', [join(path, 'zero'), 'c', '1', '5']);
  execFileSync('mknod', [join(path, 'deep/disk'), 'b', '7', '250']);
  await writeFile(join(path, 'program'), '#!/bin/sh\n');
  await chmod(join(path, 'program'), 0o6755);
}

describe('an emptyDir full of links, pipes and devices', () => {
  test('is removed without touching the link targets', async () => {
    await using scene = await createScene();
    const before = await scene.snapshot();
    const zero = statSync('/dev/zero');
    await fill(await scene.mountPod([{ name: 'v', emptyDir: {} }]), scene.victim);
    await scene.manager.unmountPod('uid-1');
    expect(existsSync(join(scene.rootDir, 'pods/uid-1'))).toBe(false);
    expect(await scene.snapshot()).toEqual(before);
    expect(statSync('/dev/zero')).toMatchObject({ mode: zero.mode, uid: zero.uid, gid: zero.gid });
  });

  test('gets fsGroup without a change of the link targets', async () => {
    await using scene = await createScene();
    const before = await scene.snapshot();
    const zero = statSync('/dev/zero');
    const path = await scene.mountPod([{ name: 'v', emptyDir: {} }]);
    await fill(path, scene.victim);
    const group = { gid: 4711, readOnly: false, onRootMismatch: false };
    await setOwnership(createMounter().syscalls, path, group);
    expect(statSync(join(path, 'plain')).gid).toBe(4711);
    expect(await scene.snapshot()).toEqual(before);
    expect(statSync('/dev/zero')).toMatchObject({ mode: zero.mode, uid: zero.uid, gid: zero.gid });
    await scene.manager.unmountPod('uid-1');
    expect(await scene.snapshot()).toEqual(before);
  });

  test('does not let a volume writer escape', async () => {
    await using scene = await createScene();
    scene.configMaps.set('default/c', { data: { key: 'one' } });
    const volumes: Volume[] = [{ name: 'v', configMap: { name: 'c' } }];
    const path = await scene.mountPod(volumes);
    const before = await scene.snapshot();
    execFileSync('rm', ['-rf', join(path, '..data')]);
    await symlink(scene.victim, join(path, '..data'));
    execFileSync('rm', ['-f', join(path, 'key')]);
    await symlink(join(scene.victim, 'secret'), join(path, 'key'));
    scene.configMaps.set('default/c', { data: { key: 'two' } });
    await createVolumeManager(scene.host).mountPod(testPod('uid-1', volumes), never);
    expect(await readFile(join(path, 'key'), 'utf8')).toBe('two');
    expect(await scene.snapshot()).toEqual(before);
    await scene.manager.unmountPod('uid-1');
    expect(await scene.snapshot()).toEqual(before);
  });
});

describe('mounts hidden beneath a pod’s directory', () => {
  test('are unmounted, and their content stays', async () => {
    await using scene = await createScene();
    const path = await scene.mountPod([{ name: 'v', emptyDir: {} }]);
    const before = await scene.snapshot();
    const { syscalls } = createMounter();
    const MS_BIND = 0x1000;
    const bind = async (source: string, target: string): Promise<void> =>
      syscalls.mount({ source, target, flags: MS_BIND });
    const tmpfs = async (target: string): Promise<void> =>
      syscalls.mount({ source: 'tmpfs', target, fsType: 'tmpfs', flags: 0, data: 'mode=0755' });
    await mkdir(join(path, 'x'));
    await writeFile(join(path, 'f'), '');
    await bind(scene.victim, join(path, 'x'));
    await bind(join(scene.victim, 'secret'), join(path, 'f'));
    // The following mounts hide the first ones, including this one.
    await tmpfs(path);
    await mkdir(join(path, 'y'));
    await bind(scene.victim, join(path, 'y'));
    await tmpfs(path);
    await mkdir(join(path, 'z'));
    await bind(scene.victim, join(path, 'z'));
    expect(await scene.mounts()).toHaveLength(6);
    await scene.manager.unmountPod('uid-1');
    expect(await scene.mounts()).toEqual([]);
    expect(existsSync(join(scene.rootDir, 'pods/uid-1'))).toBe(false);
    expect(await scene.snapshot()).toEqual(before);
  });
});
