/** Volumes of a real CSI driver process, used by real pods of an agent that has no API server. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { unmountUnder } from '#agent/runtime/managed/purge.ts';
import type { Pod, Volume } from '#api/gen/core-v1.ts';
import type { CSIDriverSpec } from '#api/gen/storage-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { startTestDriver, type TestDriver } from '#volumes/csi/start-driver.fixture.ts';
import { isReady } from '../../testing/agent.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import { claimed, containerId, type Harness, pod, restarts, sh, startHarness, WAIT } from './support.ts';

const { apiGroupDomain, criPrefix } = VOCABULARIES.plat;
const ROUND = ['NodeStageVolume', 'NodePublishVolume', 'NodeUnpublishVolume', 'NodeUnstageVolume'];

let harness: Harness;
let folder: TempDir;
beforeAll(async () => {
  folder = await createTempDir('na-csi-');
  harness = await startHarness();
});
afterAll(async () => {
  await harness[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

const start = (name: string): Promise<TestDriver> =>
  startTestDriver({
    name,
    registryDir: join(harness.agent.root, 'plugins_registry'),
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
  await harness.agent.put(`${name}-pv.json`, volume);
  await harness.agent.put(`${name}-pvc.json`, claim);
}

const isGone = (name: string): Promise<boolean> =>
  eventually(async () => (await harness.agent.pod(name)) === undefined, { timeoutMs: 20_000 });

/** Returns the driver's mounts, in pods and for the node. */
async function mountsOf(): Promise<readonly string[]> {
  const table = await readFile('/proc/self/mountinfo', 'utf8');
  return table.split('\n').filter((line) => line.includes(harness.agent.root) && line.includes('~csi/'));
}

const fileOf = (driver: TestDriver, handle: string): string =>
  join(driver.options.dataDir, 'volumes', handle, 'f');

test('a claim waits for its driver, preserves its data, and outlives the agent', async () => {
  const name = 'disks.csi.example.org';
  await harness.agent.put('disks.json', driverObject(name));
  await putClaim('disk', name);
  await harness.agent.put('user.json', user('user', { persistentVolumeClaim: { claimName: 'disk' } }));
  await harness.event('user', 'FailedMount', /CSI driver disks\.csi\.example\.org has not registered/);
  await using driver = await start(name);
  const before = await harness.agent.waitFor('user', isReady);

  await harness.agent.stop('SIGKILL');
  await harness.agent.start();
  const after = await harness.agent.waitFor('user', isReady);
  expect(containerId(after, 'c')).toBe(containerId(before, 'c'));
  expect(await driver.methods()).toEqual(ROUND.slice(0, 2));

  await harness.agent.put('second.json', user('second', { persistentVolumeClaim: { claimName: 'disk' } }));
  await harness.agent.waitFor('second', isReady);
  await harness.fileText(fileOf(driver, 'disk'), /^started\nstarted\n$/);
  await harness.agent.drop('user.json');
  await isGone('user');
  expect((await driver.methods()).includes('NodeUnstageVolume')).toBe(false);
  await harness.agent.drop('second.json');
  await isGone('second');
  await eventually(async () => (await driver.methods()).at(-1) === 'NodeUnstageVolume');
  expect(await mountsOf()).toEqual([]);
});

test('a missing driver blocks the pod’s deletion, and unmounts the volume when it is back', async () => {
  const name = 'flaky.csi.example.org';
  await harness.agent.put('flaky.json', driverObject(name));
  await using driver = await start(name);
  await putClaim('flaky-disk', name);
  await harness.agent.put('kept.json', user('kept', { persistentVolumeClaim: { claimName: 'flaky-disk' } }));
  const running = await harness.agent.waitFor('kept', isReady);

  // The container keeps running, and restarts, whatever the state of the driver.
  await driver.kill();
  await harness.cri.runtime.stopContainer({ containerId: containerId(running, 'c'), timeout: 0n });
  await harness.agent.waitFor('kept', restarts('c', 1));
  await harness.fileText(fileOf(driver, 'flaky-disk'), /^started\nstarted\n$/);

  await harness.agent.drop('kept.json');
  await eventually(async () => (await harness.agent.log()).includes(`CSI driver ${name}`), {
    what: 'the agent could not give the volume back',
  });
  expect(await readdir(join(harness.agent.root, 'pods'))).toHaveLength(1);
  await driver.restart();
  await eventually(async () => (await driver.methods()).join() === ROUND.join(), { timeoutMs: 20_000 });
  await isGone('kept');
  expect(await mountsOf()).toEqual([]);
});

test('after a restart of the node the volume is staged and published anew', async () => {
  const name = 'power.csi.example.org';
  await harness.agent.put('power.json', driverObject(name));
  await using driver = await start(name);
  await putClaim('power-disk', name);
  await harness.agent.put('cold.json', user('cold', { persistentVolumeClaim: { claimName: 'power-disk' } }));
  const { metadata } = await harness.agent.waitFor('cold', isReady);

  // A reboot of the node removes processes, containers and mounts.
  await harness.agent.stop('SIGKILL');
  await driver.kill();
  const { items } = await harness.cri.runtime.listPodSandbox({
    filter: { labelSelector: { [`${criPrefix}.pod.uid`]: metadata?.uid ?? '' } },
  });
  for (const { id } of items) await harness.cri.runtime.stopPodSandbox({ podSandboxId: id });
  await unmountUnder([harness.agent.root]);
  expect(await mountsOf()).toEqual([]);

  await driver.restart();
  await harness.agent.start();
  await harness.fileText(fileOf(driver, 'power-disk'), /^started\nstarted\n$/);
  await harness.agent.waitFor('cold', isReady);
  expect(await driver.methods()).toEqual([...ROUND.slice(0, 2), ...ROUND.slice(0, 2)]);
  await harness.agent.drop('cold.json');
  await isGone('cold');
  await eventually(async () => (await driver.methods()).length === 6);
  expect(await mountsOf()).toEqual([]);
});

test('an inline volume gets the pod’s information, and is deleted with the pod', async () => {
  const name = 'inline.csi.example.org';
  await harness.agent.put(
    'inline.json',
    driverObject(name, { podInfoOnMount: true, volumeLifecycleModes: ['Ephemeral'] }),
  );
  await using driver = await start(name);
  await harness.agent.put(
    'own.json',
    user('own', { csi: { driver: name, volumeAttributes: { kind: 'cache' } } }),
  );
  const found: Pod = await harness.agent.waitFor('own', isReady);
  const published = (await driver.calls()).find(({ method }) => method === 'NodePublishVolume');
  const prefix = `csi.storage.${apiGroupDomain}`;
  expect(published?.request['volumeContext']).toMatchObject({
    kind: 'cache',
    [`${prefix}/pod.name`]: 'own-n1',
    [`${prefix}/pod.uid`]: found.metadata?.uid,
    [`${prefix}/ephemeral`]: 'true',
  });
  await harness.agent.stop('SIGKILL');
  await harness.agent.drop('own.json');
  await harness.agent.start();
  await eventually(async () => (await driver.methods()).join() === 'NodePublishVolume,NodeUnpublishVolume', {
    timeoutMs: 20_000,
  });
  await isGone('own');
  expect(await mountsOf()).toEqual([]);
});
