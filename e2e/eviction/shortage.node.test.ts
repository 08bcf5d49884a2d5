/** Real pressure: memory of all pods together, and process numbers. Only the pod that uses it up is evicted. */
import { readdir, readFile, rmdir } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { expect, inject, test } from 'vitest';
import { isReady } from '../../testing/agent.ts';
import { pod, sh, WAIT } from '../lifecycle/support.ts';
import { evicted, forks, MODEST, takesIt, whoEnds } from './shortages.ts';
import { isEvicted, nodeTells, shortNode, startAgent } from './support.ts';

const MIB = 2 ** 20;
/** Maximum number of threads that other tests, whole clusters among them, start or stop meanwhile. */
const OTHERS = 700;

/** Removes the test's cgroups in every hierarchy, the innermost first. */
async function removeCgroups(name: string): Promise<void> {
  for (const controller of await readdir('/sys/fs/cgroup')) {
    const root = `/sys/fs/cgroup/${controller}/${name}`;
    const below = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => []);
    const folders = below.filter((one) => one.isDirectory()).map((one) => `${one.parentPath}/${one.name}`);
    for (const folder of [...folders.toSorted().toReversed(), root])
      await rmdir(folder).catch(() => undefined);
  }
}

test('pods short of memory together lose the one that uses it, on the kernel’s notification', async () => {
  const name = `na-evict-${process.pid}`;
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => removeCgroups(name));
  await using agent = await startAgent({
    endpoint: inject('criEndpoint'),
    flags: [
      `--cgroup-root=/${name}`,
      // All pods together get 400 MiB.
      `--system-reserved=memory=${Math.floor(totalmem() / MIB) - 400}Mi`,
      '--eviction-hard=allocatableMemory.available<200Mi',
      '--kernel-memcg-notification',
      // Too long for polling: the kernel's notification must trigger it.
      '--housekeeping-interval=10m',
    ],
  });
  const memory = { name: 'memory', emptyDir: { medium: 'Memory' } };
  const volumeMounts = [{ name: 'memory', mountPath: '/memory' }];
  const fill = (script: string) => ({ volumes: [memory], containers: [sh('c', script, { volumeMounts })] });
  await agent.apply(pod('modest', fill(`head -c 30m /dev/zero >/memory/x; ${WAIT}`)));
  await agent.waitFor('modest', isReady);
  const slowly = 'i=0; while [ $i -lt 25 ]; do i=$((i+1)); head -c 10m /dev/zero >>/memory/x; done';
  await agent.apply(pod('greedy', fill(`${slowly}; ${WAIT}`)));
  const { status } = await agent.waitFor('greedy', isEvicted);
  expect(status?.message).toContain('The node was low on resource: memory. Threshold quantity: 200Mi');
  await nodeTells(agent, 'NodeHasInsufficientMemory');
  await nodeTells(agent, 'NodeHasSufficientMemory');
  expect(await evicted(shortNode(agent))).toEqual(['greedy']);
  expect((await agent.pod('modest'))?.status?.phase).toBe('Running');
}, 60_000);

test('a pod that uses up process numbers is evicted', async () => {
  const [loadavg, most] = await Promise.all([
    readFile('/proc/loadavg', 'utf8'),
    readFile('/proc/sys/kernel/pid_max', 'utf8'),
  ]);
  const free = Number(most) - Number(/\/(\d+)/.exec(loadavg)?.[1]);
  await using agent = await startAgent({
    endpoint: inject('criEndpoint'),
    flags: [`--eviction-hard=pid.available<${free - OTHERS}`],
  });
  const node = shortNode(agent);
  await takesIt(node, MODEST);
  expect(await whoEnds(node, [forks('forks', 2 * OTHERS)])).toEqual(['forks']);
}, 60_000);
