import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Pod, Volume } from '#api/gen/core-v1.ts';
import type { Logger } from '#api/kit/logger.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { MountedVolume, VolumeManager } from '../contract/volume-manager.ts';
import { unmounted } from '../devices/taken-down.fixture.ts';
import { testPod } from '../manage/host.fixture.ts';
import { createMounter } from '../mount/mounter.ts';
import { detachBeneath } from '../mount/teardown.ts';
import { createTestStage } from './stage.fixture.ts';

const { domain } = VOCABULARIES.plat;
const PLUGIN_DIR = `plugins/${domain}~photonPersistentDisk`;
const never = new AbortController().signal;
const claim = (name: string, readOnly = false): Volume => ({
  name,
  persistentVolumeClaim: { claimName: name, readOnly },
});
const rawPod = (uid: string, name: string): Pod => ({
  ...testPod(uid, [claim(name)]),
  spec: {
    volumes: [claim(name)],
    containers: [{ name: 'app', volumeDevices: [{ name, devicePath: '/dev/x' }] }],
  },
});

async function mountOne(manager: VolumeManager, pod: Pod): Promise<MountedVolume> {
  const [volume] = [...(await manager.mountPod(pod, never)).values()];
  if (volume === undefined) throw new Error('nothing was mounted');
  return volume;
}

describe('a staged volume', () => {
  test('is staged once for all pods, and unstaged with the last', async () => {
    await using stage = await createTestStage();
    await stage.disk('d');
    const manager = stage.manager();
    const volumes = await Promise.all(
      ['p1', 'p2', 'p3'].map((uid) => mountOne(manager, testPod(uid, [claim('d')]))),
    );
    writeFileSync(join(volumes[0]?.hostPath ?? '', 'f'), 'shared');
    expect(readFileSync(join(volumes[1]?.hostPath ?? '', 'f'), 'utf8')).toBe('shared');
    const mounts = await stage.mountPoints();
    expect(mounts.filter((path) => path.endsWith('/globalmount'))).toHaveLength(1);
    expect(mounts).toHaveLength(4);
    expect(await stage.loops('d')).toHaveLength(1);
    expect(statSync(join(stage.t.rootDir, PLUGIN_DIR, (await stage.staged())[0] ?? '')).mode & 0o777).toBe(
      0o700,
    );
    await unmounted(manager, 'p1');
    await unmounted(manager, 'p2');
    expect(readFileSync(join(volumes[2]?.hostPath ?? '', 'f'), 'utf8')).toBe('shared');
    await unmounted(manager, 'p3');
    expect(await stage.mountPoints()).toEqual([]);
    await stage.detached('d');
    expect(await stage.staged()).toEqual([]);
    expect(await manager.podsOnDisk()).toEqual([]);
  });

  test('is found by the next agent, which undoes it without the pod', async () => {
    await using stage = await createTestStage();
    await stage.disk('d');
    await mountOne(stage.manager(), testPod('p1', [claim('d')]));
    await mountOne(stage.manager(), testPod('p2', [claim('d')]));
    const before = await stage.mountPoints();
    const next = stage.manager();
    await next.recover(never);
    await mountOne(next, testPod('p1', [claim('d')]));
    expect(await stage.mountPoints()).toEqual(before);
    stage.t.claims.clear();
    await unmounted(next, 'p2');
    expect(await stage.staged()).toHaveLength(1);
    await unmounted(stage.manager(), 'p1');
    expect(await stage.mountPoints()).toEqual([]);
    await stage.detached('d');
    expect(await stage.staged()).toEqual([]);
  });

  test('whose pods were removed while the agent was down is unstaged at the next start', async () => {
    await using stage = await createTestStage();
    await stage.disk('d');
    await mountOne(stage.manager(), testPod('p1', [claim('d')]));
    const pod = join(stage.t.rootDir, 'pods/p1');
    await detachBeneath(createMounter(), pod);
    await rm(pod, { recursive: true });
    const next = stage.manager();
    await next.recover(never);
    expect(await stage.mountPoints()).toEqual([]);
    await stage.detached('d');
    expect(await stage.staged()).toEqual([]);
  });

  test('stays while a copy of it is mounted in a pod that has no record of it', async () => {
    await using stage = await createTestStage();
    await stage.disk('d');
    await mountOne(stage.manager(), testPod('p1', [claim('d')]));
    await rm(join(stage.t.rootDir, 'pods/p1/volume-records'), { recursive: true });
    const next = stage.manager();
    const enough = new AbortController();
    const recovering = next.recover(enough.signal);
    await unmounted(next, 'unknown');
    expect(await stage.mountPoints()).toHaveLength(2);
    enough.abort(new Error('the test is over'));
    await recovering;
    await unmounted(next, 'p1');
    await next.recover(never);
    expect(await stage.mountPoints()).toEqual([]);
    await stage.detached('d');
  });

  test('can be read-only for one pod alone', async () => {
    await using stage = await createTestStage();
    await stage.disk('d');
    const manager = stage.manager();
    const writer = await mountOne(manager, testPod('p1', [claim('d')]));
    const reader = await mountOne(manager, testPod('p2', [claim('d', true)]));
    expect(reader.readOnly).toBe(true);
    writeFileSync(join(writer.hostPath, 'f'), 'x');
    expect(() => writeFileSync(join(reader.hostPath, 'f'), 'y')).toThrow('EROFS');
    expect(readFileSync(join(reader.hostPath, 'f'), 'utf8')).toBe('x');
  });

  test('has the group of its pods', async () => {
    await using stage = await createTestStage();
    await stage.disk('d');
    const pod = testPod('p1', [claim('d')], { securityContext: { fsGroup: 4321 } });
    const { hostPath } = await mountOne(stage.manager(), pod);
    const { gid, mode } = statSync(hostPath);
    expect([gid, mode & 0o7777]).toEqual([4321, 0o2775]);
  });

  test('has the mount options of its PersistentVolume', async () => {
    await using stage = await createTestStage();
    await stage.disk('d', { mountOptions: ['noatime', 'nodelalloc'] });
    await mountOne(stage.manager(), testPod('p1', [claim('d')]));
    const mount = (await stage.t.mounts()).find(({ mountPoint }) => mountPoint.endsWith('/globalmount'));
    expect(mount?.options).toContain('noatime');
    expect(mount?.superOptions).toContain('nodelalloc');
  });
});

