/** Volumes of a real driver process, with its sockets, real mounts and loop devices. */
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { Pod, Volume } from '#api/gen/core-v1.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { type Attacher, type Attachment, AttachRefusedError } from '../contract/csi.ts';
import { createExpander } from '../expansion/expander.ts';
import { testPod } from '../manage/host.fixture.ts';
import { conditionFile, type RecordedCall } from './driver-options.fixture.ts';
import { createCsiMeasure } from './stats.ts';
import { claimPod, DRIVER, startWorld, type World, type WorldOptions } from './world.fixture.ts';

const { signal } = new AbortController();
const worlds: World[] = [];

async function start(options?: WorldOptions): Promise<World> {
  const world = await startWorld(options);
  worlds.push(world);
  return world;
}

afterEach(async () => {
  for (const world of worlds.splice(0)) await world[Symbol.asyncDispose]();
});

/** Returns the path of a pod's volume on the node. */
async function mountPod(world: Pick<World, 'manager'>, pod: Pod): Promise<string> {
  return (await world.manager.mountPod(pod, signal)).get('data')?.hostPath ?? 'nowhere';
}

async function requestOf(world: World, method: string): Promise<RecordedCall['request']> {
  return (await world.driver.calls()).findLast((call) => call.method === method)?.request ?? {};
}

const ALL = ['STAGE_UNSTAGE_VOLUME', 'GET_VOLUME_STATS', 'EXPAND_VOLUME', 'VOLUME_CONDITION'];
const ROUND = ['NodeStageVolume', 'NodePublishVolume', 'NodeUnpublishVolume', 'NodeUnstageVolume'];

