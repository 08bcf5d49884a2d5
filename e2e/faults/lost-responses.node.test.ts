import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type FakeCri, type FakeCriOptions, startFakeCri } from '#cri/fake/fake-cri.ts';
import { isReady, TestAgent } from '../../testing/agent.ts';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';

const IMAGE = 'local/app:1';

async function startFake(folder: string, events: NonNullable<FakeCriOptions['events']>): Promise<FakeCri> {
  const fake = await startFakeCri({ socketPath: join(folder, 'f.sock'), events });
  fake.images.add({ reference: IMAGE });
  return fake;
}

const createAgent = async ({ endpoint }: FakeCri): Promise<TestAgent> =>
  TestAgent.create({ endpoint, folder: await createTempDir('na-fault-') });

const manifest = (name: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { terminationGracePeriodSeconds: 1, containers: [{ name: 'c', image: IMAGE }] },
  });

const running = (fake: FakeCri): readonly string[] =>
  fake.pods.containers().flatMap(({ id, state }) => (state === 'CONTAINER_RUNNING' ? [id] : []));

test.concurrent.each(['none', 'containerd', 'cri'] as const)(
  'notices exits and dead sandboxes of a runtime with events from %s',
  { timeout: 120_000 },
  async (events) => {
    await using folder = await createTempDir('na-fault-');
    await using fake = await startFake(folder.path, events);
    await using agent = await createAgent(fake);
    await agent.put('one.json', manifest('one'));
    await agent.waitFor('one', isReady);
    const [first = ''] = running(fake);
    fake.pods.exitContainer(first);
    await agent.waitFor(
      'one',
      (pod) => isReady(pod) && pod.status?.containerStatuses?.[0]?.restartCount === 1,
    );
    expect(running(fake)).not.toContain(first);
    const [sandbox] = fake.pods.sandboxes();
    fake.pods.stopSandbox(sandbox?.id ?? '');
    // After the second exit within ten minutes the restart waits for 10 s.
    await eventually(
      () => {
        const ready = fake.pods.sandboxes().filter(({ state }) => state === 'SANDBOX_READY');
        return ready.length === 1 && ready[0]?.id !== sandbox?.id && running(fake).length === 1;
      },
      { timeoutMs: 40_000 },
    );
    await agent.waitFor('one', isReady);
  },
);

test.concurrent.each([
  'RunPodSandbox',
  'CreateContainer',
  'StartContainer',
  'PodSandboxStatus',
  'ContainerStatus',
] as const)('a pod runs once though the response to %s was lost', async (method) => {
  await using folder = await createTempDir('na-fault-');
  await using fake = await startFake(folder.path, 'containerd');
  await using agent = await createAgent(fake);
  fake.faults.failNextAfterwards(method, 'DeadlineExceeded');
  await agent.put('one.json', manifest('one'));
  await agent.waitFor('one', isReady);
  expect(running(fake)).toHaveLength(1);
  expect(fake.pods.sandboxes()).toHaveLength(1);
  expect(fake.pods.containers()).toHaveLength(1);
});

test.concurrent.each(['StopContainer', 'RemoveContainer', 'StopPodSandbox', 'RemovePodSandbox'] as const)(
  'a pod is removed without a trace though the response to %s was lost and the call before it failed',
  async (method) => {
    await using folder = await createTempDir('na-fault-');
    await using fake = await startFake(folder.path, 'containerd');
    await using agent = await createAgent(fake);
    await agent.put('one.json', manifest('one'));
    await agent.waitFor('one', isReady);
    fake.faults.failNext(method, 'Unavailable');
    fake.faults.failNextAfterwards(method, 'DeadlineExceeded');
    await agent.drop('one.json');
    await eventually(async () => (await agent.pods()).length === 0, { timeoutMs: 20_000 });
    expect(fake.pods.sandboxes()).toEqual([]);
    expect(fake.pods.containers()).toEqual([]);
  },
);

test('a pod created late by a call of a dead agent is removed if it is unwanted', async () => {
  await using folder = await createTempDir('na-fault-');
  await using fake = await startFake(folder.path, 'containerd');
  await using agent = await createAgent(fake);
  const release = fake.faults.hangNext('RunPodSandbox');
  await agent.put('late.json', manifest('late'));
  await eventually(() => fake.faults.calls().some((call) => call.method === 'RunPodSandbox'));
  await agent.stop('SIGKILL');
  await agent.drop('late.json');
  await agent.start();
  // The list is empty at first because nothing was listed yet; the record on disk is deleted with the pod.
  const isGone = async (): Promise<boolean> =>
    (await agent.pods()).length + (await readdir(join(agent.root, 'pods'))).length === 0;
  await eventually(isGone, { timeoutMs: 20_000 });
  release();
  // It may exist only for a moment.
  const isRemoved = (): boolean => fake.faults.calls().some(({ method }) => method === 'RemovePodSandbox');
  await eventually(async () => isRemoved() && (await isGone()), { timeoutMs: 30_000 });
  expect(fake.pods.sandboxes()).toEqual([]);
  expect(fake.pods.containers()).toEqual([]);
});
