/** Processes that are moved to where they belong, on the machine's own cgroups. What stands for their root is a cgroup
 *  of the test's, so that only its own processes are in reach. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createFakeClock, systemClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { eventually } from '../../testing/wait.ts';
import { removeCgroupTree } from '../runtime/managed/cgroup-tree.ts';
import { createCgroupfsMaker } from './cgroupfs-driver.ts';
import { type NodeCgroupsOptions, runNodeCgroups } from './node-cgroups.ts';
import { createCgroupTree } from './tree.ts';

const ROOT = `/na-root-${process.pid}`;
const CONTROLLERS = ['cpu', 'memory', 'pids'] as const;
const mountPoints = new Map(CONTROLLERS.map((name) => [name, `/sys/fs/cgroup/${name}${ROOT}`]));
const hierarchies = { version: 1, mountPoints, all: [...mountPoints.values()] } as const;

const children: ChildProcess[] = [];
beforeEach(async () => {
  for (const folder of hierarchies.all) await mkdir(folder, { recursive: true });
});
afterEach(async () => {
  for (const child of children.splice(0)) {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
  await removeCgroupTree(ROOT);
});

/** A process in what stands for the root. */
async function startProcess(): Promise<number> {
  const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
  children.push(child);
  const pid = child.pid ?? 0;
  for (const folder of hierarchies.all) await writeFile(join(folder, 'cgroup.procs'), String(pid));
  return pid;
}

/** In which cgroups a process is, each once. */
async function placesOf(pid: number): Promise<readonly string[]> {
  const text = await readFile(`/proc/${pid}/cgroup`, 'utf8');
  const lines = text.split('\n').map((line) => line.split(':'));
  const known = lines.filter(([, names = '']) => CONTROLLERS.some((one) => names.split(',').includes(one)));
  return [...new Set(known.map(([, , path = '']) => path))];
}

const isIn = (pid: number, place: string): Promise<true> =>
  eventually(
    async () => {
      const found = await placesOf(pid);
      if (found.join() === ROOT + place) return true;
      throw new Error(`it is in ${found.join()}`);
    },
    { what: `process ${pid} is in ${place}` },
  );

/** Runs for as long as the work takes. */
async function running(
  options: Partial<NodeCgroupsOptions>,
  kernelThreads: readonly number[],
  work: (parts: {
    readonly told: readonly string[];
    readonly nextLook: () => Promise<void>;
  }) => Promise<void>,
  pid = 0,
): Promise<void> {
  const clock = createFakeClock();
  const stop = new AbortController();
  const told: string[] = [];
  const ended = runNodeCgroups(
    {
      open: async () => createCgroupfsMaker(createCgroupTree({ hierarchies, clock: systemClock })),
      clock,
      log: silentLogger,
      event: ({ reason, message }) => void told.push(`${reason}: ${message}`),
      pid,
      isKernelThread: async (one) => kernelThreads.includes(one),
    },
    { reserved: [], agentCgroup: '', systemCgroup: '', ...options },
    stop.signal,
  );
  await work({ told, nextLook: () => clock.advance(60_000) });
  stop.abort(new Error('the test is over'));
  await ended;
}

test('processes of the system go to its cgroup, later ones as well; those of the kernel stay', async () => {
  const [one, other, kernel] = [await startProcess(), await startProcess(), await startProcess()];
  await running({ systemCgroup: '/system' }, [kernel], async ({ nextLook }) => {
    await isIn(one, '/system');
    await isIn(other, '/system');
    expect(await placesOf(kernel)).toEqual([ROOT]);
    const late = await startProcess();
    // Until the next look has begun.
    await eventually(async () => {
      await nextLook();
      return (await placesOf(late)).join() === `${ROOT}/system`;
    });
    expect(await placesOf(kernel)).toEqual([ROOT]);
  });
});

test('the agent goes to its own, and alone', async () => {
  const [agent, beside] = [await startProcess(), await startProcess()];
  const work = async (): Promise<void> => {
    await isIn(agent, '/agents/node');
    expect(await placesOf(beside)).toEqual([ROOT]);
  };
  await running({ agentCgroup: '/agents/node' }, [], work, agent);
});

test('nobody is moved to the root, which is told', async () => {
  const one = await startProcess();
  await running({ systemCgroup: '/' }, [], async ({ told }) => {
    const message = "FailedNodeAllocatableEnforcement: the cgroup of the system can't be the root";
    await eventually(() => Promise.resolve(told.includes(message)));
    expect(await placesOf(one)).toEqual([ROOT]);
  });
});

test('a part that amounts are kept for is limited where it is there, and told where it is not', async () => {
  const limits = { memoryBytes: 64n * 2n ** 20n };
  const part = (group: string, cgroup: string) => ({ group, cgroup, limits });
  for (const folder of hierarchies.all) await mkdir(join(folder, 'there'));
  const reserved = [part('system-reserved', '/there'), part('plat-reserved', '/nowhere')];
  await running({ reserved }, [], async ({ told }) => {
    await eventually(() => Promise.resolve(told.length === 2));
    expect(told).toEqual([
      'NodeAllocatableEnforced: Updated limits on system-reserved cgroup /there',
      'FailedNodeAllocatableEnforcement: the cgroup /nowhere of plat-reserved does not exist: make it before the agent starts',
    ]);
    const file = join(mountPoints.get('memory') ?? '', 'there', 'memory.limit_in_bytes');
    expect(Number(await readFile(file, 'utf8'))).toBe(64 * 2 ** 20);
  });
});
