import { readFile, stat, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PersistentVolumeSpec, Pod } from '#api/gen/core-v1.ts';
import { silentLogger } from '#api/kit/logger.ts';
import type { VolumeManager } from '../contract/volume-manager.ts';
import { createTestDisks, type TestDisks } from '../devices/disk.fixture.ts';
import { unmounted } from '../devices/taken-down.fixture.ts';
import { createExpander } from '../expansion/expander.ts';
import { createTestHost, type TestHost, testPod } from '../manage/host.fixture.ts';
import { createVolumeManager } from '../manage/manager.ts';

const never = new AbortController().signal;
const MIB = 1024 * 1024;
const CLAIM = { name: 'v', persistentVolumeClaim: { claimName: 'c' } };

let disks: TestDisks;
beforeAll(async () => {
  disks = await createTestDisks();
});
afterAll(() => disks[Symbol.asyncDispose]());

/** Binds a claim to a volume with this spec. */
function bind(t: TestHost, spec: PersistentVolumeSpec, has = '128Mi'): void {
  t.claims.set('default/c', {
    metadata: { namespace: 'default', name: 'c', uid: 'cu' },
    spec: { volumeName: 'pv', resources: { requests: { storage: spec.capacity?.['storage'] ?? has } } },
    status: { capacity: { storage: has } },
  });
  t.persistentVolumes.set('pv', { metadata: { name: 'pv' }, spec });
}

/** Returns a pod that uses the volume raw. */
const rawPod = (uid: string): Pod => {
  const pod = testPod(uid, [CLAIM]);
  const containers = [{ name: 'app', volumeDevices: [{ name: 'v', devicePath: '/dev/x' }] }];
  return { ...pod, spec: { ...pod.spec, containers } };
};

async function pathOf(manager: VolumeManager, pod: Pod): Promise<string> {
  const volumes = await manager.mountPod(pod, never);
  return volumes.get('v')?.hostPath ?? '';
}

describe('local with a block device', () => {
  test('is formatted once, mounted for all pods of the node, and unchanged by the last one', async () => {
    await using t = await createTestHost();
    await using disk = await disks.disk(128);
    bind(t, { local: { path: disk.device, fsType: 'btrfs' }, mountOptions: ['noatime'] });
    const manager = createVolumeManager(t.host);
    const one = await pathOf(manager, testPod('uid-1', [CLAIM]));
    await writeFile(join(one, 'f'), 'kept');
    const other = await pathOf(manager, testPod('uid-2', [CLAIM], { securityContext: { fsGroup: 1234 } }));
    expect(other).not.toBe(one);
    expect(await readFile(join(other, 'f'), 'utf8')).toBe('kept');
    expect((await stat(join(one, 'f'))).gid).toBe(1234);
    const mounts = await t.mounts();
    expect(mounts).toHaveLength(3);
    expect(mounts.every(({ fsType, options }) => fsType === 'btrfs' && options.includes('noatime'))).toBe(
      true,
    );
    await unmounted(manager, 'uid-1');
    expect(await readFile(join(other, 'f'), 'utf8')).toBe('kept');
    await unmounted(manager, 'uid-2');
    expect(await t.mounts()).toEqual([]);
    const again = await pathOf(manager, testPod('uid-3', [CLAIM]));
    expect(await readFile(join(again, 'f'), 'utf8')).toBe('kept');
    await unmounted(manager, 'uid-3');
  });

  test('is passed raw to the pod', async () => {
    await using t = await createTestHost();
    await using disk = await disks.disk(8);
    bind(t, { local: { path: disk.device }, volumeMode: 'Block' });
    const manager = createVolumeManager(t.host);
    const path = await pathOf(manager, rawPod('uid-1'));
    expect((await stat(path)).rdev).toBe((await stat(disk.device)).rdev);
    await writeFile(path, 'raw');
    expect((await readFile(disk.device)).toString('latin1', 0, 3)).toBe('raw');
    await unmounted(manager, 'uid-1');
    expect(await t.mounts()).toEqual([]);
  });

  test('rejects unsupported uses', async () => {
    await using t = await createTestHost();
    await using disk = await disks.disk(8);
    const refused = async (spec: PersistentVolumeSpec, pod: Pod, text: string): Promise<void> => {
      bind(t, spec);
      await expect(createVolumeManager(t.host).mountPod(pod, never)).rejects.toThrow(text);
    };
    const directory = { local: { path: t.base } };
    await refused({ ...directory, volumeMode: 'Block' }, rawPod('u1'), 'is not a block device');
    await refused({ local: { path: disk.file } }, testPod('u2', [CLAIM]), 'neither a directory nor');
    await refused({ ...directory, mountOptions: ['noatime'] }, testPod('u3', [CLAIM]), 'does not support');
    await writeFile(disk.device, 'data');
    await refused({ local: { path: disk.device } }, testPod('u4', [CLAIM]), 'refusing to format it');
    expect(await t.mounts()).toEqual([]);
  });

  test('is expanded before and while the pod uses it', async () => {
    await using t = await createTestHost();
    await using disk = await disks.disk(128);
    const grown = new Map<string, () => void>();
    const expander = createExpander({
      log: silentLogger,
      reports: {
        begun: async () => undefined,
        async finished({ size }) {
          bind(t, { ...local, capacity: { storage: size } }, size);
          grown.get(size)?.();
        },
        readOnly: () => undefined,
        failed: (_, error) => {
          throw error;
        },
      },
    });
    const local = { local: { path: disk.device, fsType: 'btrfs' } };
    const grow = async (mib: number): Promise<void> => {
      await disk.grow(mib);
      const has = t.claims.get('default/c')?.status?.capacity?.['storage'];
      bind(t, { ...local, capacity: { storage: `${mib}Mi` } }, has);
    };
    const sizeMib = async (path: string): Promise<number> => {
      const { blocks, bsize } = await statfs(path);
      return (blocks * bsize) / MIB;
    };
    bind(t, { ...local, capacity: { storage: '128Mi' } });
    const manager = createVolumeManager({ ...t.host, expander });
    const pod = testPod('uid-1', [CLAIM]);
    expect(await sizeMib(await pathOf(manager, pod))).toBe(128);
    await unmounted(manager, 'uid-1');
    await grow(320);
    const path = await pathOf(manager, pod);
    expect(await sizeMib(path)).toBe(320);
    const done = Promise.withResolvers<void>();
    grown.set('384Mi', done.resolve);
    await grow(384);
    await manager.refreshPod(pod);
    await done.promise;
    expect(await sizeMib(path)).toBe(384);
    await unmounted(manager, 'uid-1');
  });
});
