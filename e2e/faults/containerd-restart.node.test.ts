import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { isReady, TestAgent } from '../../testing/agent.ts';
import { startTestContainerd, type TestContainerd } from '../../testing/containerd.ts';
import { createTempDir } from '../../testing/temp.ts';
import { connectForTraces, pidOf } from '../../testing/traces.ts';
import { eventually } from '../../testing/wait.ts';

const manifest = (name: string, container: object = {}): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'c', image: 'local/busybox:1', command: ['sleep', '1000'], ...container }],
    },
  });

const createAgent = async (runtime: TestContainerd): Promise<TestAgent> =>
  TestAgent.create({ endpoint: runtime.endpoint, folder: await createTempDir('na-fault-') });

async function kill({ containerd }: TestContainerd): Promise<void> {
  const { pid } = containerd;
  if (pid === undefined) throw new Error('containerd does not run');
  const ended = new Promise((resolve) => containerd.onExit(resolve));
  process.kill(pid, 'SIGKILL');
  await ended;
}

/** Far less than the timeout of runtime calls, far more than an agent that does not wait needs on a busy
 *  machine. */
const QUICK_MS = 3_000;

/** An agent must exit at once, with or without a runtime. */
async function expectQuickStop(agent: TestAgent): Promise<void> {
  const startMs = performance.now();
  expect(await agent.stop('SIGTERM')).toBe(0);
  expect(performance.now() - startMs).toBeLessThan(QUICK_MS);
}

const idOf = (containerID = ''): string => containerID.replace(/^.*:\/\//, '');

test('pods survive a killed containerd; what died meanwhile is restarted; new pods start', {
  timeout: 120_000,
}, async () => {
  await using runtime = await startTestContainerd();
  await using agent = await createAgent(runtime);
  const names = ['one', 'two', 'three'];
  for (const name of names) await agent.put(`${name}.json`, manifest(name));
  const before = await Promise.all(names.map((name) => agent.waitFor(name, isReady)));
  const connection = connectForTraces(runtime.endpoint);
  const victim = idOf(before[2]?.status?.containerStatuses?.[0]?.containerID);
  const victimPid = await pidOf(connection, victim);
  connection.close();

  await kill(runtime);
  process.kill(victimPid, 'SIGKILL');
  // A manifest added while the runtime is unavailable waits for it.
  await agent.put('four.json', manifest('four'));

  await agent.waitFor('four', isReady, 30_000);
  const restarted = await agent.waitFor(
    'three',
    (pod) => isReady(pod) && pod.status?.containerStatuses?.[0]?.restartCount === 1,
    30_000,
  );
  expect(restarted.status?.containerStatuses?.[0]?.lastState?.terminated).toBeDefined();
  for (const [index, name] of ['one', 'two'].entries()) {
    const pod = await agent.pod(name);
    expect(pod && isReady(pod)).toBe(true);
    expect(pod?.status?.containerStatuses).toEqual(before[index]?.status?.containerStatuses);
  }
  await agent.drop('one.json');
  await eventually(async () => (await agent.pod('one')) === undefined, { timeoutMs: 20_000 });
});

test('containerd killed again and again while pods start leaves each of them running once', {
  timeout: 120_000,
}, async () => {
  await using runtime = await startTestContainerd();
  await using agent = await createAgent(runtime);
  const names = Array.from({ length: 8 }, (_, index) => `p${index}`);
  for (const name of names) await agent.put(`${name}.json`, manifest(name));
  for (let round = 0; round < 4; round += 1) {
    await delay(150 + 130 * round);
    await kill(runtime);
    await eventually(() => runtime.containerd.pid !== undefined, { timeoutMs: 20_000 });
  }
  await Promise.all(names.map((name) => agent.waitFor(name, isReady, 60_000)));
  const connection = connectForTraces(runtime.endpoint);
  await eventually(
    async () => {
      const { items } = await connection.runtime.listPodSandbox({});
      const { containers } = await connection.runtime.listContainers({});
      expect(items.filter(({ state }) => state === 'SANDBOX_READY')).toHaveLength(8);
      expect(containers.filter(({ state }) => state === 'CONTAINER_RUNNING')).toHaveLength(8);
      expect(containers.filter(({ state }) => state === 'CONTAINER_CREATED')).toHaveLength(0);
      return true;
    },
    { timeoutMs: 20_000 },
  );
  connection.close();
});

test('an agent that starts before its runtime is healthy and starts pods when it appears', {
  timeout: 120_000,
}, async () => {
  await using runtime = await startTestContainerd({ restart: false });
  await kill(runtime);
  await using agent = await createAgent(runtime);
  await agent.put('early.json', manifest('early'));
  await delay(1500);
  expect(await agent.get('/healthz')).toBe('ok');
  await expectQuickStop(agent);
  await agent.start();
  await runtime.startAgain();
  await agent.waitFor('early', isReady, 30_000);
  // The same with pods running.
  await runtime.containerd.stop();
  await delay(500);
  await expectQuickStop(agent);
  await runtime.startAgain();
  await agent.start();
  await agent.waitFor('early', isReady, 30_000);
});
