/** Volumes of a real CSI driver process, used by real pods of an agent that has no API server. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { unmountUnder } from '#agent/runtime/managed/purge.ts';
import type { Pod, Volume } from '#api/schema/gen/core-v1.ts';
import type { CSIDriverSpec } from '#api/schema/gen/storage-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { startTestDriver, type TestDriver } from '#volumes/csi/testing/start-driver.ts';
import { isReady } from '../../testing/agent.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import { type Bench, claimed, containerId, pod, restarts, sh, startBench, WAIT } from './support.ts';

const { apiGroupDomain, criPrefix } = VOCABULARIES.plat;
const ROUND = ['NodeStageVolume', 'NodePublishVolume', 'NodeUnpublishVolume', 'NodeUnstageVolume'];

let bench: Bench;
let folder: TempDir;
beforeAll(async () => {
  folder = await createTempDir('na-csi-');
  bench = await startBench();
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

const start = (name: string): Promise<TestDriver> =>
  startTestDriver({
    name,
    registryDir: join(bench.agent.root, 'plugins_registry'),
    dataDir: join(folder.path, name.split('.')[0] ?? name),
  });

const driverObject = (name: string, spec: CSIDriverSpec = {}): string =>
  JSON.stringify({
    apiVersion: `storage.${apiGroupDomain}/v1`,
    kind: 'CSIDriver',
    metadata: { name },
    spec: { attachRequired: false, ...spec },
  });

/** The manifest of a pod that appends to a file in the volume each time that it starts. */
const user = (name: string, volume: Omit<Volume, 'name'>): string =>
  pod(name, {
    volumes: [{ name: 'v', ...volume }],
    containers: [
      sh('c', `echo started >> /v/f; ${WAIT}`, { volumeMounts: [{ name: 'v', mountPath: '/v' }] }),
    ],
  });

async function putClaim(name: string, driver: string): Promise<void> {
  const [volume = '', claim = ''] = claimed(name, { csi: { driver, volumeHandle: name } });
  await bench.agent.put(`${name}-pv.json`, volume);
  await bench.agent.put(`${name}-pvc.json`, claim);
}

const isGone = (name: string): Promise<boolean> =>
  eventually(async () => (await bench.agent.pod(name)) === undefined, { timeoutMs: 20_000 });

/** Mounts that are there because of the driver, in pods or for the node. */
async function mountsOf(): Promise<readonly string[]> {
  const table = await readFile('/proc/self/mountinfo', 'utf8');
  return table.split('\n').filter((line) => line.includes(bench.agent.root) && line.includes('~csi/'));
}

const fileOf = (driver: TestDriver, handle: string): string =>
  join(driver.options.dataDir, 'volumes', handle, 'f');

test('a claim waits for its driver, keeps its data, and outlives the agent', async () => {
  const name = 'disks.csi.example.org';
  await bench.agent.put('disks.json', driverObject(name));
  await putClaim('disk', name);
  await bench.agent.put('user.json', user('user', { persistentVolumeClaim: { claimName: 'disk' } }));
  await bench.event('user', 'FailedMount', /CSI driver disks\.csi\.example\.org has not registered/);
  await using driver = await start(name);
  const before = await bench.agent.waitFor('user', isReady);

  await bench.agent.stop('SIGKILL');
  await bench.agent.start();
  const after = await bench.agent.waitFor('user', isReady);
  expect(containerId(after, 'c')).toBe(containerId(before, 'c'));
  expect(await driver.methods()).toEqual(ROUND.slice(0, 2));

  await bench.agent.put('second.json', user('second', { persistentVolumeClaim: { claimName: 'disk' } }));
  await bench.agent.waitFor('second', isReady);
  await bench.fileText(fileOf(driver, 'disk'), /^started\nstarted\n$/);
  await bench.agent.drop('user.json');
  await isGone('user');
  expect((await driver.methods()).includes('NodeUnstageVolume')).toBe(false);
  await bench.agent.drop('second.json');
  await isGone('second');
  await eventually(async () => (await driver.methods()).at(-1) === 'NodeUnstageVolume');
  expect(await mountsOf()).toEqual([]);
});

