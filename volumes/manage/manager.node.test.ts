import { existsSync, readdirSync, readFileSync, readlinkSync, statSync, symlinkSync } from 'node:fs';
import { chmod, lstat, mkdir, mkdtemp, rm, stat, statfs, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { PodSpec, Volume } from '#api/gen/core-v1.ts';
import { createFakeClock } from '#api/kit/clock.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { MountedVolume, VolumeManager } from '../contract/volume-manager.ts';
import { VolumeError } from '../errors/volume-error.ts';
import { MS_BIND } from '../files/syscalls.ts';
import { createMounter } from '../mount/mounter.ts';
import { createTestHost, testPod } from './host.fixture.ts';
import { createVolumeManager } from './manager.ts';

const DOMAIN = VOCABULARIES.plat.domain;
const TMPFS_MAGIC = 0x0102_1994;
const never = new AbortController().signal;
const base64 = (text: string): string => Buffer.from(text).toString('base64');

async function mountOne(manager: VolumeManager, volume: Volume, spec = {}): Promise<MountedVolume> {
  const volumes = await manager.mountPod(testPod('uid-1', [volume], spec), never);
  const mounted = volumes.get(volume.name);
  if (mounted === undefined) throw new Error('not mounted');
  return mounted;
}

const modeOf = (path: string): number => statSync(path).mode & 0o7777;

/** From a future release. */
const OTHER_SOURCE = { tapeLibrary: { slot: 1 } };

describe('emptyDir', () => {
  test('is a directory that everyone may write', async () => {
    await using t = await createTestHost();
    const mounted = await mountOne(createVolumeManager(t.host), { name: 'v', emptyDir: {} });
    expect(mounted).toEqual({
      name: 'v',
      hostPath: `${t.rootDir}/pods/uid-1/volumes/${DOMAIN}~empty-dir/v`,
      readOnly: false,
      seLinuxRelabel: true,
    });
    expect(modeOf(mounted.hostPath)).toBe(0o777);
    expect(readdirSync(join(mounted.hostPath, '..'))).toEqual(['v']);
  });

  test('belongs to fsGroup', async () => {
    await using t = await createTestHost();
    const spec = { securityContext: { fsGroup: 4321 } };
    const manager = createVolumeManager(t.host);
    const volumes = await manager.mountPod(
      testPod(
        'uid-1',
        [
          { name: 'd', emptyDir: {} },
          { name: 'm', emptyDir: { medium: 'Memory' } },
        ],
        spec,
      ),
      never,
    );
    const facts = [...volumes.values()].map(({ hostPath }) => [modeOf(hostPath), statSync(hostPath).gid]);
    expect(facts).toEqual([
      [0o2777, 4321],
      [0o3777, 4321],
    ]);
  });

  test('retains its content and permissions across a restart of the agent', async () => {
    await using t = await createTestHost();
    const volume = { name: 'v', emptyDir: {} };
    const { hostPath } = await mountOne(createVolumeManager(t.host), volume);
    await writeFile(join(hostPath, 'f'), 'x');
    await chmod(hostPath, 0o700);
    await mountOne(createVolumeManager(t.host), volume);
    expect(readFileSync(join(hostPath, 'f'), 'utf8')).toBe('x');
    expect(modeOf(hostPath)).toBe(0o700);
  });

  test('in memory is a tmpfs of the limited size, once', async () => {
    await using t = await createTestHost();
    const volume = { name: 'v', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } };
    const { hostPath } = await mountOne(createVolumeManager(t.host), volume);
    const info = await statfs(hostPath);
    expect(info.type).toBe(TMPFS_MAGIC);
    expect(info.blocks * info.bsize).toBe(2 ** 20);
    expect(modeOf(hostPath)).toBe(0o1777);
    await writeFile(join(hostPath, 'f'), 'x');
    const again = createVolumeManager(t.host);
    await mountOne(again, volume);
    await mountOne(again, volume);
    expect(await t.mounts()).toHaveLength(1);
    expect(readFileSync(join(hostPath, 'f'), 'utf8')).toBe('x');
    await expect(writeFile(join(hostPath, 'big'), Buffer.alloc(2 ** 21))).rejects.toThrow('ENOSPC');
  });

  test('in huge pages is a hugetlbfs with the pod page size', async () => {
    await using t = await createTestHost();
    const spec = {
      containers: [
        {
          name: 'app',
          resources: { limits: { 'hugepages-2Mi': '4Mi' } },
          volumeMounts: [{ name: 'v', mountPath: '/v' }],
        },
      ],
    };
    const volume = { name: 'v', emptyDir: { medium: 'HugePages' } };
    await mountOne(createVolumeManager(t.host), volume, spec);
    await mountOne(createVolumeManager(t.host), volume, spec);
    const [mount, ...others] = await t.mounts();
    expect(others).toEqual([]);
    expect(mount?.fsType).toBe('hugetlbfs');
    expect(mount?.superOptions).toContain('pagesize=2M');
  });
});

