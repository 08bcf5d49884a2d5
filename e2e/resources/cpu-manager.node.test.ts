/** Processors of containers, as the kernel has them for their processes. */
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { formatCpuSet } from '#agent/resources/cpu/cpu-set.ts';
import { eventually } from '../../testing/wait.ts';
import {
  type Bench,
  containerId,
  hasPhase,
  isRunning,
  pod,
  sh,
  startBench,
  WAIT,
} from '../lifecycle/support.ts';

const cpus = (...from: readonly number[]): string => formatCpuSet(new Set(from));
const ALL = Array.from({ length: availableParallelism() }, (_, cpu) => cpu);
const EVERYWHERE = cpus(...ALL);
/** Processor 0 is the system's: the first to be given away is the next one. */
const OWN = cpus(1);
const OTHERS = cpus(...ALL.filter((cpu) => cpu !== 1));

const STATIC = ['--cpu-manager-policy=static', '--reserved-cpus=0', '--cpu-manager-reconcile-period=1s'];
const GUARANTEED = { resources: { limits: { cpu: '1', memory: '32Mi' } } };
/** Asks for no processor: all that pods may have are given away at times. */
const BURSTABLE = { resources: { requests: { memory: '8Mi' } } };

let bench: Bench;
beforeAll(async () => {
  bench = await startBench(STATIC);
});
afterAll(async () => bench[Symbol.asyncDispose]());

const run = (name: string, resources: object): Promise<void> =>
  bench.agent.put(`${name}.json`, pod(name, { containers: [sh('c', WAIT, resources)] }));

async function pidOf(name: string): Promise<number> {
  const found = await bench.agent.waitFor(name, isRunning('c'));
  const { info } = await bench.cri.runtime.containerStatus({
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

/** How an agent with these flags ends by itself. */
async function exitCode(flags: readonly string[]): Promise<number | null> {
  const { agent } = bench;
  agent.spawn(flags);
  await eventually(() => !existsSync(`/proc/${agent.pid}`), {
    timeoutMs: 30_000,
    what: 'the agent has ended',
  });
  return agent.stop();
}

const state = (): Promise<string> => readFile(join(bench.agent.root, 'cpu_manager_state'), 'utf8');

test('a guaranteed pod has a processor of its own, and the others go and come back', async () => {
  await run('b', BURSTABLE);
  const burstable = await pidOf('b');
  expect(await allowed(burstable)).toBe(EVERYWHERE);
  await run('g', GUARANTEED);
  const own = await pidOf('g');
  expect(await allowed(own)).toBe(OWN);
  await isOn(burstable, OTHERS);
  await bench.agent.drop('g.json');
  await isOn(burstable, EVERYWHERE);
  // Written once the processes are where they belong.
  await eventually(async () => (await state()).includes(`"defaultCpuSet":"${EVERYWHERE}"`), {
    what: 'everything is shared',
  });
  expect(JSON.parse(await state())).toMatchObject({ policyName: 'static' });
});

test('a pod that has ended gives its processor back while it is still to be seen', async () => {
  const look = sh('c', 'grep Cpus_allowed_list /proc/self/status', GUARANTEED);
  await bench.agent.put('once.json', pod('once', { containers: [look], restartPolicy: 'Never' }));
  await bench.agent.waitFor('once', hasPhase('Succeeded'));
  expect((await bench.logs('once', 'c')).split(/\s+/)[1]).toBe(OWN);
  await eventually(async () => (await state()).includes(`"defaultCpuSet":"${EVERYWHERE}"`), {
    what: 'everything is shared',
  });
});

test('what somebody else changed is put right', async () => {
  await run('b', BURSTABLE);
  const burstable = await pidOf('b');
  const id = containerId(await bench.agent.waitFor('b', isRunning('c')), 'c');
  // Or it may be right again before anybody looks.
  process.kill(bench.agent.pid, 'SIGSTOP');
  try {
    await bench.cri.runtime.updateContainerResources({ containerId: id, linux: { cpusetCpus: '0' } });
    expect(await allowed(burstable)).toBe('0');
  } finally {
    process.kill(bench.agent.pid, 'SIGCONT');
  }
  await isOn(burstable, EVERYWHERE);
});

test('an agent that was killed leaves everything where it is, and the next one knows', async () => {
  await run('k', GUARANTEED);
  const own = await pidOf('k');
  const before = await state();
  await bench.agent.stop('SIGKILL');
  await bench.agent.start();
  await run('b', BURSTABLE);
  const burstable = await pidOf('b');
  await isOn(burstable, OTHERS);
  expect(await allowed(own)).toBe(OWN);
  expect(await state()).toBe(before);
  // There is no other processor for another one: that of the system is nobody's.
  await run('late', { resources: { limits: { cpu: String(ALL.length - 1), memory: '32Mi' } } });
  const late = await bench.agent.waitFor('late', ({ status }) => status?.phase === 'Failed');
  expect(late.status?.reason).toBe('OutOfcpu');
});

test.each([
  ['a policy that has changed', ['--cpu-manager-policy=none'], undefined, 'policy static, not none'],
  ['processors that are reserved now', ['--reserved-cpus=0-1'], undefined, 'reserved processors 1'],
  ['a state that is broken', [], '{"policyName":"static"', 'is not JSON'],
])('an agent does not start with %s', async (_, flags, text, message) => {
  const { agent } = bench;
  await agent.stop();
  const before = await state();
  const told = (await agent.log()).length;
  if (text !== undefined) await writeFile(join(agent.root, 'cpu_manager_state'), text);
  expect(await exitCode(flags)).toBe(1);
  const log = (await agent.log()).slice(told);
  expect(log).toContain(message);
  expect(log).toContain(`drain this node, remove ${join(agent.root, 'cpu_manager_state')} and start`);
  await writeFile(join(agent.root, 'cpu_manager_state'), before);
  await agent.start();
});