describe('a raw device', () => {
  test('is bound into all pods that use it raw', async () => {
    await using stage = await createTestStage();
    await stage.disk('d', { volumeMode: 'Block' });
    const manager = stage.manager();
    const [first, second] = [
      await mountOne(manager, rawPod('p1', 'd')),
      await mountOne(manager, rawPod('p2', 'd')),
    ];
    expect(first.hostPath).toBe(join(stage.t.rootDir, `pods/p1/volumeDevices/${domain}~test-disk/d`));
    expect(statSync(first.hostPath).isBlockDevice()).toBe(true);
    writeFileSync(first.hostPath, 'raw bytes', { flag: 'r+' });
    expect(readFileSync(second.hostPath).subarray(0, 9).toString()).toBe('raw bytes');
    await mountOne(stage.manager(), rawPod('p1', 'd'));
    expect(await stage.mountPoints()).toHaveLength(2);
    await unmounted(manager, 'p1');
    expect(await stage.loops('d')).toHaveLength(1);
    await unmounted(manager, 'p2');
    expect(await stage.mountPoints()).toEqual([]);
    await stage.detached('d');
    expect(await stage.staged()).toEqual([]);
  });

  test.each<[string, Pod, string]>([
    [
      'of a volume with a file system',
      rawPod('p1', 'files'),
      'has volumeMode Filesystem, but is specified in volumeDevices',
    ],
    [
      'that is to be mounted',
      testPod('p1', [claim('raw')]),
      'has volumeMode Block, but is specified in volumeMounts',
    ],
    [
      'of a volume that is no claim',
      {
        ...rawPod('p1', 'x'),
        spec: {
          ...rawPod('p1', 'x').spec,
          containers: rawPod('p1', 'x').spec?.containers ?? [],
          volumes: [{ name: 'x', emptyDir: {} }],
        },
      },
      'only volumes of claims can be used in volumeDevices',
    ],
  ])('%s is refused', async (_, pod, message) => {
    await using stage = await createTestStage();
    await stage.disk('files');
    await stage.disk('raw', { volumeMode: 'Block' });
    await expect(stage.manager().mountPod(pod, never)).rejects.toThrow(message);
    expect(await stage.staged()).toEqual([]);
  });

  test('is not mounted while another pod uses it raw', async () => {
    await using stage = await createTestStage();
    await stage.disk('d', { volumeMode: 'Block' });
    const manager = stage.manager();
    await mountOne(manager, rawPod('p1', 'd'));
    const inline: Volume = { name: 'd', photonPersistentDisk: { pdID: 'd' } };
    await expect(manager.mountPod(testPod('p2', [inline]), never)).rejects.toThrow('as a raw device');
    await unmounted(manager, 'p2');
    await unmounted(manager, 'p1');
    expect(await stage.staged()).toEqual([]);
  });
});

describe('unusable records', () => {
  const messages: string[] = [];
  const log: Logger = { ...silentLogger, warn: (_, message) => void messages.push(message) };

  test('are reported and do not affect other volumes', async () => {
    await using stage = await createTestStage();
    await stage.disk('d');
    await stage.disk('e');
    await mountOne(stage.manager(), testPod('p1', [claim('d')]));
    const records = join(stage.t.rootDir, 'pods/p9/volume-records');
    await mkdir(records, { recursive: true });
    await writeFile(join(records, 'd.json'), '{"version":1');
    await mkdir(join(records, 'e.json'));
    const foreign = join(stage.t.rootDir, PLUGIN_DIR, 'ab'.repeat(32));
    await mkdir(foreign);
    await writeFile(join(foreign, 'record.json'), '{}');
    const next = stage.manager(undefined, {}, { log });
    await next.recover(never);
    await mountOne(next, testPod('p2', [claim('e')]));
    for (const uid of ['p1', 'p2', 'p9']) await unmounted(next, uid);
    expect(messages.toSorted()).toEqual([
      'Failed to read record of staged volume',
      'Failed to read volume record',
      'Failed to read volume record',
    ]);
    expect(await stage.mountPoints()).toEqual([]);
    expect(await stage.staged()).toEqual(['ab'.repeat(32)]);
    expect(await next.podsOnDisk()).toEqual([]);
  });
});
