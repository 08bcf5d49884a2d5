/** Node pressure and pod limits with cgroups of version 2 created by systemd. One VM for all tests: its start
 *  takes longer than any of them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../testing/wait.ts';
import {
  conditionOf,
  DISK_GRACE_MS,
  DISK_TAKERS,
  evicted,
  forks,
  INODES_TAKERS,
  isGivenUp,
  MODEST,
  takesIt,
  whoEnds,
  whoEndsBesideImage,
} from '../eviction/shortages.ts';
import { LOOKS, startVmNode, type VmNode } from './node.ts';
import { oneAfterAnother } from './one-after-another.ts';
import { memoryHog } from './pods.ts';
import {
  ALL_PODS_MIB,
  bringImage,
  endlessPod,
  fillRest,
  hasImage,
  images,
  MEMORY,
  notices,
  once,
  REST,
  shortVmNode,
  stallingPod,
  startNearThresholds,
  startWithNotices,
} from './short-node.ts';

let node: VmNode;

beforeAll(async () => {
  node = await startVmNode({ cgroupDriver: 'systemd' });
}, 900_000);

afterAll(async () => {
  await node[Symbol.asyncDispose]();
});
oneAfterAnother(() => node);

/** Returns the files of a pod's cgroup, by name. */
async function cgroupOf(pod: string, ...files: readonly string[]): Promise<readonly string[]> {
  const found = (await node.pods()).find(({ metadata }) => metadata?.name === pod);
  const uid = (found?.metadata?.uid ?? '').replaceAll('-', '_');
  const paths = files.map((file) => `"$folder/${file}"`).join(' ');
  const text = await node.vm.sh(`folder=$(find /sys/fs/cgroup -type d -name '*-pod${uid}.slice')
    echo "\${folder#/sys/fs/cgroup}"; cat ${paths}`);
  return text.trim().split('\n');
}

const phaseOf = async (name: string): Promise<string | undefined> => {
  const found = (await node.pods()).find(({ metadata }) => metadata?.name === name);
  return found?.status?.phase;
};

describe('a node that runs short', () => {
  test('evicts pods that fill the disk after the grace period, until the minimum reclaim is available', async () => {
    await startNearThresholds(node);
    await takesIt(shortVmNode(node), MODEST);
    expect(await whoEnds(shortVmNode(node), DISK_TAKERS, DISK_GRACE_MS)).toEqual(['greedy', 'second']);
  });

  test('evicts the pod that uses up the inodes', async () => {
    expect(await whoEnds(shortVmNode(node), INODES_TAKERS)).toEqual(['files']);
  });

  test('evicts the pod that uses up the process numbers', async () => {
    expect(await whoEnds(shortVmNode(node), [forks('forks', 500)])).toEqual(['forks']);
  });

  test('deletes an unused image, and evicts no pod if that is enough', async () => {
    const isThere = (): Promise<boolean> => hasImage(node);
    await bringImage(node);
    const who = await whoEndsBesideImage(shortVmNode(node), () => fillRest(node), isThere);
    expect(who).toEqual([]);
    await node.vm.run(['rm', REST]);
    await node.remove('second', 'greedy', 'files', 'forks');
  });

  test('deletes an image beyond the disk’s threshold, and none in use', async () => {
    await bringImage(node);
    await startWithNotices(node);
    await eventually(async () => !(await hasImage(node)), LOOKS);
    expect(await phaseOf(MODEST.name)).toBe('Running');
    expect(await images(node)).toContain('busybox');
  });
});

describe('pods in cgroups of version 2, created by systemd', () => {
  test('have slices below that of their class, with their limits', async () => {
    const guaranteed = { cpu: '500m', memory: '100Mi' };
    await node.apply(
      memoryHog('guaranteed', 50, { limits: guaranteed, requests: guaranteed }),
      memoryHog('burstable', 40, { requests: { memory: '30Mi' } }),
    );
    for (const name of ['guaranteed', 'burstable']) await node.said(name, 'took it');
    const [path, ...limits] = await cgroupOf('guaranteed', 'memory.max', 'cpu.max');
    expect(path).toMatch(/^\/[a-z]+\.slice\/[a-z]+-pod[0-9a-f_]+\.slice$/);
    expect(limits).toEqual([String(100 * 1024 * 1024), '50000 100000']);
    const [burstable, most] = await cgroupOf('burstable', 'memory.max');
    expect(burstable).toMatch(
      /^\/[a-z]+\.slice\/[a-z]+-burstable\.slice\/[a-z]+-burstable-pod[0-9a-f_]+\.slice$/,
    );
    expect(most).toBe('max');
    const all = await node.vm.sh(`cat /sys/fs/cgroup/${path?.split('/')[1]}/memory.max`);
    expect(Number(all) / 1024 / 1024).toBeCloseTo(ALL_PODS_MIB, -1);
  });

  test('report OOM kills at their limit', async () => {
    await node.apply(endlessPod('endless'));
    await eventually(
      async () =>
        (await node.events('endless')).find((message) =>
          /^The kernel killed process tail \(\d+\) of container main: its memory limit was reached$/.test(
            message,
          ),
        ),
      LOOKS,
    );
    const ended = await eventually(async () => {
      const pod = (await node.pods()).find(({ metadata }) => metadata?.name === 'endless');
      return pod?.status?.containerStatuses?.find(({ name }) => name === 'main')?.state?.terminated;
    }, LOOKS);
    expect(ended).toMatchObject({ exitCode: 137, reason: 'OOMKilled' });
    await node.remove('endless');
  });

  test('wake the agent when they wait for memory, which alone evicts no pod', async () => {
    const before = await notices(node);
    await node.apply(stallingPod('stalling'));
    await eventually(async () => (await notices(node)) > before, LOOKS);
    await node.remove('stalling');
    expect(await phaseOf('stalling')).not.toBe('Failed');
  });

  test('lose only the one that exceeds its requests, long before the next period', async () => {
    const before = (await evicted(shortVmNode(node))).length;
    const condition = await conditionOf(shortVmNode(node), MEMORY);
    await node.apply(once(memoryHog('best-effort', 350)));
    const { status } = await isGivenUp(shortVmNode(node), 'best-effort');
    expect(status?.message).toContain('The node was low on resource: memory.');
    await condition.begins();
    await condition.ends();
    expect((await evicted(shortVmNode(node))).slice(before)).toEqual(['best-effort']);
    expect([await phaseOf('guaranteed'), await phaseOf('burstable')]).toEqual(['Running', 'Running']);
  });

  test('leave no cgroup behind', async () => {
    await node.remove('guaranteed', 'burstable', 'best-effort', MODEST.name);
    await eventually(async () => (await node.pods()).length === 0, LOOKS);
    const left = (): Promise<string> => node.vm.sh("find /sys/fs/cgroup -type d -name '*-pod*.slice'");
    await eventually(async () => (await left()) === '', LOOKS);
    expect(await left()).toBe('');
  });
});
