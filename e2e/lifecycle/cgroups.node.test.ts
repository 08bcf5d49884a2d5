/** Cgroups of pods in the kernel. */
import { existsSync } from 'node:fs';
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { weightOf } from '#agent/cgroups/limits.ts';
import { removeCgroupTree } from '#agent/runtime/managed/cgroup-tree.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { eventually } from '../../testing/wait.ts';
import {
  containerId,
  type Harness,
  hasEnded,
  isRunning,
  pod,
  sh,
  startHarness,
  statusOf,
  WAIT,
} from './support.ts';

const ROOT = '/sys/fs/cgroup';
/** Whether the machine has cgroup version 1. */
const isV1 = existsSync(join(ROOT, 'memory'));
const folder = (controller: string, path: string): string => join(ROOT, isV1 ? controller : '', path);
const MEMORY_LIMIT = isV1 ? 'memory.limit_in_bytes' : 'memory.max';

/** Cgroups of the node, created for this run only. */
const SYSTEM = `/na-test-sys-${process.pid}`;
const AGENT = `/na-test-agent-${process.pid}`;

let harness: Harness;
beforeAll(async () => {
  for (const controller of ['cpu', 'memory', 'pids']) {
    await mkdir(folder(controller, SYSTEM), { recursive: true });
  }
  harness = await startHarness([
    '--pod-max-pids=40',
    '--system-reserved=cpu=100m,memory=512Mi',
    '--enforce-node-allocatable=pods,system-reserved',
    `--system-reserved-cgroup=${SYSTEM}`,
    `--nodeagent-cgroups=${AGENT}`,
  ]);
});
afterAll(async () => {
  await harness[Symbol.asyncDispose]();
  for (const path of [SYSTEM, AGENT]) await removeCgroupTree(path);
});

const { podsCgroup } = VOCABULARIES.plat;
const all = (): string => join(harness.agent.cgroup, podsCgroup);
const text = async (controller: string, path: string, file: string): Promise<string> =>
  (await readFile(join(folder(controller, path), file), 'utf8')).trim();

const weight = (path: string): Promise<string> => text('cpu', path, isV1 ? 'cpu.shares' : 'cpu.weight');
const weightFor = (shares: string): string => (isV1 ? shares : `${weightOf(BigInt(shares))}`);

/** In 100 ms; -1 for none. */
async function quotaOf(path: string): Promise<string> {
  if (isV1) return text('cpu', path, 'cpu.cfs_quota_us');
  return (await text('cpu', path, 'cpu.max')).split(' ')[0]?.replace('max', '-1') ?? '';
}

/** Returns the path of the pod's cgroup, according to its process. */
async function cgroupOf(name: string, container = 'c'): Promise<string> {
  const found = await harness.agent.waitFor(name, isRunning(container));
  const { info } = await harness.cri.runtime.containerStatus({
    containerId: containerId(found, container),
    verbose: true,
  });
  const { pid } = JSON.parse(info['info'] ?? '{}') as { pid: number };
  const lines = (await readFile(`/proc/${pid}/cgroup`, 'utf8')).split('\n');
  const line = lines.find((one) => one.includes(isV1 ? ':memory:' : '0::')) ?? '';
  return line.slice(line.indexOf('/'), line.lastIndexOf('/'));
}

const resources = (requests: Record<string, string>, limits: Record<string, string> = {}) => ({
  resources: { requests, limits },
});

describe('a pod has a cgroup', () => {
  test.each([
    ['guaranteed', '', resources({}, { cpu: '200m', memory: '32Mi' }), 33_554_432, '204', '20000'],
    ['burstable', '/burstable', resources({ cpu: '300m', memory: '16Mi' }), undefined, '307', '-1'],
    ['besteffort', '/besteffort', {}, undefined, '2', '-1'],
  ] as const)('of its class %s, with its limits', async (name, parent, more, memory, shares, quota) => {
    await harness.agent.put(`${name}.json`, pod(name, { containers: [sh('c', WAIT, more)] }));
    const path = await cgroupOf(name);
    const uid = (await harness.agent.pod(name))?.metadata?.uid;
    expect(path).toBe(`${all()}${parent}/pod${uid}`);
    const limit = Number(await text('memory', path, MEMORY_LIMIT));
    expect(memory === undefined ? limit > 2 ** 40 || Number.isNaN(limit) : limit === memory).toBe(true);
    expect(await text('pids', path, 'pids.max')).toBe('40');
    expect(await weight(path)).toBe(weightFor(shares));
    expect(await quotaOf(path)).toBe(quota);
    await harness.agent.drop(`${name}.json`);
    await eventually(async () => ((await harness.agent.pod(name)) === undefined ? true : undefined), {
      timeoutMs: 20_000,
      what: `${name} is gone`,
    });
    expect(existsSync(folder('memory', path))).toBe(false);
    expect(existsSync(folder('cpuset', path))).toBe(false);
  });

  test('with its overhead, and its class weighs as much', async () => {
    const spec = {
      overhead: { cpu: '100m', memory: '8Mi' },
      containers: [sh('c', WAIT, resources({ cpu: '200m' }, { cpu: '400m', memory: '24Mi' }))],
    };
    await harness.agent.put('over.json', pod('over', spec));
    const path = await cgroupOf('over');
    expect(await text('memory', path, MEMORY_LIMIT)).toBe(String(32 * 1024 * 1024));
    expect(await quotaOf(path)).toBe('50000');
    await eventually(
      async () => ((await weight(`${all()}/burstable`)) === weightFor('307') ? true : undefined),
      { what: 'the class weighs the requests of its pods' },
    );
    await harness.agent.drop('over.json');
  });
});