test('a driver that is gone keeps the pod, and takes the volume back when it has come back', async () => {
  const name = 'flaky.csi.example.org';
  await bench.agent.put('flaky.json', driverObject(name));
  await using driver = await start(name);
  await putClaim('flaky-disk', name);
  await bench.agent.put('kept.json', user('kept', { persistentVolumeClaim: { claimName: 'flaky-disk' } }));
  const running = await bench.agent.waitFor('kept', isReady);

  // The container goes on, and comes back by itself, whatever became of the driver.
  await driver.kill();
  await bench.cri.runtime.stopContainer({ containerId: containerId(running, 'c'), timeout: 0n });
  await bench.agent.waitFor('kept', restarts('c', 1));
  await bench.fileText(fileOf(driver, 'flaky-disk'), /^started\nstarted\n$/);

  await bench.agent.drop('kept.json');
  await eventually(async () => (await bench.agent.log()).includes(`CSI driver ${name}`), {
    what: 'the agent could not give the volume back',
  });
  expect(await readdir(join(bench.agent.root, 'pods'))).toHaveLength(1);
  await driver.restart();
  await eventually(async () => (await driver.methods()).join() === ROUND.join(), { timeoutMs: 20_000 });
  await isGone('kept');
  expect(await mountsOf()).toEqual([]);
});

test('after a restart of the node the volume is staged and published anew', async () => {
  const name = 'power.csi.example.org';
  await bench.agent.put('power.json', driverObject(name));
  await using driver = await start(name);
  await putClaim('power-disk', name);
  await bench.agent.put('cold.json', user('cold', { persistentVolumeClaim: { claimName: 'power-disk' } }));
  const { metadata } = await bench.agent.waitFor('cold', isReady);

  // What a node has lost that starts again: processes, containers, mounts.
  await bench.agent.stop('SIGKILL');
  await driver.kill();
  const { items } = await bench.cri.runtime.listPodSandbox({
    filter: { labelSelector: { [`${criPrefix}.pod.uid`]: metadata?.uid ?? '' } },
  });
  for (const { id } of items) await bench.cri.runtime.stopPodSandbox({ podSandboxId: id });
  await unmountUnder([bench.agent.root]);
  expect(await mountsOf()).toEqual([]);

  await driver.restart();
  await bench.agent.start();
  await bench.fileText(fileOf(driver, 'power-disk'), /^started\nstarted\n$/);
  await bench.agent.waitFor('cold', isReady);
  expect(await driver.methods()).toEqual([...ROUND.slice(0, 2), ...ROUND.slice(0, 2)]);
  await bench.agent.drop('cold.json');
  await isGone('cold');
  await eventually(async () => (await driver.methods()).length === 6);
  expect(await mountsOf()).toEqual([]);
});

test('a volume that the pod names itself tells its driver of the pod, and goes with it', async () => {
  const name = 'inline.csi.example.org';
  await bench.agent.put(
    'inline.json',
    driverObject(name, { podInfoOnMount: true, volumeLifecycleModes: ['Ephemeral'] }),
  );
  await using driver = await start(name);
  await bench.agent.put(
    'own.json',
    user('own', { csi: { driver: name, volumeAttributes: { kind: 'cache' } } }),
  );
  const found: Pod = await bench.agent.waitFor('own', isReady);
  const published = (await driver.calls()).find(({ method }) => method === 'NodePublishVolume');
  const prefix = `csi.storage.${apiGroupDomain}`;
  expect(published?.request['volumeContext']).toMatchObject({
    kind: 'cache',
    [`${prefix}/pod.name`]: 'own-n1',
    [`${prefix}/pod.uid`]: found.metadata?.uid,
    [`${prefix}/ephemeral`]: 'true',
  });
  await bench.agent.stop('SIGKILL');
  await bench.agent.drop('own.json');
  await bench.agent.start();
  await eventually(async () => (await driver.methods()).join() === 'NodePublishVolume,NodeUnpublishVolume', {
    timeoutMs: 20_000,
  });
  await isGone('own');
  expect(await mountsOf()).toEqual([]);
});
