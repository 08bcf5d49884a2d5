/** Devices of a real plugin process in containers of a standalone agent. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestPluginOptions } from '#agent/resources/devices/plugin-options.fixture.ts';
import { startTestPlugin, type TestPlugin } from '#agent/resources/devices/start-plugin.fixture.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createPodResourcesClient } from '#cri/client/pod-resources.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import {
  containerId,
  type Harness,
  hasPhase,
  isRunning,
  isWaiting,
  pod,
  restarts,
  sh,
  startHarness,
  WAIT,
} from './support.ts';

const HUGE_PAGES = '/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages';

const hugePages = async (): Promise<number> => Number(await readFile(HUGE_PAGES, 'utf8'));

let harness: Harness;
let folder: TempDir;
let pagesBefore = 0;
beforeAll(async () => {
  pagesBefore = await hugePages();
  await writeFile(HUGE_PAGES, String(pagesBefore + 2));
  folder = await createTempDir('na-devices-');
  await mkdir(join(folder.path, 'shared'));
  await writeFile(join(folder.path, 'shared', 'word'), 'from the plugin\n');
  harness = await startHarness();
});
afterAll(async () => {
  await harness[Symbol.asyncDispose]();
  await writeFile(HUGE_PAGES, String(pagesBefore));
  await folder[Symbol.asyncDispose]();
});

const start = (name: string, devices: string, more: Partial<TestPluginOptions> = {}): Promise<TestPlugin> =>
  startTestPlugin({
    dir: join(harness.agent.root, 'device-plugins'),
    agentSocket: `${VOCABULARIES.plat.agentComponent}.sock`,
    resource: `example.com/${name}`,
    devices,
    callsFile: join(folder.path, `${name}.jsonl`),
    mount: join(folder.path, 'shared'),
    ...more,
  });

/** Waits for the devices: a plugin registers before the agent knows them, and pods in between would find
 *  none. */
async function offered(device: string): Promise<void> {
  const socket = join(harness.agent.root, 'pod-resources', `${VOCABULARIES.plat.agentComponent}.sock`);
  const client = createPodResourcesClient(socket);
  const isThere = async (): Promise<boolean> => {
    const { devices } = await client.getAllocatableResources({});
    return devices.some(({ deviceIds }) => deviceIds.includes(device));
  };
  await eventually(isThere, { timeoutMs: 20_000, what: `device ${device}` });
}

const user = (name: string, resource: string, count: number): string =>
  pod(name, {
    containers: [sh('c', WAIT, { resources: { limits: { [`example.com/${resource}`]: String(count) } } })],
  });

test('a container waits for the plugin, and has its devices, files and variables', async () => {
  await harness.agent.put('zeros.json', user('zeros', 'zero', 2));
  await harness.agent.waitFor('zeros', isWaiting('c', 'CreateContainerConfigError'));
  await harness.event('zeros', 'Failed', /no device plugin has registered for example\.com\/zero/);
  await using plugin = await start('zero', 'z1 z2 z3!', { preStartRequired: true });
  const running = await harness.agent.waitFor('zeros', isRunning('c'));
  const look = 'echo $TEST_DEVICES; cat /plugin/word; head -c 2 /dev/z1 | od -An -tx1; ls /dev/z2';
  expect(await harness.exec(running, 'c', look)).toBe('z1,z2\nfrom the plugin\n 00 00\n/dev/z2\n');
  const { status } = await harness.cri.runtime.containerStatus({ containerId: containerId(running, 'c') });
  expect(status?.annotations['example.com/devices']).toBe('z1-z2');
  expect(await plugin.calls()).toEqual(['Allocate', 'PreStartContainer']);

  await harness.agent.put('late.json', user('late', 'zero', 1));
  const refused = await harness.agent.waitFor('late', hasPhase('Failed'));
  expect(refused.status?.reason).toBe('UnexpectedAdmissionError');
  expect(refused.status?.message).toContain('Requested: 1, Available: 0');
});

test('devices stay with their container when plugin and agent come anew', async () => {
  const plugin = await start('kept', 'k1 k2', { preferred: ['k2'] });
  await offered('k2');
  await harness.agent.put('kept.json', user('kept', 'kept', 1));
  const before = await harness.agent.waitFor('kept', isRunning('c'));
  expect(await harness.exec(before, 'c', 'echo $TEST_DEVICES')).toBe('k2\n');
  await plugin.kill();
  await harness.agent.stop('SIGKILL');
  await harness.agent.start();

  // Without a plugin, a restarted container gets the same devices.
  const after = await harness.agent.waitFor('kept', isRunning('c'));
  expect(containerId(after, 'c')).toBe(containerId(before, 'c'));
  await harness.cri.runtime.stopContainer({ containerId: containerId(after, 'c'), timeout: 0n });
  const again = await harness.agent.waitFor('kept', restarts('c', 1));
  expect(await harness.exec(again, 'c', 'echo $TEST_DEVICES')).toBe('k2\n');

  await using back = await start('kept', 'k1 k2');
  await offered('k1');
  await harness.agent.put('other.json', user('other', 'kept', 1));
  const other = await harness.agent.waitFor('other', isRunning('c'));
  expect(await harness.exec(other, 'c', 'echo $TEST_DEVICES')).toBe('k1\n');
  expect((await back.calls()).filter((name) => name === 'Allocate')).toHaveLength(2);

  // Devices of a deleted pod are available to the next one.
  await harness.agent.drop('kept.json');
  await eventually(async () => (await harness.agent.pod('kept')) === undefined, { timeoutMs: 20_000 });
  await harness.agent.put('next.json', user('next', 'kept', 1));
  const next = await harness.agent.waitFor('next', isRunning('c'));
  expect(await harness.exec(next, 'c', 'echo $TEST_DEVICES')).toBe('k2\n');
});

test('a plugin may register by a socket in the folder of plugins', async () => {
  await using plugin = await start('folder', 'f1', {
    registryDir: join(harness.agent.root, 'plugins_registry'),
  });
  await offered('f1');
  await harness.agent.put('found.json', user('found', 'folder', 1));
  const running = await harness.agent.waitFor('found', isRunning('c'));
  expect(await harness.exec(running, 'c', 'echo $TEST_DEVICES')).toBe('f1\n');
  expect(await plugin.calls()).toContain('GetDevicePluginOptions');
});

test('huge pages are a volume of their size, and limited where the kernel can', async () => {
  const resources = { limits: { 'hugepages-2Mi': '4Mi', memory: '32Mi' } };
  const volumeMounts = [{ name: 'huge', mountPath: '/huge' }];
  const containers = [sh('c', WAIT, { resources, volumeMounts })];
  const volumes = [{ name: 'huge', emptyDir: { medium: 'HugePages' } }];
  await harness.agent.put('huge.json', pod('huge', { containers, volumes }));
  const running = await harness.agent.waitFor('huge', isRunning('c'));
  expect(await harness.exec(running, 'c', 'grep " /huge " /proc/mounts')).toMatch(/hugetlbfs .*pagesize=2M/);
  const limit = '/sys/fs/cgroup/hugetlb/hugetlb.2MB.limit_in_bytes';
  // Empty if the kernel lacks the controller.
  const look = `test -e ${limit} && cat ${limit} || echo 4194304`;
  expect(await harness.exec(running, 'c', look)).toBe('4194304\n');
});