describe('a volume of a claim', () => {
  test('is staged once per node, published per pod, and unstaged when the last is gone', async () => {
    const world = await start();
    const { manager, driver, test: host } = world;
    world.claim('c');
    const one = await mountPod(world, claimPod('u1', 'c'));
    const other = await mountPod(world, claimPod('u2', 'c'));
    await writeFile(join(one, 'x'), 'shared');
    expect(await readFile(join(other, 'x'), 'utf8')).toBe('shared');
    expect(one).toBe(`${host.rootDir}/pods/u1/volumes/${host.host.vocabulary.domain}~csi/data/mount`);
    await manager.unmountPod('u1');
    expect(await readFile(join(other, 'x'), 'utf8')).toBe('shared');
    await manager.unmountPod('u2');
    expect(await driver.methods()).toEqual([
      'NodeStageVolume',
      'NodePublishVolume',
      'NodePublishVolume',
      'NodeUnpublishVolume',
      'NodeUnpublishVolume',
      'NodeUnstageVolume',
    ]);
    expect(await host.mounts()).toEqual([]);
    expect(await readdir(join(host.rootDir, 'pods'))).toEqual([]);
  });

  test('passes the fields of volume and claim to the driver', async () => {
    const world = await start();
    const secret = (name: string) => ({ name, namespace: 'vault' });
    for (const name of ['stage', 'publish']) {
      const data = { key: Buffer.from(`of ${name}`).toString('base64') };
      world.test.secrets.set(`vault/${name}`, { metadata: { name }, data });
    }
    world.claim('c', {
      accessModes: ['ReadWriteMany'],
      mountOptions: ['noatime'],
      csi: {
        driver: DRIVER,
        volumeHandle: 'h',
        fsType: 'ext4',
        readOnly: true,
        volumeAttributes: { size: 'large' },
        nodeStageSecretRef: secret('stage'),
        nodePublishSecretRef: secret('publish'),
      },
    });
    const pod = claimPod('u1', 'c');
    const volumes = await world.manager.mountPod(pod, signal);
    expect(volumes.get('data')?.readOnly).toBe(true);
    const capability = {
      mount: { fsType: 'ext4', mountFlags: ['noatime'], volumeMountGroup: '' },
      accessMode: { mode: 'MULTI_NODE_MULTI_WRITER' },
    };
    const staged = await requestOf(world, 'NodeStageVolume');
    expect(staged).toMatchObject({
      volumeId: 'h',
      volumeCapability: capability,
      secrets: { key: 'of stage' },
      volumeContext: { size: 'large' },
    });
    expect(await requestOf(world, 'NodePublishVolume')).toMatchObject({
      volumeId: 'h',
      volumeCapability: capability,
      readonly: true,
      secrets: { key: 'of publish' },
      volumeContext: { size: 'large' },
      stagingTargetPath: staged['stagingTargetPath'],
    });
    const text = await readFile(join(world.test.rootDir, 'pods/u1/volume-records/data.json'), 'utf8');
    expect(text).not.toContain('of publish');
  });

  test('is only published by a driver without staging', async () => {
    const world = await start({ driver: { capabilities: [] } });
    world.claim('c');
    await mountPod(world, claimPod('u1', 'c'));
    await world.manager.unmountPod('u1');
    expect(await world.driver.methods()).toEqual(['NodePublishVolume', 'NodeUnpublishVolume']);
  });

  test('is expanded and measured by its driver, with its health', async () => {
    const events: string[] = [];
    const say = (what: string) => async (): Promise<void> => void events.push(what);
    const reports = {
      begun: say('begun'),
      finished: say('finished'),
      readOnly: say('ro'),
      failed: say('bad'),
    };
    const expander = createExpander({ log: silentLogger, reports });
    const world = await start({ driver: { capabilities: ALL }, host: { expander } });
    const csi = { driver: DRIVER, volumeHandle: 'loop-1', fsType: 'btrfs' };
    world.claim('c', { capacity: { storage: '256Mi' }, csi });
    const path = await mountPod(world, claimPod('u1', 'c'));
    const measure = createCsiMeasure(world.test.rootDir, world.csi.volumes);
    const volume = { podUID: 'u1', volumeName: 'data', path: join(path, '..') };
    const before = await measure(volume, signal);
    expect(before?.condition).toEqual({ abnormal: false, message: 'all is well' });
    expect(before?.capacityBytes).toBe(128 * 2 ** 20);
    expect(before?.usedBytes).toBeGreaterThan(0);
    const claim = world.test.claims.get('default/c');
    const status = { capacity: { storage: '128Mi' } };
    const requests = { storage: '256Mi' };
    world.test.claims.set('default/c', {
      ...claim,
      spec: { ...claim?.spec, resources: { requests } },
      status,
    });
    const again = await world.again();
    await again.manager.mountPod(claimPod('u1', 'c'), signal);
    expect(events).toEqual(['begun', 'finished']);
    expect((await measure(volume, signal))?.capacityBytes).toBe(256 * 2 ** 20);
    await writeFile(conditionFile(world.driver.options.dataDir), 'the disk is on fire');
    expect((await measure(volume, signal))?.condition).toEqual({
      abnormal: true,
      message: 'the disk is on fire',
    });
    await again.manager.unmountPod('u1');
    expect(await world.test.mounts()).toEqual([]);
  });

  test('is a raw device', async () => {
    const world = await start();
    world.claim('c', { volumeMode: 'Block' }, 'loop-raw');
    const pod = claimPod('u1', 'c', {
      containers: [{ name: 'app', volumeDevices: [{ name: 'data', devicePath: '/dev/x' }] }],
    });
    const path = await mountPod(world, pod);
    expect((await stat(path)).isBlockDevice()).toBe(true);
    expect(path).toContain('/volumeDevices/');
    await world.manager.unmountPod('u1');
    expect(await world.driver.methods()).toEqual(ROUND);
    expect(await world.test.mounts()).toEqual([]);
  });

  test('waits for its driver, and reports its name and registration directory', async () => {
    const world = await start();
    await world.driver.unregister();
    await world.untilDriver(({ volumes }) => volumes.drivers.list().length === 0);
    world.claim('c');
    const pod = claimPod('u1', 'c');
    await expect(world.manager.mountPod(pod, signal)).rejects.toThrow(
      `CSI driver ${DRIVER} has not registered on this node: it has no socket in ${world.test.rootDir}/plugins_registry yet`,
    );
    await world.restartDriver();
    world.manager.retryPod('u1');
    await mountPod(world, pod);
    await world.manager.unmountPod('u1');
    expect(await world.driver.methods()).toEqual(ROUND);
  });
});