describe('content volumes', () => {
  test('show configMap, secret, downwardAPI and projected sources', async () => {
    await using t = await createTestHost();
    t.configMaps.set('default/app', {
      data: { a: 'text', skipped: 'x' },
      binaryData: { b: base64('\u0000bin') },
    });
    t.secrets.set('default/key', { data: { s: base64('old') }, stringData: { s: 'new' } });
    const manager = createVolumeManager(t.host);
    const downward = {
      items: [
        { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
        { path: 'cpu/limit', resourceFieldRef: { containerName: 'app', resource: 'limits.cpu' } },
      ],
    };
    const volumes = await manager.mountPod(
      testPod('uid-1', [
        {
          name: 'cfg',
          configMap: {
            name: 'app',
            defaultMode: 0o440,
            items: [
              { key: 'a', path: 'x/a' },
              { key: 'b', path: 'b', mode: 0o755 },
            ],
          },
        },
        { name: 'sec', secret: { secretName: 'key' } },
        { name: 'down', downwardAPI: downward },
        {
          name: 'all',
          projected: {
            sources: [{ configMap: { name: 'app' } }, { secret: { name: 'key' } }, { downwardAPI: downward }],
          },
        },
      ]),
      never,
    );
    const read = (name: string, path: string): string =>
      readFileSync(join(volumes.get(name)?.hostPath ?? '', path), 'utf8');
    expect(read('cfg', 'x/a')).toBe('text');
    expect(read('cfg', 'b')).toBe('\u0000bin');
    expect(modeOf(join(volumes.get('cfg')?.hostPath ?? '', 'x/a'))).toBe(0o440);
    expect(modeOf(join(volumes.get('cfg')?.hostPath ?? '', 'b'))).toBe(0o755);
    expect(read('sec', 's')).toBe('new');
    expect(read('down', 'labels')).toBe('app="web"');
    expect(read('down', 'cpu/limit')).toBe('2');
    expect(['a', 'b', 'skipped', 's', 'labels', 'cpu/limit'].map((path) => read('all', path))).toHaveLength(
      6,
    );
    expect([...volumes.values()].every(({ readOnly }) => readOnly)).toBe(true);
    const onTmpfs = (await t.mounts()).map(({ mountPoint }) => mountPoint.split('/').at(-1));
    expect(new Set(onTmpfs)).toEqual(new Set(['all', 'down', 'sec']));
  });

  test('are readable for fsGroup', async () => {
    await using t = await createTestHost();
    t.secrets.set('default/key', { data: { s: base64('x') } });
    const { hostPath } = await mountOne(
      createVolumeManager(t.host),
      { name: 'v', secret: { secretName: 'key', defaultMode: 0o400 } },
      { securityContext: { fsGroup: 4321 } },
    );
    const stats = statSync(join(hostPath, 's'));
    expect([stats.mode & 0o7777, stats.gid]).toEqual([0o440, 4321]);
    expect(statSync(hostPath).gid).toBe(4321);
  });

  test('follow their object, even after a restart of the agent', async () => {
    await using t = await createTestHost();
    t.configMaps.set('default/app', { data: { a: '1', gone: 'x' } });
    const pod = testPod('uid-1', [{ name: 'v', configMap: { name: 'app' } }]);
    const first = createVolumeManager(t.host);
    const dir = (await first.mountPod(pod, never)).get('v')?.hostPath ?? '';
    t.configMaps.set('default/app', { data: { a: '2' } });
    await first.mountPod(pod, never);
    expect(readFileSync(join(dir, 'a'), 'utf8')).toBe('1');
    await first.refreshPod(pod);
    expect(readFileSync(join(dir, 'a'), 'utf8')).toBe('2');
    expect(existsSync(join(dir, 'gone'))).toBe(false);
    const version = readlinkSync(join(dir, '..data'));
    await first.refreshPod(pod);
    const second = createVolumeManager(t.host);
    await second.mountPod(pod, never);
    expect(readlinkSync(join(dir, '..data'))).toBe(version);
    t.configMaps.set('default/app', { data: { a: '3' } });
    await second.refreshPod(pod);
    expect(readFileSync(join(dir, 'a'), 'utf8')).toBe('3');
  });

  test('retain their files when the object is gone, and report it', async () => {
    await using t = await createTestHost();
    t.configMaps.set('default/app', { data: { a: '1' } });
    const pod = testPod('uid-1', [{ name: 'v', configMap: { name: 'app' } }]);
    const manager = createVolumeManager(t.host);
    const dir = (await manager.mountPod(pod, never)).get('v')?.hostPath ?? '';
    t.configMaps.clear();
    await expect(manager.refreshPod(pod)).rejects.toThrow('volume "v": ConfigMap default/app not found');
    expect(readFileSync(join(dir, 'a'), 'utf8')).toBe('1');
  });

  test('of an immutable object are not read again', async () => {
    await using t = await createTestHost();
    t.configMaps.set('default/app', { data: { a: '1' }, immutable: true });
    const pod = testPod('uid-1', [{ name: 'v', configMap: { name: 'app' } }]);
    const manager = createVolumeManager(t.host);
    await manager.mountPod(pod, never);
    t.configMaps.clear();
    await expect(manager.refreshPod(pod)).resolves.toBeUndefined();
  });

  test('may be optional', async () => {
    await using t = await createTestHost();
    const manager = createVolumeManager(t.host);
    const pod = testPod('uid-1', [{ name: 'v', configMap: { name: 'app', optional: true } }]);
    const dir = (await manager.mountPod(pod, never)).get('v')?.hostPath ?? '';
    expect(readdirSync(dir).filter((name) => !name.startsWith('..'))).toEqual([]);
    t.configMaps.set('default/app', { data: { a: '1' } });
    await manager.refreshPod(pod);
    expect(readFileSync(join(dir, 'a'), 'utf8')).toBe('1');
  });
});

describe('tokens of the service account', () => {
  const user = (name: string, runAsUser?: number) => ({
    name,
    volumeMounts: [{ name: 'v', mountPath: '/v' }],
    ...(runAsUser === undefined ? {} : { securityContext: { runAsUser } }),
  });
  const pair = (a?: number, b?: number): Partial<PodSpec> => ({ containers: [user('a', a), user('b', b)] });
  const volume = {
    name: 'v',
    projected: { sources: [{ serviceAccountToken: { path: 'token' } }, { configMap: { name: 'app' } }] },
  };

  test.each<[string, Partial<PodSpec>, [mode: number, uid: number, gid: number]]>([
    ['no user and no group', {}, [0o644, 0, 0]],
    ['a user of the pod', { securityContext: { runAsUser: 1234 } }, [0o600, 1234, 0]],
    ['root as the user of the pod', { securityContext: { runAsUser: 0 } }, [0o600, 0, 0]],
    ['one user in all containers', pair(1234, 1234), [0o600, 1234, 0]],
    ['several users', pair(1234, 4321), [0o644, 0, 0]],
    ['a container without a user', pair(1234), [0o644, 0, 0]],
    ['an init container of another user', { ...pair(1, 1), initContainers: [user('i', 2)] }, [0o644, 0, 0]],
    [
      'a container that overrides the user of the pod',
      { ...pair(7, 7), securityContext: { runAsUser: 8 } },
      [0o600, 7, 0],
    ],
    ['a group', { securityContext: { fsGroup: 99 } }, [0o640, 0, 99]],
    ['a user and a group', { securityContext: { runAsUser: 1234, fsGroup: 99 } }, [0o640, 1234, 99]],
    ['several users and a group', { ...pair(1, 2), securityContext: { fsGroup: 99 } }, [0o640, 0, 99]],
  ])('of a pod with %s', async (_, spec, [mode, uid, gid]) => {
    await using t = await createTestHost();
    t.configMaps.set('default/app', { data: { other: 'x' } });
    let issued = 0;
    const accountToken = (): Promise<string> => {
      issued += 1;
      return Promise.resolve(`t${issued}`);
    };
    const manager = createVolumeManager({ ...t.host, accountToken });
    const pod = testPod('uid-1', [volume], spec);
    const dir = (await manager.mountPod(pod, never)).get('v')?.hostPath ?? '';
    const owned = (name: string): number[] => {
      const stats = statSync(join(dir, name));
      return [stats.mode & 0o7777, stats.uid, stats.gid];
    };
    expect(owned('token')).toEqual([mode, uid, gid]);
    expect(owned('other').slice(1)).toEqual([0, gid]);
    // The renewed token has the same owner.
    await manager.refreshPod(pod);
    expect(readFileSync(join(dir, 'token'), 'utf8')).toBe('t2');
    expect(owned('token')).toEqual([mode, uid, gid]);
  });
});

describe('mountPod', () => {
  test('names every volume that fails and mounts the others', async () => {
    await using t = await createTestHost();
    t.configMaps.set('default/app', { data: { a: '1' } });
    const token = { serviceAccountToken: { path: 'token' } };
    const pod = testPod('uid-1', [
      { name: 'good', emptyDir: {} },
      { name: 'cfg', configMap: { name: 'absent' } },
      { name: 'key', configMap: { name: 'app', items: [{ key: 'k', path: 'k' }] } },
      { name: 'tok', projected: { sources: [token] } },
      { name: 'odd', ...OTHER_SOURCE },
      { name: 'none' },
      { name: 'big', emptyDir: { medium: 'Memory', sizeLimit: 'lots' } },
      { name: 'down', downwardAPI: { items: [{ path: 'ip', fieldRef: { fieldPath: 'status.podIP' } }] } },
      { name: 'esc', configMap: { name: 'app', items: [{ key: 'a', path: '../../a' }] } },
    ]);
    const manager = createVolumeManager(t.host);
    const failure = await manager.mountPod(pod, never).catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({
      name: 'VolumeError',
      reason: 'FailedMount',
      volumes: ['cfg', 'key', 'tok', 'odd', 'none', 'big', 'down', 'esc'],
    });
    expect(failure).toHaveProperty('backoffMs', expect.any(Number));
    expect(String(failure).split('; ')).toEqual([
      'VolumeError: volume "cfg": ConfigMap default/absent not found',
      'volume "key": ConfigMap default/app has no key "k"',
      expect.stringContaining('volume "tok": a serviceAccountToken source needs an API server'),
      `volume "odd": this agent cannot mount volumes of source tapeLibrary`,
      'volume "none": no volume source is set',
      'volume "big": sizeLimit is not a quantity: "lots"',
      'volume "down": downwardAPI file "ip": fieldPath "status.podIP" is not supported in volumes',
      'volume "esc": path "../../a" starts with ".."',
    ]);
    expect(existsSync(`${t.rootDir}/pods/uid-1/volumes/${DOMAIN}~empty-dir/good`)).toBe(true);
    expect(existsSync(`${t.rootDir}/pods/a`)).toBe(false);
  });

  test('reports repeated failures of a volume with the same message, and the time of the retry', async () => {
    await using t = await createTestHost();
    const clock = createFakeClock();
    const manager = createVolumeManager({ ...t.host, clock });
    const pod = testPod('uid-1', [{ name: 'cfg', configMap: { name: 'absent' } }]);
    const tries: unknown[] = [];
    for (const waitMs of [0, 500, 1]) {
      await clock.advance(waitMs);
      tries.push(await manager.mountPod(pod, never).catch((thrown: unknown) => thrown));
    }
    expect(new Set(tries.map((error) => String(error))).size).toBe(1);
    expect(tries.map((error) => (error instanceof VolumeError ? error.backoffMs : -1))).toEqual([
      500, 1000, 999,
    ]);
  });

  test('skips unused volumes and reports undefined ones', async () => {
    await using t = await createTestHost();
    const manager = createVolumeManager(t.host);
    const pod = testPod('uid-1', [], {
      containers: [{ name: 'app', volumeMounts: [{ name: 'x', mountPath: '/x' }] }],
    });
    await expect(manager.mountPod(pod, never)).rejects.toThrow('the pod does not define it');
    const unused = testPod('uid-2', [{ name: 'v', nfs: { server: 's', path: '/' } }], { containers: [] });
    expect((await manager.mountPod(unused, never)).size).toBe(0);
  });

  test('ends with the reason of its signal while an object is being fetched', async () => {
    await using t = await createTestHost();
    const abort = new AbortController();
    const fetched = Promise.withResolvers<undefined>();
    const manager = createVolumeManager({
      ...t.host,
      objects: { ...t.host.objects, getConfigMap: () => fetched.promise },
    });
    const pod = testPod('uid-1', [{ name: 'v', configMap: { name: 'a', optional: true } }]);
    const mounting = manager.mountPod(pod, abort.signal);
    abort.abort(new Error('pod is gone'));
    await expect(mounting).rejects.toThrow('pod is gone');
    fetched.resolve(undefined);
    await manager.unmountPod('uid-1');
    expect(await manager.podsOnDisk()).toEqual([]);
  });

  test.each(['../x', '..', 'a/b', ''])('rejects a pod with UID %j', async (uid) => {
    await using t = await createTestHost();
    const manager = createVolumeManager(t.host);
    const volumes = [{ name: 'v', emptyDir: {} }];
    await expect(manager.mountPod(testPod(uid, volumes), never)).rejects.toThrow(/UID/);
    await expect(manager.unmountPod(uid)).rejects.toThrow(/UID/);
    expect(readdirSync(t.rootDir)).toEqual([]);
  });

  test('mounts the volumes of many pods in parallel', async () => {
    await using t = await createTestHost();
    t.secrets.set('default/key', { data: { s: base64('x') } });
    const manager = createVolumeManager(t.host);
    const uids = Array.from({ length: 60 }, (_, index) => `uid-${index}`);
    const volumes: Volume[] = [
      { name: 'a', emptyDir: { medium: 'Memory' } },
      { name: 'b', secret: { secretName: 'key' } },
    ];
    await Promise.all(uids.map((uid) => manager.mountPod(testPod(uid, volumes), never)));
    expect(await t.mounts()).toHaveLength(120);
    await Promise.all(uids.map((uid) => manager.unmountPod(uid)));
    expect(await t.mounts()).toHaveLength(0);
    expect(await manager.podsOnDisk()).toEqual([]);
  });
});

describe('hostPath', () => {
  test('is checked by its type', async () => {
    await using t = await createTestHost();
    const server = createServer().listen(join(t.base, 'sock'));
    await writeFile(join(t.base, 'file'), '');
    await mkdir(join(t.base, 'dir'));
    await symlink('dir', join(t.base, 'link'));
    const probe = async (type: string, path: string): Promise<string> => {
      const volume = { name: 'v', hostPath: { path, type } } as Volume;
      const pod = testPod('uid-1', [volume]);
      try {
        const mounted = (await createVolumeManager(t.host).mountPod(pod, never)).get('v');
        return `ok ${mounted?.hostPath}`;
      } catch (thrown) {
        return String(thrown);
      }
    };
    const at = (name: string): string => join(t.base, name);
    const not = (name: string, what: string): string => `type check failed: ${at(name)} is not ${what}`;
    expect(await probe('', at('nowhere'))).toBe(`ok ${at('nowhere')}`);
    expect(await probe('Directory', at('link'))).toBe(`ok ${at('link')}`);
    expect(await probe('Directory', at('file'))).toContain(not('file', 'a directory'));
    expect(await probe('Directory', at('nowhere'))).toContain('does not exist (type Directory)');
    expect(await probe('File', at('file'))).toBe(`ok ${at('file')}`);
    expect(await probe('File', at('dir'))).toContain(not('dir', 'a file'));
    expect(await probe('Socket', at('sock'))).toBe(`ok ${at('sock')}`);
    expect(await probe('Socket', at('file'))).toContain(not('file', 'a socket'));
    expect(await probe('CharDevice', '/dev/null')).toBe('ok /dev/null');
    expect(await probe('CharDevice', at('file'))).toContain(not('file', 'a character device'));
    expect(await probe('BlockDevice', '/dev/null')).toContain('is not a block device');
    expect(await probe('Teapot', at('file'))).toContain('type "Teapot" is unknown');
    expect(await probe('', 'relative')).toContain('is not an absolute path');
    expect(await probe('DirectoryOrCreate', `${t.base}/../x`)).toContain('must not contain ".."');
    expect(await probe('DirectoryOrCreate', at('new/dir'))).toBe(`ok ${at('new/dir')}`);
    expect(modeOf(at('new/dir'))).toBe(0o755);
    expect(await probe('FileOrCreate', at('new/file'))).toBe(`ok ${at('new/file')}`);
    expect(modeOf(at('new/file'))).toBe(0o644);
    expect(await probe('FileOrCreate', at('absent/file'))).toContain('ENOENT');
    expect(await probe('FileOrCreate', at('dir'))).toContain(not('dir', 'a file'));
    server.close();
  });

  test('is never touched when the pod is removed', async () => {
    await using t = await createTestHost();
    const data = join(t.base, 'data');
    await mkdir(data);
    await writeFile(join(data, 'f'), 'x');
    const manager = createVolumeManager(t.host);
    const mounted = await mountOne(manager, { name: 'v', hostPath: { path: data } });
    await manager.prepareSubPath({
      podUID: 'uid-1',
      volume: mounted,
      containerName: 'app',
      mountIndex: 0,
      subPath: 'sub/deep',
    });
    await manager.unmountPod('uid-1');
    expect(readdirSync(data).sort()).toEqual(['f', 'sub']);
    expect(existsSync(join(data, 'sub/deep'))).toBe(true);
  });
});

describe('persistentVolumeClaim', () => {
  const claim = (name: string): Volume => ({ name: 'v', persistentVolumeClaim: { claimName: name } });

  test('reaches hostPath and local volumes; the originals outlive the pod', async () => {
    await using t = await createTestHost();
    const data = join(t.base, 'data');
    await mkdir(join(data, 'sub'), { recursive: true });
    await writeFile(join(data, 'sub/f'), 'x', { mode: 0o600 });
    t.claims.set('default/l', { metadata: { name: 'l' }, spec: { volumeName: 'pl' } });
    t.claims.set('default/h', { metadata: { name: 'h' }, spec: { volumeName: 'ph' } });
    t.persistentVolumes.set('pl', { metadata: { name: 'pl' }, spec: { local: { path: data } } });
    t.persistentVolumes.set('ph', { metadata: { name: 'ph' }, spec: { hostPath: { path: data } } });
    const spec = { securityContext: { fsGroup: 4321 } };
    const manager = createVolumeManager(t.host);
    const local = await mountOne(manager, claim('l'), spec);
    expect(local.hostPath).toContain(`/pods/uid-1/volumes/${DOMAIN}~local-volume/v`);
    expect(readFileSync(join(local.hostPath, 'sub/f'), 'utf8')).toBe('x');
    const stats = statSync(join(data, 'sub/f'));
    expect([stats.gid, stats.mode & 0o7777, modeOf(join(data, 'sub'))]).toEqual([4321, 0o660, 0o2775]);
    await mountOne(createVolumeManager(t.host), claim('l'), spec);
    expect(await t.mounts()).toHaveLength(1);
    const readOnly = { name: 'v', persistentVolumeClaim: { claimName: 'h', readOnly: true } };
    const host = await createVolumeManager(t.host).mountPod(testPod('uid-2', [readOnly]), never);
    expect(host.get('v')).toMatchObject({ hostPath: data, readOnly: true });
    await manager.unmountPod('uid-1');
    expect(await t.mounts()).toHaveLength(0);
    expect(readFileSync(join(data, 'sub/f'), 'utf8')).toBe('x');
    expect(existsSync(`${t.rootDir}/pods/uid-1`)).toBe(false);
  });

  test.each([
    ['absent', 'PersistentVolumeClaim default/absent not found'],
    ['free', 'PersistentVolumeClaim default/free is not bound: it has no spec.volumeName'],
    ['lost', 'is bound to PersistentVolume nowhere, which was not found'],
    ['stolen', 'belongs to another claim, other/claim'],
    ['odd', 'has a source that this agent cannot mount: tapeLibrary'],
    ['block', 'has volumeMode Block, but is specified in volumeMounts'],
    ['missing', 'local path /nonexistent/na does not exist on this node'],
    ['options', 'has mountOptions'],
  ])('reports the error of claim %s', async (name, message) => {
    await using t = await createTestHost();
    const bound = (volumeName: string): void => {
      t.claims.set(`default/${name}`, { metadata: { name }, spec: { volumeName } });
    };
    if (name !== 'absent') bound(name === 'lost' ? 'nowhere' : name === 'free' ? '' : name);
    const local = { path: '/tmp' };
    const metadata = { name };
    const volumes = {
      stolen: { local, claimRef: { namespace: 'other', name: 'claim' } },
      odd: { ...OTHER_SOURCE, capacity: { storage: '1Gi' } },
      block: { local, volumeMode: 'Block' as const },
      missing: { local: { path: '/nonexistent/na' } },
      options: { local, mountOptions: ['ro'] },
    };
    for (const [key, spec] of Object.entries(volumes))
      t.persistentVolumes.set(key, { metadata: { ...metadata, name: key }, spec });
    await expect(mountOne(createVolumeManager(t.host), claim(name))).rejects.toThrow(message);
  });
});

describe('unmountPod', () => {
  test('needs only disk and mount table, and leaves foreign data', async () => {
    await using t = await createTestHost();
    t.secrets.set('default/key', { data: { s: base64('x') } });
    const first = createVolumeManager(t.host);
    const volumes = await first.mountPod(
      testPod('uid-1', [
        { name: 'd', emptyDir: {} },
        { name: 'm', emptyDir: { medium: 'Memory' } },
        { name: 's', secret: { secretName: 'key' } },
      ]),
      never,
    );
    const outside = join(t.base, 'outside');
    await mkdir(outside);
    await writeFile(join(outside, 'f'), 'x');
    const disk = volumes.get('d')?.hostPath ?? '';
    const memory = volumes.get('m')?.hostPath ?? '';
    symlinkSync(outside, join(disk, 'link'));
    await mkdir(join(disk, 'a/b/c'), { recursive: true });
    await writeFile(join(disk, 'a/b/c/f'), 'x');
    const volume = volumes.get('m');
    if (volume === undefined) throw new Error('not mounted');
    const request = { podUID: 'uid-1', volume, containerName: 'app', subPath: 'x/y' };
    await first.prepareSubPath({ ...request, mountIndex: 0 });
    await first.prepareSubPath({ ...request, mountIndex: 1 });
    await writeFile(join(t.rootDir, 'pods/uid-1/other'), 'of the agent');
    expect(existsSync(join(memory, 'x/y'))).toBe(true);
    expect(await t.mounts()).toHaveLength(4);
    const second = createVolumeManager(t.host);
    expect(await second.podsOnDisk()).toEqual(['uid-1']);
    await second.unmountPod('uid-1');
    expect(await t.mounts()).toHaveLength(0);
    expect(readdirSync(`${t.rootDir}/pods/uid-1`)).toEqual(['other']);
    expect(readFileSync(join(outside, 'f'), 'utf8')).toBe('x');
    await rm(join(t.rootDir, 'pods/uid-1/other'));
    await second.unmountPod('uid-1');
    expect(await second.podsOnDisk()).toEqual([]);
    await second.unmountPod('uid-1');
  });

  test('removes names that are not UTF-8, deep trees and immutable files', async () => {
    await using t = await createTestHost();
    const manager = createVolumeManager(t.host);
    const { hostPath } = await mountOne(manager, { name: 'v', emptyDir: {} });
    await writeFile(Buffer.concat([Buffer.from(`${hostPath}/`), Buffer.from([0xff, 0xfe])]), 'x');
    await mkdir(Buffer.concat([Buffer.from(`${hostPath}/`), Buffer.from([0xfd])]));
    await writeFile(join(hostPath, 'ro'), 'x', { mode: 0 });
    const deep = Array.from({ length: 400 }, (_, index) => `d${index}`).join('/');
    await mkdir(join(hostPath, deep), { recursive: true });
    await writeFile(join(hostPath, deep, 'f'), 'x');
    for (let index = 0; index < 300; index += 1) await mkdtemp(join(hostPath, 'wide-'));
    await manager.unmountPod('uid-1');
    expect(await manager.podsOnDisk()).toEqual([]);
  });

  test('detaches mounts inside a volume, including stacked ones', async () => {
    await using t = await createTestHost();
    const manager = createVolumeManager(t.host);
    const { hostPath } = await mountOne(manager, { name: 'v', emptyDir: {} });
    const inner = join(hostPath, 'with space');
    await mkdir(inner);
    const { syscalls } = createMounter();
    const outside = join(t.base, 'outside');
    await mkdir(outside);
    await writeFile(join(outside, 'f'), 'x');
    await syscalls.mount({ source: 'tmpfs', target: inner, fsType: 'tmpfs', flags: 0 });
    await syscalls.mount({ source: outside, target: inner, flags: MS_BIND });
    expect(readdirSync(inner)).toEqual(['f']);
    await manager.unmountPod('uid-1');
    expect(await t.mounts()).toHaveLength(0);
    expect(await manager.podsOnDisk()).toEqual([]);
    expect(readFileSync(join(outside, 'f'), 'utf8')).toBe('x');
    expect((await lstat(outside)).isDirectory()).toBe(true);
    expect((await stat(outside)).isDirectory()).toBe(true);
  });
});
