import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { isReady, TestAgent } from '../../testing/agent.ts';
import { createTempDir } from '../../testing/temp.ts';
import { connectForTraces, podUIDOf, readTraces } from '../../testing/traces.ts';
import { eventually } from '../../testing/wait.ts';

/** Far less than the operations in flight take, far more than an agent that does not wait for them on a busy
 *  machine. */
const QUICK_MS = 3_000;

const SLEEP = `trap 'exit 0' TERM; while :; do sleep 1000 & wait $!; done`;

interface PodParts {
  readonly spec?: object;
  readonly container?: object;
}

function manifest(name: string, { spec = {}, container = {} }: PodParts = {}): string {
  const only = { name: 'c', image: 'local/busybox:1', command: ['sh', '-c', SLEEP], ...container };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { hostNetwork: true, terminationGracePeriodSeconds: 5, containers: [only], ...spec },
  });
}

const createAgent = async (): Promise<TestAgent> =>
  TestAgent.create({ endpoint: inject('criEndpoint'), folder: await createTempDir('na-fault-') });

const instanceOf = ({ status }: Pod): unknown =>
  [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].map((container) => [
    container.name,
    container.containerID,
    container.restartCount,
  ]);

/** Exit code and time in ms. */
async function terminate(agent: TestAgent): Promise<{ code: number | null; tookMs: number }> {
  const startMs = performance.now();
  return { code: await agent.stop('SIGTERM'), tookMs: performance.now() - startMs };
}

test('SIGTERM ends the agent while probes, hooks, starts and clients are under way, and it waits for none', {
  timeout: 120_000,
}, async () => {
  await using agent = await createAgent();
  const slow = { exec: { command: ['sleep', '8'] } };
  await agent.put(
    'probed.json',
    manifest('probed', { container: { livenessProbe: { ...slow, timeoutSeconds: 8 } } }),
  );
  await agent.put('ending.json', manifest('ending', { container: { lifecycle: { preStop: slow } } }));
  const waiting = manifest('hooked', { container: { lifecycle: { postStart: slow } } });
  await agent.waitFor('probed', isReady);
  const ending = await agent.waitFor('ending', isReady);
  await agent.drop('ending.json');
  await agent.put('hooked.json', waiting);
  for (let index = 0; index < 5; index += 1) await agent.put(`more${index}.json`, manifest(`more${index}`));
  await eventually(async () => (await agent.events('ending')).some(({ reason }) => reason === 'Killing'));
  const following = agent.get('/containerLogs/default/probed-n1/c?follow=true').catch(() => undefined);
  const { code, tookMs } = await terminate(agent);
  expect(code).toBe(0);
  expect(tookMs).toBeLessThan(QUICK_MS);
  await following;

  await agent.start();
  await agent.waitFor('more4', isReady);
  await agent.put('ending.json', manifest('ending', { container: { env: [{ name: 'A', value: 'b' }] } }));
  await agent.waitFor('ending', (pod) => isReady(pod) && pod.metadata?.uid !== ending.metadata?.uid, 80_000);
});