describe('attaching', () => {
  test('comes first, passes its result to the driver, and is undone last', async () => {
    const events: string[] = [];
    let world: World | undefined;
    const say = async (what: string) =>
      events.push(`${what} after ${(await world?.driver.methods())?.at(-1)}`);
    const attacher: Attacher = {
      async attach({ driver, volumeHandle, source }: Attachment) {
        await say(`attach ${driver} ${volumeHandle} ${source.persistentVolumeName}`);
        return { devicePath: '/dev/elsewhere' };
      },
      attached: (pod, name) => void events.push(`attached ${name} for ${pod.metadata?.uid}`),
      detach: async ({ driver, volumeHandle }) => void (await say(`detach ${driver} ${volumeHandle}`)),
    };
    world = await start({ attacher, object: { attachRequired: true } });
    world.claim('c');
    await world.driver.misbehave({ method: 'NodeStageVolume', deed: 'fail', message: 'not yet' });
    await expect(world.manager.mountPod(claimPod('u1', 'c'), signal)).rejects.toThrow('not yet');
    world.manager.retryPod('u1');
    await mountPod(world, claimPod('u1', 'c'));
    const publishContext = { devicePath: '/dev/elsewhere' };
    expect(await requestOf(world, 'NodeStageVolume')).toMatchObject({ publishContext });
    expect(await requestOf(world, 'NodePublishVolume')).toMatchObject({ publishContext });
    await world.manager.unmountPod('u1');
    expect(events).toEqual([
      `attach ${DRIVER} vol-c pv-c after undefined`,
      'attached pv-c for u1',
      // Checked again whether it is still attached.
      `attach ${DRIVER} vol-c pv-c after NodeStageVolume`,
      `detach ${DRIVER} vol-c after NodeUnstageVolume`,
    ]);
  });

  test('a rejected attachment is not undone', async () => {
    let refused = 0;
    const attacher: Attacher = {
      async attach() {
        refused += 1;
        throw new AttachRefusedError('forbidden', { cause: undefined });
      },
      detach: () => Promise.reject(new Error('it was never attached')),
    };
    const world = await start({ attacher, object: { attachRequired: true } });
    world.claim('c');
    await expect(world.manager.mountPod(claimPod('u1', 'c'), signal)).rejects.toMatchObject({
      reason: 'FailedAttachVolume',
    });
    await world.manager.unmountPod('u1');
    expect(refused).toBe(1);
    expect(await readdir(join(world.test.rootDir, 'pods'))).toEqual([]);
  });

  test('is rejected without an attacher', async () => {
    const world = await start({ object: { attachRequired: true } });
    world.claim('c');
    await expect(world.manager.mountPod(claimPod('u1', 'c'), signal)).rejects.toThrow('attachRequired');
    await world.manager.unmountPod('u1');
    expect(await world.driver.methods()).toEqual([]);
  });
});

