/** CPU manager: the CPU affinity of containers' processes in the kernel. */
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { formatCpuSet } from '#agent/machine/cpu-set.ts';
import { eventually } from '../../testing/wait.ts';
import { containerId, hasPhase, isRunning, pod, sh, useHarness, WAIT } from '../lifecycle/support.ts';

const cpus = (...from: readonly number[]): string => formatCpuSet(new Set(from));
const ALL = Array.from({ length: availableParallelism() }, (_, cpu) => cpu);
const EVERYWHERE = cpus(...ALL);
/** CPU 0 is reserved for the system: CPU 1 is the first to be allocated. */
const OWN = cpus(1);
const OTHERS = cpus(...ALL.filter((cpu) => cpu !== 1));

const STATIC = ['--cpu-manager-policy=static', '--reserved-cpus=0', '--cpu-manager-reconcile-period=1s'];
const GUARANTEED = { resources: { limits: { cpu: '1', memory: '32Mi' } } };
/** Requests no CPU: all CPUs for pods are allocated at times. */
const BURSTABLE = { resources: { requests: { memory: '8Mi' } } };

const harness = useHarness(STATIC);

const run = (name: string, resources: object): Promise<void> =>
  harness.agent.put(`${name}.json`, pod(name, { containers: [sh('c', WAIT, resources)] }));

async function pidOf(name: string): Promise<number> {
  const found = await harness.agent.waitFor(name, isRunning('c'));
  const { info } = await harness.cri.runtime.containerStatus({
    containerId: containerId(found, 'c'),
    verbose: true,
  });
  return (JSON.parse(info['info'] ?? '{}') as { pid: number }).pid;
}

async function allowed(pid: number): Promise<string> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return /^Cpus_allowed_list:\s+(\S+)$/m.exec(status)?.[1] ?? '';
}

const isOn = (pid: number, list: string): Promise<true> =>
  eventually(
    async () => {
      const now = await allowed(pid);
      if (now === list) return true;
      throw new Error(`it may run on ${now}`);
    },
    { timeoutMs: 20_000, what: `process ${pid} runs on ${list}` },
  );

/** Returns the exit of an agent with these flags that stops by itself. */
async function exitCode(flags: readonly string[]): Promise<number | null> {
  const { agent } = harness;
  agent.spawn(flags);
  await eventually(() => !existsSync(`/proc/${agent.pid}`), {
    timeoutMs: 30_000,
    what: 'the agent has ended',
  });
  return agent.stop();
}

const state = (): Promise<string> => readFile(join(harness.agent.root, 'cpu_manager_state'), 'utf8');

test('a guaranteed pod has a processor of its own, and the others go and come back', async () => {
  await run('b', BURSTABLE);
  const burstable = await pidOf('b');
  expect(await allowed(burstable)).toBe(EVERYWHERE);
  await run('g', GUARANTEED);
  const own = await pidOf('g');
  expect(await allowed(own)).toBe(OWN);
  await isOn(burstable, OTHERS);
  await harness.agent.drop('g.json');
  await isOn(burstable, EVERYWHERE);
  // Written once the processes have their affinity.
  await eventually(async () => (await state()).includes(`"defaultCpuSet":"${EVERYWHERE}"`), {
    what: 'everything is shared',
  });
  expect(JSON.parse(await state())).toMatchObject({ policyName: 'static' });
});

test('a pod that has ended gives its processor back while it is still to be seen', async () => {
  const look = sh('c', 'grep Cpus_allowed_list /proc/self/status', GUARANTEED);
  await harness.agent.put('once.json', pod('once', { containers: [look], restartPolicy: 'Never' }));
  await harness.agent.waitFor('once', hasPhase('Succeeded'));
  expect((await harness.logs('once', 'c')).split(/\s+/)[1]).toBe(OWN);
  await eventually(async () => (await state()).includes(`"defaultCpuSet":"${EVERYWHERE}"`), {
    what: 'everything is shared',
  });
});

test('external changes are reverted', async () => {
  await run('b', BURSTABLE);
  const burstable = await pidOf('b');
  const id = containerId(await harness.agent.waitFor('b', isRunning('c')), 'c');
  // Otherwise it could be reverted before the check.
  process.kill(harness.agent.pid, 'SIGSTOP');
  try {
    await harness.cri.runtime.updateContainerResources({ containerId: id, linux: { cpusetCpus: '0' } });
    expect(await allowed(burstable)).toBe('0');
  } finally {
    process.kill(harness.agent.pid, 'SIGCONT');
  }
  await isOn(burstable, EVERYWHERE);
});

test('an agent that was killed leaves everything where it is, and the next one knows', async () => {
  await run('k', GUARANTEED);
  const own = await pidOf('k');
  const before = await state();
  await harness.agent.stop('SIGKILL');
  await harness.agent.start();
  await run('b', BURSTABLE);
  const burstable = await pidOf('b');
  await isOn(burstable, OTHERS);
  expect(await allowed(own)).toBe(OWN);
  expect(await state()).toBe(before);
  // No CPU is left for another one: the system's is not allocatable.
  await run('late', { resources: { limits: { cpu: String(ALL.length - 1), memory: '32Mi' } } });
  const late = await harness.agent.waitFor('late', ({ status }) => status?.phase === 'Failed');
  expect(late.status?.reason).toBe('OutOfcpu');
});

test.each([
  ['a policy that has changed', ['--cpu-manager-policy=none'], undefined, 'policy static, not none'],
  ['processors that are reserved now', ['--reserved-cpus=0-1'], undefined, 'reserved CPUs 1'],
  ['a state that is broken', [], '{"policyName":"static"', 'is not JSON'],
])('an agent does not start with %s', async (_, flags, text, message) => {
  const { agent } = harness;
  await agent.stop();
  const before = await state();
  const reported = (await agent.log()).length;
  if (text !== undefined) await writeFile(join(agent.root, 'cpu_manager_state'), text);
  expect(await exitCode(flags)).toBe(1);
  const log = (await agent.log()).slice(reported);
  expect(log).toContain(message);
  expect(log).toContain(`drain this node, remove ${join(agent.root, 'cpu_manager_state')} and start`);
  await writeFile(join(agent.root, 'cpu_manager_state'), before);
  await agent.start();
});
