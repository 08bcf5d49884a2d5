/** Pods that take more of the node's disk than they may. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import type { Summary } from '#api/schema/gen/stats-v1alpha1.ts';
import { isReady } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import { type Bench, holds, pod, sh, startBench } from './support.ts';

const isFailed = ({ status }: Pod): boolean => status?.phase === 'Failed';
const volumeMounts = [
  { name: 'small', mountPath: '/small' },
  { name: 'memory', mountPath: '/memory' },
];
/** Writes, and then does not end when told to. */
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
  let bench: Bench;
  beforeAll(async () => {
    bench = await startBench(['--volume-stats-agg-period=1s']);
  });
  afterAll(() => bench[Symbol.asyncDispose]());

  test('a pod whose volume outgrows its limit ends, and stays ended until its manifest changes', async () => {
    await bench.agent.put('modest.json', manifest('modest', fill(2)));
    const modest = await bench.agent.waitFor('modest', isReady);
    // Longer than the test: a pod that is over its limit does not get it.
    await bench.agent.put('greedy.json', manifest('greedy', fill(5), 300));
    const greedy = await bench.agent.waitFor('greedy', isFailed);
    const message = 'Usage of EmptyDir volume "small" exceeds the limit "3Mi". ';
    expect(greedy.status).toMatchObject({ phase: 'Failed', reason: 'Evicted', message });
    await bench.event('greedy', 'Evicted', /^Usage of EmptyDir volume "small" exceeds the limit "3Mi"\. $/);
    const ended = await bench.agent.waitFor(
      'greedy',
      ({ status }) => status?.containerStatuses?.[0]?.state?.terminated !== undefined,
    );
    expect(ended.status?.containerStatuses?.[0]?.restartCount).toBe(0);

    await bench.agent.stop('SIGKILL');
    await bench.agent.start();
    const still = await bench.agent.waitFor('greedy', isFailed);
    expect(still.status).toMatchObject({ reason: 'Evicted', message });
    const others = await bench.agent.waitFor('modest', isReady);
    expect(others.status?.containerStatuses).toEqual(modest.status?.containerStatuses);

    await bench.agent.put('greedy.json', manifest('greedy', fill(1)));
    const again = await bench.agent.waitFor('greedy', isReady);
    expect(again.metadata?.uid).not.toBe(greedy.metadata?.uid);
  });
});

describe('ephemeral-storage limits', () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await startBench(['--volume-stats-agg-period=1s']);
  });
  afterAll(() => bench[Symbol.asyncDispose]());

  const limited = (name: string, script: string, limit: string, more: object = {}) =>
    sh(name, `trap "" TERM; ${script}; sleep 1000`, {
      resources: { limits: { 'ephemeral-storage': limit } },
      ...more,
    });
  const write = (path: string, mebibytes: number): string =>
    `dd if=/dev/zero of=${path} bs=1M count=${mebibytes} 2>/dev/null`;

  test('a pod ends whose container, or all of it, takes more than it may; others run on', async () => {
    const mounts = { volumeMounts: [{ name: 'v', mountPath: '/v' }] };
    await bench.agent.put(
      'modest.json',
      pod('modest', { containers: [limited('c', write('/x', 1), '8Mi')] }),
    );
    await bench.agent.put('layer.json', pod('layer', { containers: [limited('c', write('/x', 5), '3Mi')] }));
    await bench.agent.put(
      'log.json',
      pod('log', {
        containers: [
          limited('c', 'yes 0123456789012345678901234567890123456789 | head -n 60000', '2Mi'),
          limited('d', 'true', '20Mi'),
        ],
      }),
    );
    await bench.agent.put(
      'sum.json',
      pod('sum', {
        volumes: [{ name: 'v', emptyDir: {} }],
        containers: [limited('a', write('/v/x', 6), '2Mi', mounts), limited('b', 'true', '3Mi')],
      }),
    );
    const ends = async (name: string, message: string): Promise<void> => {
      const { status } = await bench.agent.waitFor(name, isFailed, 40_000);
      expect(status).toMatchObject({ phase: 'Failed', reason: 'Evicted', message });
    };
    await ends('log', 'Container c exceeded its local ephemeral storage limit "2Mi". ');
    await ends('sum', 'Pod ephemeral local storage usage exceeds the total limit of containers 5Mi. ');
    await ends('layer', 'Pod ephemeral local storage usage exceeds the total limit of containers 3Mi. ');
    expect((await bench.agent.pod('modest'))?.status?.phase).toBe('Running');
  });
});

test('limits are not kept where that is switched off', async () => {
  await using bench = await startBench([
    '--volume-stats-agg-period=1s',
    '--feature-gates=LocalStorageCapacityIsolation=false,SizeMemoryBackedVolumes=false',
  ]);
  await bench.agent.put('greedy.json', manifest('greedy', fill(5)));
  const greedy = await bench.agent.waitFor('greedy', isReady);
  // Without its limit as the size of the file system, there is room for all of it.
  expect(
    await bench.exec(greedy, 'c', 'while ! [ -s /memory/x ]; do sleep 0.05; done; df -m /memory | tail -1'),
  ).not.toMatch(/ 1 +[01] /);
  await eventually(
    async () => {
      const { pods } = (await bench.agent.get('/stats/summary')) as Summary;
      return pods[0]?.volume?.some(({ name, usedBytes = 0 }) => name === 'small' && usedBytes > 3 * 2 ** 20);
    },
    { timeoutMs: 30_000, what: 'the use of the volume is told' },
  );
  await holds(async () => (await bench.agent.pod('greedy'))?.status?.phase === 'Running', 1500);
});