describe('an inline volume', () => {
  const data: Volume = {
    name: 'data',
    csi: { driver: DRIVER, volumeAttributes: { a: 'b' }, nodePublishSecretRef: { name: 's' } },
  };
  const object = { podInfoOnMount: true, volumeLifecycleModes: ['Ephemeral'] };

  test('has its own handle and pod information, and is only published', async () => {
    const world = await start({ object });
    world.test.secrets.set('default/s', { data: { k: Buffer.from('v').toString('base64') } });
    await mountPod(world, testPod('u1', [data], { serviceAccountName: 'robot' }));
    const prefix = `csi.storage.${world.test.host.vocabulary.apiGroupDomain}`;
    const request = await requestOf(world, 'NodePublishVolume');
    expect(request).toMatchObject({
      stagingTargetPath: '',
      secrets: { k: 'v' },
      volumeContext: {
        a: 'b',
        [`${prefix}/pod.name`]: 'web',
        [`${prefix}/pod.namespace`]: 'default',
        [`${prefix}/pod.uid`]: 'u1',
        [`${prefix}/serviceAccount.name`]: 'robot',
        [`${prefix}/ephemeral`]: 'true',
      },
    });
    expect(request['volumeId']).toMatch(/^csi-[0-9a-f]{64}$/);
    await world.manager.unmountPod('u1');
    expect(await world.driver.methods()).toEqual(['NodePublishVolume', 'NodeUnpublishVolume']);
  });

  test.each([
    ['the driver has no object', { object: null }, 'no CSIDriver object'],
    ['the driver is not for that', { object: {} }, 'only supports Persistent'],
    ['it is disabled', { object, gates: [] }, 'disabled (CSIInlineVolume)'],
  ])('is refused when %s', async (_, options, message) => {
    const world = await start(options);
    await expect(world.manager.mountPod(testPod('u1', [data]), signal)).rejects.toThrow(message);
  });

  test('is published again with new tokens if the driver requires it', async () => {
    let count = 0;
    const claims = Buffer.from(JSON.stringify({ exp: 2_000_000_000 })).toString('base64url');
    const world = await start({
      object: {
        ...object,
        requiresRepublish: true,
        tokenRequests: [{ audience: 'vault', expirationSeconds: 900 }],
      },
      host: {
        accountToken: async (_, { audience, expirationSeconds }) => {
          count += 1;
          return `x.${claims}.${audience}-${expirationSeconds}-${count}`;
        },
      },
    });
    const pod = testPod('u1', [{ name: 'data', csi: { driver: DRIVER } }]);
    await mountPod(world, pod);
    await world.manager.refreshPod(pod);
    const tokens = (await world.driver.calls())
      .filter(({ method }) => method === 'NodePublishVolume')
      .map(({ request }) => Object.entries(request['volumeContext'] ?? {}).at(-1)?.[1] as string);
    expect(tokens.map((text): unknown => JSON.parse(text))).toEqual(
      [1, 2].map((each) => ({
        vault: { token: `x.${claims}.vault-900-${each}`, expirationTimestamp: '2033-05-18T03:33:20Z' },
      })),
    );
  });
});

describe('a volume of an in-tree source', () => {
  const pod = testPod('u1', [{ name: 'data', awsElasticBlockStore: { volumeID: 'vol-1', partition: 2 } }]);
  const driver = { name: 'ebs.csi.aws.com' };

  test('is a volume of its CSI driver if migration is enabled', async () => {
    const world = await start({ driver, gates: ['CSIMigration', 'CSIMigrationAWS'] });
    await mountPod(world, pod);
    expect(await requestOf(world, 'NodeStageVolume')).toMatchObject({
      volumeId: 'vol-1',
      volumeContext: { partition: '2' },
    });
    await world.manager.unmountPod('u1');
    expect(await world.driver.methods()).toEqual(ROUND);
  });
});

describe('the group of the files', () => {
  const security = { securityContext: { fsGroup: 4321 } };

  test.each([
    ['is applied if the volume has a file system and one node', {}, { fsType: 'ext4' }, 4321],
    ['is not given without a file system type', {}, {}, 0],
    ['is applied if the driver requires it', { fsGroupPolicy: 'File' }, {}, 4321],
    ['is not applied if the driver forbids it', { fsGroupPolicy: 'None' }, { fsType: 'ext4' }, 0],
  ])('%s', async (_, object, csi, gid) => {
    const world = await start({ object });
    world.claim('c', { csi: { driver: DRIVER, volumeHandle: 'h', ...csi } });
    const path = await mountPod(world, claimPod('u1', 'c', security));
    expect((await stat(path)).gid).toBe(gid);
  });

  test('is delegated to a capable driver', async () => {
    const world = await start({
      driver: { capabilities: ['STAGE_UNSTAGE_VOLUME', 'VOLUME_MOUNT_GROUP'] },
      object: { fsGroupPolicy: 'File' },
    });
    world.claim('c');
    const path = await mountPod(world, claimPod('u1', 'c', security));
    expect((await stat(path)).gid).toBe(0);
    for (const method of ['NodeStageVolume', 'NodePublishVolume']) {
      const mount = { volumeMountGroup: '4321' };
      expect(await requestOf(world, method)).toMatchObject({ volumeCapability: { mount } });
    }
  });
});

