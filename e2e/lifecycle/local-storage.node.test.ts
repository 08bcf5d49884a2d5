/** Eviction of pods that exceed their limits of local storage. */
import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import type { Summary } from '#api/gen/stats-v1alpha1.ts';
import { isReady } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import { holds, pod, sh, startHarness, useHarness } from './support.ts';

const isFailed = ({ status }: Pod): boolean => status?.phase === 'Failed';
const volumeMounts = [
  { name: 'small', mountPath: '/small' },
  { name: 'memory', mountPath: '/memory' },
];
/** Writes, and then ignores SIGTERM. */
const fill = (mebibytes: number): string =>
  `dd if=/dev/zero of=/small/x bs=1M count=${mebibytes} 2>/dev/null; dd if=/dev/zero of=/memory/x bs=1M count=9 2>/dev/null; sleep 1000`;

const manifest = (name: string, script: string, terminationGracePeriodSeconds = 0): string =>
  pod(name, {
    terminationGracePeriodSeconds,
    volumes: [
      { name: 'small', emptyDir: { sizeLimit: '3Mi' } },
      { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
    ],
    containers: [sh('c', `trap "" TERM; ${script}`, { volumeMounts })],
  });

describe('emptyDir volumes with limits', () => {
  const harness = useHarness(['--volume-stats-agg-period=1s']);

  test('a pod whose volume exceeds its limit is evicted, and stays so until its manifest changes', async () => {
    await harness.agent.put('modest.json', manifest('modest', fill(2)));
    const modest = await harness.agent.waitFor('modest', isReady);
    // Longer than the test: a pod that is over its limit does not get it.
    await harness.agent.put('greedy.json', manifest('greedy', fill(5), 300));
    const greedy = await harness.agent.waitFor('greedy', isFailed);
    const message = 'Usage of EmptyDir volume "small" exceeds the limit "3Mi". ';
    expect(greedy.status).toMatchObject({ phase: 'Failed', reason: 'Evicted', message });
    await harness.event('greedy', 'Evicted', /^Usage of EmptyDir volume "small" exceeds the limit "3Mi"\. $/);
    const ended = await harness.agent.waitFor(
      'greedy',
      ({ status }) => status?.containerStatuses?.[0]?.state?.terminated !== undefined,
    );
    expect(ended.status?.containerStatuses?.[0]?.restartCount).toBe(0);

    await harness.agent.stop('SIGKILL');
    await harness.agent.start();
    const still = await harness.agent.waitFor('greedy', isFailed);
    expect(still.status).toMatchObject({ reason: 'Evicted', message });
    const others = await harness.agent.waitFor('modest', isReady);
    expect(others.status?.containerStatuses).toEqual(modest.status?.containerStatuses);

    await harness.agent.put('greedy.json', manifest('greedy', fill(1)));
    const again = await harness.agent.waitFor('greedy', isReady);
    expect(again.metadata?.uid).not.toBe(greedy.metadata?.uid);
  });
});

describe('ephemeral-storage limits', () => {
  const harness = useHarness(['--volume-stats-agg-period=1s']);

  const limited = (name: string, script: string, limit: string, more: object = {}) =>
    sh(name, `trap "" TERM; ${script}; sleep 1000`, {
      resources: { limits: { 'ephemeral-storage': limit } },
      ...more,
    });
  const write = (path: string, mebibytes: number): string =>
    `dd if=/dev/zero of=${path} bs=1M count=${mebibytes} 2>/dev/null`;

  test('a pod is evicted if a container, or all of it, exceeds its limit; others keep running', async () => {
    const mounts = { volumeMounts: [{ name: 'v', mountPath: '/v' }] };
    await harness.agent.put(
      'modest.json',
      pod('modest', { containers: [limited('c', write('/x', 1), '8Mi')] }),
    );
    await harness.agent.put(
      'layer.json',
      pod('layer', { containers: [limited('c', write('/x', 5), '3Mi')] }),
    );
    // CVE-2020-8557: the file belongs to the agent, and containers may write it.
    await harness.agent.put(
      'hosts.json',
      pod('hosts', { containers: [limited('c', write('/etc/hosts', 5), '3Mi')] }),
    );
    await harness.agent.put(
      'log.json',
      pod('log', {
        containers: [
          limited('c', 'yes 0123456789012345678901234567890123456789 | head -n 60000', '2Mi'),
          limited('d', 'true', '20Mi'),
        ],
      }),
    );
    await harness.agent.put(
      'sum.json',
      pod('sum', {
        volumes: [{ name: 'v', emptyDir: {} }],
        containers: [limited('a', write('/v/x', 6), '2Mi', mounts), limited('b', 'true', '3Mi')],
      }),
    );
    const ends = async (name: string, message: string): Promise<void> => {
      const { status } = await harness.agent.waitFor(name, isFailed, 40_000);
      expect(status).toMatchObject({ phase: 'Failed', reason: 'Evicted', message });
    };
    await ends('log', 'Container c exceeded its local ephemeral storage limit "2Mi". ');
    await ends('sum', 'Pod ephemeral local storage usage exceeds the total limit of containers 5Mi. ');
    await ends('hosts', 'Pod ephemeral local storage usage exceeds the total limit of containers 3Mi. ');
    await ends('layer', 'Pod ephemeral local storage usage exceeds the total limit of containers 3Mi. ');
    expect((await harness.agent.pod('modest'))?.status?.phase).toBe('Running');
  });
});

test('limits are not enforced if that is disabled', async () => {
  await using harness = await startHarness([
    '--volume-stats-agg-period=1s',
    '--feature-gates=LocalStorageCapacityIsolation=false,SizeMemoryBackedVolumes=false',
  ]);
  await harness.agent.put('greedy.json', manifest('greedy', fill(5)));
  const greedy = await harness.agent.waitFor('greedy', isReady);
  // The limit is not the size of the file system, which has space for all of it.
  expect(
    await harness.exec(greedy, 'c', 'while ! [ -s /memory/x ]; do sleep 0.05; done; df -m /memory | tail -1'),
  ).not.toMatch(/ 1 +[01] /);
  await eventually(
    async () => {
      const { pods } = (await harness.agent.get('/stats/summary')) as Summary;
      return pods[0]?.volume?.some(({ name, usedBytes = 0 }) => name === 'small' && usedBytes > 3 * 2 ** 20);
    },
    { timeoutMs: 30_000, what: 'the usage of the volume is reported' },
  );
  await holds(async () => (await harness.agent.pod('greedy'))?.status?.phase === 'Running', 1500);
});
