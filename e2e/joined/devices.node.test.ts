/** Devices of a real plugin process as the API server and monitors of the node see them. */
import { existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestPlugin, type TestPlugin } from '#agent/resources/devices/start-plugin.fixture.ts';
import type { Node } from '#api/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createPodResourcesClient } from '#cri/client/pod-resources.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import { hasPhase, isRunning, sh, WAIT } from '../lifecycle/support.ts';
import { type Joined, NODE, startJoined } from './support.ts';

const RESOURCE = 'example.com/zero';
const { agentComponent } = VOCABULARIES.plat;

let joined: Joined;
let folder: TempDir;
beforeAll(async () => {
  folder = await createTempDir('na-jdev-');
  await mkdir(join(folder.path, 'shared'));
  joined = await startJoined();
});
afterAll(async () => {
  await joined[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

async function start(devices: string): Promise<TestPlugin> {
  const dir = join(joined.agent.root, 'device-plugins');
  const agentSocket = `${agentComponent}.sock`;
  // Plugins are registered from now on; earlier sockets are removed.
  await eventually(() => existsSync(join(dir, agentSocket)), {
    timeoutMs: 20_000,
    what: 'the socket for plugins',
  });
  return startTestPlugin({
    dir,
    agentSocket,
    resource: RESOURCE,
    devices,
    callsFile: join(folder.path, 'calls.jsonl'),
    mount: join(folder.path, 'shared'),
  });
}

/** Waits until the node reports this capacity and this many healthy devices. */
async function reports(capacity: string, allocatable: string): Promise<void> {
  await eventually(
    async () => {
      const response = await joined.plane.get(`/api/v1/nodes/${NODE}`);
      const { status } = response.json as Node;
      const reported = [status?.capacity?.[RESOURCE], status?.allocatable?.[RESOURCE]];
      if (reported.join() !== [capacity, allocatable].join()) throw new Error(`reported: ${reported.join()}`);
      return true;
    },
    { timeoutMs: 20_000, what: `the node reports ${capacity} devices, ${allocatable} of them healthy` },
  );
}

const limits = (count: number): object => ({ resources: { limits: { [RESOURCE]: String(count) } } });

test('the node reports devices and their health, and pods use them', async () => {
  const plugin = await start('z1 z2@0');
  await reports('2', '2');
  plugin.report('z1 z2@0 z3!');
  await reports('3', '2');
  await joined.run('user', { containers: [sh('c', WAIT, limits(2))] });
  await joined.shows('user', isRunning('c'));
  await joined.run('toomany', { containers: [sh('c', WAIT, limits(1))] });
  const refused = await joined.shows('toomany', hasPhase('Failed'));
  expect(refused.status?.reason).toBe(`OutOf${RESOURCE}`);
  await joined.run('elsewhere', {
    containers: [sh('c', WAIT, { resources: { limits: { 'example.com/license': '1' } } })],
  });
  await joined.shows('elsewhere', isRunning('c'));

  const client = createPodResourcesClient(join(joined.agent.root, 'pod-resources', `${agentComponent}.sock`));
  const { podResources } = await client.list({});
  const user = podResources.find(({ name }) => name === 'user');
  expect(user?.containers[0]?.devices.map(({ deviceIds }) => deviceIds)).toEqual([['z1'], ['z2']]);
  const { devices } = await client.getAllocatableResources({});
  expect(devices).toMatchObject([
    { deviceIds: ['z1'] },
    { deviceIds: ['z2'], topology: { nodes: [{ ID: 0n }] } },
  ]);

  await plugin.kill();
  await reports('3', '0');
  await using back = await start('z1 z2');
  await reports('2', '2');
  expect(await back.calls()).toContain('Allocate');
});

test('devices that the next agent knows nothing of are void; what others announced stays while it knows', async () => {
  const { agent } = joined;
  await agent.stop();
  await rm(join(agent.root, 'device-plugins', `${agentComponent}_internal_checkpoint`));
  await agent.start();
  await reports('0', '0');

  const announced = { capacity: { 'example.com/dongle': '4' } };
  await joined.patch(`/api/v1/nodes/${NODE}/status`, { status: announced });
  await agent.stop();
  await agent.start();
  await using _ = await start('z1');
  await reports('1', '1');
  const { status } = (await joined.plane.get(`/api/v1/nodes/${NODE}`)).json as Node;
  expect(status?.capacity?.['example.com/dongle']).toBe('4');
}, 60_000);
