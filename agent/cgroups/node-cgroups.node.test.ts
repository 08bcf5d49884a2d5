/** Moves of processes to their cgroups, on the machine's own hierarchies. A cgroup of the test stands for the
 *  root, so that only its own processes are affected. */
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

/** A process in the cgroup that stands for the root. */
async function startProcess(): Promise<number> {
  const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
  children.push(child);
  const pid = child.pid ?? 0;
  for (const folder of hierarchies.all) await writeFile(join(folder, 'cgroup.procs'), String(pid));
  return pid;
}

/** Returns the distinct cgroups of a process. */
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

/** Runs while the callback runs. */
async function running(
  options: Partial<NodeCgroupsOptions>,
  kernelThreads: readonly number[],
  work: (parts: {
    readonly events: readonly string[];
    readonly nextRound: () => Promise<void>;
  }) => Promise<void>,
  pid = 0,
): Promise<void> {
  const clock = createFakeClock();
  const stop = new AbortController();
  const events: string[] = [];
  const ended = runNodeCgroups(
    {
      open: async () => createCgroupfsMaker(createCgroupTree({ hierarchies, clock: systemClock })),
      clock,
      log: silentLogger,
      event: ({ reason, message }) => void events.push(`${reason}: ${message}`),
      pid,
      isKernelThread: async (one) => kernelThreads.includes(one),
    },
    { reserved: [], agentCgroup: '', systemCgroup: '', ...options },
    stop.signal,
  );
  await work({ events, nextRound: () => clock.advance(60_000) });
  stop.abort(new Error('the test is over'));
  await ended;
}

test('system processes are moved to their cgroup, later ones as well; kernel threads stay', async () => {
  const [one, other, kernel] = [await startProcess(), await startProcess(), await startProcess()];
  await running({ systemCgroup: '/system' }, [kernel], async ({ nextRound }) => {
    await isIn(one, '/system');
    await isIn(other, '/system');
    expect(await placesOf(kernel)).toEqual([ROOT]);
    const late = await startProcess();
    // Until the next round has started.
    await eventually(async () => {
      await nextRound();
      return (await placesOf(late)).join() === `${ROOT}/system`;
    });
    expect(await placesOf(kernel)).toEqual([ROOT]);
  });
});

test('the agent is moved to its own cgroup, and nothing else', async () => {
  const [agent, beside] = [await startProcess(), await startProcess()];
  const work = async (): Promise<void> => {
    await isIn(agent, '/agents/node');
    expect(await placesOf(beside)).toEqual([ROOT]);
  };
  await running({ agentCgroup: '/agents/node' }, [], work, agent);
});

test('the root is rejected as a target, with an event', async () => {
  const one = await startProcess();
  await running({ systemCgroup: '/' }, [], async ({ events }) => {
    const message = "FailedNodeAllocatableEnforcement: the cgroup of the system can't be the root";
    await eventually(() => Promise.resolve(events.includes(message)));
    expect(await placesOf(one)).toEqual([ROOT]);
  });
});

test('a reserved part is limited if its cgroup exists, and reported if not', async () => {
  const limits = { memoryBytes: 64n * 2n ** 20n };
  const part = (group: string, cgroup: string) => ({ group, cgroup, limits });
  for (const folder of hierarchies.all) await mkdir(join(folder, 'there'));
  const reserved = [part('system-reserved', '/there'), part('plat-reserved', '/nowhere')];
  await running({ reserved }, [], async ({ events }) => {
    await eventually(() => Promise.resolve(events.length === 2));
    expect(events).toEqual([
      'NodeAllocatableEnforced: Updated limits on system-reserved cgroup /there',
      'FailedNodeAllocatableEnforcement: the cgroup /nowhere of plat-reserved does not exist: create it before the agent starts',
    ]);
    const file = join(mountPoints.get('memory') ?? '', 'there', 'memory.limit_in_bytes');
    expect(Number(await readFile(file, 'utf8'))).toBe(64 * 2 ** 20);
  });
});