test('all pods together have the machine without what is reserved', async () => {
  const total = /MemTotal:\s+(\d+) kB/.exec(await readFile('/proc/meminfo', 'utf8'))?.[1];
  const limit = Number(await text('memory', all(), MEMORY_LIMIT));
  expect(limit).toBe(Number(total) * 1024 - 512 * 1024 * 1024);
});

test('the system has what is reserved for it, and the agent is in its own cgroup', async () => {
  const limit = (): Promise<string> => text('memory', SYSTEM, MEMORY_LIMIT);
  // Logged once everything is done.
  const enforced = `Updated limits on system-reserved cgroup ${SYSTEM}`;
  expect(await harness.event('n1', 'NodeAllocatableEnforced', new RegExp(`^${enforced}$`))).toBe(enforced);
  expect(await limit()).toBe(String(512 * 1024 * 1024));
  expect(await weight(SYSTEM)).toBe(weightFor('102'));
  const inside = await eventually(async () => (await text('memory', AGENT, 'cgroup.procs')) || undefined, {
    what: 'the agent is in its cgroup',
  });
  expect(inside).toBe(String(harness.agent.pid));
  await harness.event('n1', 'NodeAllocatableEnforced', /^Updated Node Allocatable limit across pods$/);
});

test('a pod has no more processes than it may', async () => {
  const script = 'i=0; while [ $i -lt 100 ]; do sleep 100 & i=$((i+1)); done; wait';
  await harness.agent.put(
    'forks.json',
    pod('forks', { restartPolicy: 'Never', containers: [sh('c', script)] }),
  );
  await harness.agent.waitFor('forks', hasEnded('c'));
  expect(await harness.logs('forks', 'c', /fork/)).toMatch(/can't fork/);
  await harness.agent.drop('forks.json');
});

test('external changes are reverted, and cgroups without a pod removed, after the agent was down', async () => {
  await harness.agent.put('stays.json', pod('stays', { containers: [sh('c', WAIT)] }));
  const path = await cgroupOf('stays');
  await harness.agent.stop('SIGKILL');
  await writeFile(join(folder('pids', path), 'pids.max'), 'max');
  const gone = `${all()}/besteffort/podgone`;
  const foreign = `${all()}/besteffort/podforeign`;
  for (const one of [gone, foreign]) await mkdir(folder('memory', one), { recursive: true });
  await writeFile(join(harness.agent.root, 'cgroups', 'gone'), gone);
  await harness.agent.start();
  await eventually(async () => ((await text('pids', path, 'pids.max')) === '40' ? true : undefined), {
    what: 'the limit is there again',
  });
  await eventually(() => Promise.resolve(existsSync(folder('memory', gone)) ? undefined : true), {
    what: 'the cgroup of the pod that is gone is gone',
  });
  expect(existsSync(folder('memory', foreign))).toBe(true);
  await rmdir(folder('memory', foreign));
  expect(await cgroupOf('stays')).toBe(path);
  await harness.agent.drop('stays.json');
});

describe('OOM kills are reported for the pod', () => {
  const hog = 'tail /dev/zero';

  test('a container beyond its own limit', async () => {
    const limited = resources({}, { memory: '16Mi' });
    const containers = [sh('hog', hog, limited), sh('calm', WAIT)];
    await harness.agent.put('hog.json', pod('hog', { restartPolicy: 'Never', containers }));
    // On a busy machine the runtime may report the exit before its reason.
    const ended = await harness.agent.waitFor(
      'hog',
      (found) => statusOf(found, 'hog')?.state?.terminated?.reason === 'OOMKilled',
    );
    expect(statusOf(ended, 'hog')?.state?.terminated).toMatchObject({ exitCode: 137 });
    expect(await harness.event('hog', 'OOMKilling', /container hog: its memory limit was reached/)).toMatch(
      /process (?:tail|sh) \(\d+\)/,
    );
    await harness.agent.drop('hog.json');
  });

  test('containers that are beyond the limit of their pod together', async () => {
    const script = 'dd if=/dev/zero of=/dev/shm/x bs=1M count=20; exec tail /dev/zero';
    const limited = resources({ memory: '4Mi' }, { memory: '24Mi' });
    const containers = [sh('a', script, limited), sh('b', script, limited)];
    await harness.agent.put('both.json', pod('both', { restartPolicy: 'Never', containers }));
    await harness.agent.waitFor('both', (found) => hasEnded('a')(found) && hasEnded('b')(found));
    expect(await harness.event('both', 'OOMKilling')).toMatch(/memory limit/);
    await harness.agent.drop('both.json');
  });
});
