/** Memory manager: NUMA nodes of containers, and a topology policy that rejects pods that cannot be aligned. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { eventually } from '../../testing/wait.ts';
import { containerId, isRunning, pod, sh, useHarness, WAIT } from '../lifecycle/support.ts';

const harness = useHarness([
  '--memory-manager-policy=Static',
  '--system-reserved=memory=512Mi',
  '--reserved-memory=0:memory=512Mi',
  '--topology-manager-policy=single-numa-node',
  '--topology-manager-scope=pod',
]);

const run = (name: string, memory: string): Promise<void> =>
  harness.agent.put(
    `${name}.json`,
    pod(name, { containers: [sh('c', WAIT, { resources: { limits: { cpu: '10m', memory } } })] }),
  );

const stateFile = (): string => join(harness.agent.root, 'memory_manager_state');
const entries = async (): Promise<object> =>
  (JSON.parse(await readFile(stateFile(), 'utf8')) as { entries: object }).entries;

test('a guaranteed pod has its memory on a node, until it is gone', async () => {
  await run('m', '32Mi');
  const found = await harness.agent.waitFor('m', isRunning('c'));
  const { info } = await harness.cri.runtime.containerStatus({
    containerId: containerId(found, 'c'),
    verbose: true,
  });
  const reported = JSON.parse(info['info'] ?? '{}') as {
    pid: number;
    config: { linux: { resources: { cpuset_mems?: string } } };
  };
  expect(reported.config.linux.resources.cpuset_mems).toBe('0');
  expect(await readFile(`/proc/${reported.pid}/status`, 'utf8')).toMatch(/^Mems_allowed_list:\s+0$/m);
  const blocks = [{ numaAffinity: [0], type: 'memory', size: 32 * 1024 * 1024 }];
  expect(await entries()).toEqual({ [found.metadata?.uid ?? '']: { c: blocks } });
  await harness.agent.drop('m.json');
  await eventually(async () => Object.keys(await entries()).length === 0, {
    timeoutMs: 20_000,
    what: 'no memory is allocated',
  });
});

test('a pod that requests more than a node has is rejected', async () => {
  await run('large', '1000Gi');
  const { status } = await harness.agent.waitFor('large', (found) => found.status?.phase === 'Failed');
  expect(status?.reason).toBe('OutOfmemory');
  expect(status?.message).toContain('the node has insufficient memory: requested 1073741824000,');
});

test('an agent does not start while the reservations contradict each other', async () => {
  const { agent } = harness;
  await agent.stop();
  agent.spawn(['--system-reserved=memory=600Mi']);
  await eventually(() => !existsSync(`/proc/${agent.pid}`), {
    timeoutMs: 30_000,
    what: 'the agent has ended',
  });
  expect(await agent.stop()).toBe(1);
  expect(await agent.log()).toContain('--reserved-memory names 512Mi of memory, and 600Mi are reserved');
  await agent.start();
});