test('running pods are adopted as they are, with their readiness, by each agent in turn', {
  timeout: 120_000,
}, async () => {
  await using agent = await createAgent();
  const never = { exec: { command: ['test', '-e', '/tmp/ready'] }, periodSeconds: 1 };
  // Only once: it must not fail on a busy machine.
  const ready = {
    exec: { command: ['true'] },
    initialDelaySeconds: 1,
    periodSeconds: 3600,
    timeoutSeconds: 60,
  };
  const side = { name: 's', image: 'local/busybox:1', command: ['sh', '-c', SLEEP], restartPolicy: 'Always' };
  await agent.put(
    'probed.json',
    manifest('probed', { container: { readinessProbe: ready, startupProbe: ready } }),
  );
  await agent.put('unready.json', manifest('unready', { container: { readinessProbe: never } }));
  await agent.put('sided.json', manifest('sided', { spec: { initContainers: [side] } }));
  await agent.put(
    'job.json',
    manifest('job', { spec: { restartPolicy: 'Never' }, container: { command: ['true'] } }),
  );
  const before = [
    await agent.waitFor('probed', isReady),
    await agent.waitFor('unready', ({ status }) => status?.phase === 'Running'),
    await agent.waitFor('sided', isReady),
    await agent.waitFor('job', ({ status }) => status?.phase === 'Succeeded'),
  ];
  for (const signal of ['SIGTERM', 'SIGKILL', 'SIGTERM'] as const) {
    await agent.stop(signal);
    await agent.start();
    // The first status of the new agent is already complete.
    await eventually(async () => (await agent.pods()).length === 4);
    const pods = await agent.pods();
    for (const pod of before) {
      const now = pods.find(({ metadata }) => metadata?.uid === pod.metadata?.uid);
      expect(now && instanceOf(now)).toEqual(instanceOf(pod));
      expect(now?.status?.phase).toBe(pod.status?.phase);
      expect(now && isReady(now), `readiness of ${pod.metadata?.name}`).toBe(isReady(pod));
    }
  }
  const connection = connectForTraces(inject('criEndpoint'));
  const { containers } = await readTraces(connection, agent);
  connection.close();
  expect(containers).toHaveLength(5);
});

test('a pod whose manifest went while the agent was down is ended gracefully, hook included', async () => {
  await using agent = await createAgent();
  const marks = join(agent.folder, 'marks');
  await mkdir(marks);
  await agent.put(
    'gone.json',
    manifest('gone', {
      spec: { volumes: [{ name: 'marks', hostPath: { path: marks } }] },
      container: {
        command: [
          'sh',
          '-c',
          `trap 'echo term >> /marks/order; exit 0' TERM; while :; do sleep 1000 & wait $!; done`,
        ],
        volumeMounts: [{ name: 'marks', mountPath: '/marks' }],
        lifecycle: { preStop: { exec: { command: ['sh', '-c', 'echo hook >> /marks/order'] } } },
      },
    }),
  );
  const { metadata } = await agent.waitFor('gone', isReady);
  await agent.stop('SIGKILL');
  await agent.drop('gone.json');
  await agent.start();
  const connection = connectForTraces(inject('criEndpoint'));
  await eventually(
    async () => {
      const { containers, sandboxes, podDirs, logDirs } = await readTraces(connection, agent);
      return containers.length + sandboxes.length + podDirs.length + logDirs.length === 0;
    },
    { timeoutMs: 30_000, what: 'nothing of the pod is left' },
  );
  connection.close();
  expect(await readFile(join(marks, 'order'), 'utf8')).toBe('hook\nterm\n');
  expect(metadata?.uid).toBeDefined();
});

test('a sandbox that was under way when the agent died is finished, or removed when it is not wanted any more', async () => {
  await using agent = await createAgent();
  const connection = connectForTraces(inject('criEndpoint'));
  const names = Array.from({ length: 6 }, (_, index) => `half${index}`);
  for (const name of names) await agent.put(`${name}.json`, manifest(name));
  // Killed at the first sandbox that appears; others are being created.
  await eventually(async () => (await readTraces(connection, agent)).sandboxes.length > 0, { intervalMs: 5 });
  await agent.stop('SIGKILL');
  await agent.drop('half0.json');
  await agent.drop('half1.json');
  await agent.start();
  const wanted = await Promise.all(names.slice(2).map((name) => agent.waitFor(name, isReady)));
  const uids = wanted.map(({ metadata }) => metadata?.uid ?? '').sort();
  await eventually(
    async () => {
      const { sandboxes, containers } = await readTraces(connection, agent);
      expect(sandboxes.map(podUIDOf).sort()).toEqual(uids);
      expect(containers.map(podUIDOf).sort()).toEqual(uids);
      return true;
    },
    { timeoutMs: 30_000 },
  );
  connection.close();
});
