/** Memory pressure: evicted pods, admitted pods, conditions and events. The machine of the test has enough
 *  memory: thresholds are above its capacity. */
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { PodSpec } from '#api/gen/core-v1.ts';
import { isReady, type TestAgent } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import { holds, pod, sh } from '../lifecycle/support.ts';
import { evicted } from './shortages.ts';
import { isEvicted, nodeTells, shortNode, startAgent } from './support.ts';

let agent: TestAgent;
beforeAll(async () => {
  agent = await startAgent({ endpoint: inject('criEndpoint'), flags: [] });
});
afterAll(() => agent[Symbol.asyncDispose]());

/** A pod that writes this much to memory and keeps running. */
const hog = (name: string, mebibytes: number, resources = {}, more: Partial<PodSpec> = {}): string =>
  pod(name, {
    volumes: [{ name: 'memory', emptyDir: { medium: 'Memory' } }],
    containers: [
      sh('c', `dd if=/dev/zero of=/memory/x bs=1M count=${mebibytes}; sleep 1000`, {
        volumeMounts: [{ name: 'memory', mountPath: '/memory' }],
        readinessProbe: {
          exec: { command: ['sh', '-c', `[ $(stat -c %s /memory/x) = ${mebibytes * 2 ** 20} ]`] },
          periodSeconds: 1,
        },
        resources,
      }),
    ],
    ...more,
  });

test('pods are evicted in the order of their usage beyond their requests, critical and static ones never', async () => {
  const memory = '64Mi';
  await agent.apply(hog('sure', 20, { limits: { memory, cpu: '100m' } }));
  await agent.apply(hog('within', 30, { requests: { memory } }));
  await agent.apply(hog('beyond', 50, { requests: { memory: '10Mi' } }));
  await agent.apply(hog('loose', 20));
  await agent.apply(hog('vital', 60, {}, { priorityClassName: 'system-node-critical' }));
  await agent.put('static.json', hog('static', 70));
  const names = ['sure', 'within', 'beyond', 'loose', 'vital', 'static'];
  for (const name of names) await agent.waitFor(name, isReady);

  await agent.stop();
  await agent.start(['--eviction-hard=memory.available<99%']);
  const order = await eventually(
    async () => {
      const found = await evicted(shortNode(agent));
      return found.length === 4 && found;
    },
    { timeoutMs: 30_000, what: 'four pods are evicted' },
  );
  expect(order).toEqual(['beyond', 'loose', 'within', 'sure']);
  const { status } = await agent.waitFor('beyond', isEvicted);
  expect(status?.message).toMatch(
    /^The node was low on resource: memory\. Threshold quantity: \S+, available: \S+\. Container c was using \d+[KMG]i, which exceeds its request of 10Mi\.$/,
  );
  expect((await nodeTells(agent, 'EvictionThresholdMet')).message).toBe('Attempting to reclaim memory');
  await nodeTells(agent, 'NodeHasInsufficientMemory');
  await holds(async () => {
    const spared = await Promise.all(['vital', 'static'].map((name) => agent.pod(name)));
    return spared.every((one) => one?.status?.phase === 'Running');
  }, 1500);
}, 60_000);

test('under memory pressure it rejects best-effort pods, but admits critical and static ones', async () => {
  await agent.apply(hog('late', 1));
  const { status } = await agent.waitFor('late', isEvicted);
  expect(status?.message).toBe('The node had condition: [MemoryPressure]. ');
  await agent.apply(hog('needed', 1, {}, { priorityClassName: 'system-node-critical' }));
  await agent.put('written.json', hog('written', 1));
  for (const name of ['needed', 'written']) await agent.waitFor(name, isReady);
});

test('on a node without a server, pods come back when nothing is short any more', async () => {
  await agent.stop();
  await agent.start();
  for (const name of ['sure', 'within', 'beyond', 'loose', 'late']) {
    const { status } = await agent.waitFor(name, isReady);
    expect(status?.containerStatuses?.[0]?.restartCount).toBe(0);
  }
}, 60_000);