describe('errors', () => {
  test.each(ROUND.flatMap((method) => [[method, 'before'] as const, [method, 'after'] as const]))(
    'the driver dies at %s, %s its work',
    async (method, deed) => {
      const world = await start();
      const { driver } = world;
      world.claim('c');
      const pod = claimPod('u1', 'c');
      await driver.misbehave({ method, deed });
      let failed = 0;
      const steps = [() => world.manager.mountPod(pod, signal), () => world.manager.unmountPod('u1')];
      for (const step of steps) {
        const ended = driver.ended;
        try {
          await step();
        } catch {
          failed += 1;
          await ended;
          await world.restartDriver();
          world.manager.retryPod('u1');
          await step();
        }
      }
      expect(failed).toBe(1);
      expect(await world.test.mounts()).toEqual([]);
      expect(await readdir(join(world.test.rootDir, 'pods'))).toEqual([]);
      expect((await driver.methods()).at(-1)).toBe('NodeUnstageVolume');
    },
  );

  test('an error of the driver is reported, and the next attempt may succeed', async () => {
    const world = await start();
    world.claim('c');
    const pod = claimPod('u1', 'c');
    await world.driver.misbehave({ method: 'NodeStageVolume', deed: 'fail', message: 'no space left' });
    await expect(world.manager.mountPod(pod, signal)).rejects.toThrow(
      `CSI driver ${DRIVER}: NodeStageVolume: no space left`,
    );
    world.manager.retryPod('u1');
    await mountPod(world, pod);
  });

  test('a restarted agent does not call the driver again, and undoes earlier volumes', async () => {
    const world = await start();
    world.claim('c');
    const path = await mountPod(world, claimPod('u1', 'c'));
    await writeFile(join(path, 'x'), 'kept');
    const next = await world.again();
    expect(await mountPod(next, claimPod('u1', 'c'))).toBe(path);
    expect(await readFile(join(path, 'x'), 'utf8')).toBe('kept');
    expect(await world.driver.methods()).toEqual(['NodeStageVolume', 'NodePublishVolume']);
    const last = await world.again();
    await last.manager.unmountPod('u1');
    expect(await world.driver.methods()).toEqual(ROUND);
    expect(await world.test.mounts()).toEqual([]);
  });

  test('an agent that was killed between two steps continues where it stopped', async () => {
    const world = await start();
    world.claim('c');
    const pod = claimPod('u1', 'c');
    await world.driver.misbehave({ method: 'NodePublishVolume', deed: 'fail', message: 'not now' });
    await expect(world.manager.mountPod(pod, signal)).rejects.toThrow('not now');
    const next = await world.again();
    await next.manager.unmountPod('u1');
    expect((await world.driver.methods()).slice(2)).toEqual(['NodeUnpublishVolume', 'NodeUnstageVolume']);
    expect(await world.test.mounts()).toEqual([]);
  });
});

describe('registration', () => {
  test('finds sockets in directories created later', async () => {
    const world = await start();
    await world.driver.unregister();
    await world.untilDriver(({ volumes }) => volumes.drivers.list().length === 0);
    const nested = join(world.test.rootDir, 'plugins_registry', 'a', 'b');
    await mkdir(nested, { recursive: true });
    await world.driver.restart({ registryDir: nested, nodeID: 'another' });
    await world.untilDriver();
    expect(world.csi.volumes.drivers.get(DRIVER).nodeID).toBe('another');
  });

  test('notifies a driver of the reason of its rejection', async () => {
    const world = await start();
    const before = (await world.driver.registrations()).length;
    await world.driver.restart({ versions: ['0.3.0'] });
    await expect
      .poll(async () => (await world.driver.registrations()).slice(before), { timeout: 10_000 })
      .toContainEqual({
        pluginRegistered: false,
        error: `CSI driver ${DRIVER} supports no 1.x version; it reports 0.3.0`,
      });
  });
});
