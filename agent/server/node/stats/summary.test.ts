import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { createFakeClock } from '#api/kit/clock.ts';
import type { ContainerStats as CriStats } from '#cri/gen/cri-v1.ts';
import type { UsageFigures } from '#volumes/usage/disk-usage.ts';
import type { ObservedContainer, ObservedSandbox } from '../../../observe/types.ts';
import { resourceMetrics } from './resource-metrics.ts';
import { createSummary } from './summary.ts';

const SPACE = { capacityBytes: 100, availableBytes: 60, usedBytes: 40, inodes: 10, inodesFree: 7 };
const PROC: Readonly<Record<string, string>> = {
  '/proc/meminfo':
    'MemTotal: 8 kB\nMemFree: 2 kB\nMemAvailable: 4 kB\nAnonPages: 1 kB\nSwapTotal: 4 kB\nSwapFree: 3 kB\n',
  '/proc/vmstat': 'nr_free_pages 1\npgfault 21\npgmajfault 22\n',
  '/proc/net/dev': '  eth0: 5 0 0 0 0 0 0 0 6 0 0 0 0 0 0 0\n',
  '/proc/loadavg': '0 0 0 1/321 9\n',
  '/proc/sys/kernel/pid_max': '4096\n',
};

const container = { id: 'c1', podUID: 'u', name: 'c', state: 'running', startedAtMs: 1000, createdAtMs: 900 };
const sandbox = { id: 's1', podUID: 'u', podName: 'p', podNamespace: 'ns', ready: true, createdAtMs: 800 };
const pod: Pod = {
  metadata: { name: 'p', namespace: 'ns', uid: 'u' },
  spec: {
    containers: [],
    volumes: [
      { name: 'scratch', emptyDir: {} },
      { name: 'kept', persistentVolumeClaim: { claimName: 'claim' } },
      { name: 'made', ephemeral: {} },
    ],
  },
};

const figures = (of: 'volume' | 'log', name: string, usedBytes: number, isOwnFs = false): UsageFigures => ({
  podUID: 'u',
  of,
  name,
  source: '',
  usedBytes,
  inodesUsed: 1,
  space: SPACE,
  isOwnFs,
  atMs: 500,
});

function setUp(systemCgroups: readonly { readonly name: string; readonly path: string }[] = []) {
  const clock = createFakeClock(10_000);
  let ticks = 100;
  let looks = 0;
  const stats = (): CriStats => {
    const timestamp = BigInt(clock.now()) * 1_000_000n;
    const n = (value: number) => ({ value: BigInt(value) });
    const cpu = { timestamp, usageCoreNanoSeconds: n(clock.now() * 500_000), usageNanoCores: undefined };
    const memory = { timestamp, workingSetBytes: n(7), usageBytes: n(9), rssBytes: n(5) };
    const writableLayer = { timestamp, usedBytes: n(30), inodesUsed: n(3) };
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- stats of a runtime with few fields
    return { attributes: { id: 'c1' }, cpu, memory, writableLayer } as unknown as CriStats;
  };
  const collect = createSummary(
    {
      runtime: {
        listContainerStats() {
          looks += 1;
          return Promise.resolve({ stats: [stats()] });
        },
      },
      images: { imageFsInfo: () => Promise.reject(new Error('none')) },
      container: (id) => (id === 'c1' ? (container as ObservedContainer) : undefined),
      sandboxes: () => [sandbox as ObservedSandbox],
      pod: () => pod,
      readProc(path) {
        ticks += 100;
        return Promise.resolve(path === '/proc/stat' ? `cpu  ${ticks} 0 0 0\nbtime 1\n` : (PROC[path] ?? ''));
      },
      spaceOf: () => Promise.resolve(SPACE),
      own: () => ({ cpuNs: 3, rssBytes: 4, startMs: 100 }),
      disk: {
        of: () => [
          figures('volume', 'scratch', 20),
          figures('volume', 'kept', 70, true),
          figures('volume', 'made', 80, true),
          figures('log', 'c', 2),
        ],
        refresh: () => Promise.resolve(),
      },
      networks: { of: () => Promise.resolve(undefined), keep: () => undefined },
      cgroups: {
        ofContainer: () => Promise.resolve({ version: 2, path: '/c1', folder: '/cg/c1' }),
        at: (path) => Promise.resolve({ version: 2, path, folder: path }),
        keep: () => undefined,
      },
      usageOf: ({ path }) =>
        Promise.resolve(
          path === '/none'
            ? { cpu: {}, memory: {}, io: [] }
            : {
                cpu: { usageNs: 11 },
                memory: { workingSetBytes: 12, limitBytes: 20, swapBytes: 13 },
                io: [],
              },
        ),
      processesIn: () => Promise.resolve(3),
      keepProcesses: () => undefined,
      clock,
    },
    { nodeName: 'n', rootDir: '/r', agentName: 'agent', systemCgroups },
  );
  return { clock, collect, looks: () => looks };
}

describe('createSummary', () => {
  test('has samples with their times to the millisecond: scrapes may be little more than a second apart', async () => {
    const { clock, collect } = setUp();
    const samples = async (): Promise<readonly number[]> => {
      const text = resourceMetrics(await collect('totals'));
      return [...text.matchAll(/_cpu_usage_seconds_total\S* \S+ (\d+)$/gm)].map(([, at]) => Number(at));
    };
    await clock.advance(111);
    const first = await samples();
    await clock.advance(1234);
    const second = await samples();
    expect(first.length).toBeGreaterThan(2);
    expect(second).toEqual(first.map((at) => at + 1234));
  });

  test('samples twice for rates after a long gap, and once after a recent sample', async () => {
    const { clock, collect, looks } = setUp();
    expect((await collect('totals')).node.cpu?.usageNanoCores).toBeUndefined();
    const asked = collect();
    await clock.advance(0);
    await clock.advance(1000);
    const { node, pods } = await asked;
    expect(looks()).toBe(2);
    expect(node.cpu?.usageNanoCores).toBeGreaterThan(0);
    // Half a CPU, by the timestamps of the runtime.
    expect(pods[0]?.containers[0]?.cpu?.usageNanoCores).toBe(500_000_000);
    expect(pods[0]?.cpu?.usageNanoCores).toBe(500_000_000);
    await clock.advance(30_000);
    expect((await collect()).node.cpu?.usageNanoCores).toBeGreaterThan(0);
    expect(looks()).toBe(3);
    await clock.advance(600_000);
    expect((await collect('totals')).node.cpu?.usageNanoCores).toBeUndefined();
    expect(looks()).toBe(4);
  });

  test('reports volumes with their claims, and counts those on the disk of the node', async () => {
    const [stats] = (await setUp().collect('totals')).pods;
    expect(stats?.volume?.map(({ name, usedBytes, pvcRef }) => [name, usedBytes, pvcRef?.name])).toEqual([
      ['scratch', 20, undefined],
      ['kept', 70, 'claim'],
      ['made', 80, 'p-made'],
    ]);
    expect(stats?.['ephemeral-storage']).toMatchObject({ usedBytes: 30 + 20 + 2, capacityBytes: 100 });
    expect(stats?.containers[0]?.logs).toMatchObject({ usedBytes: 2, availableBytes: 60 });
    expect(stats?.process_stats).toEqual({ process_count: 3 });
    expect(stats?.memory).toMatchObject({ workingSetBytes: 7, usageBytes: 9, rssBytes: 5 });
    expect(stats?.memory?.availableBytes).toBeUndefined();
    expect(stats?.containers[0]?.swap).toMatchObject({ swapUsageBytes: 13 });
    expect(stats?.swap).toMatchObject({ swapUsageBytes: 13 });
  });

  test('reports the machine, and the agent by its process', async () => {
    const { node } = await setUp().collect('totals');
    expect(node).toMatchObject({
      nodeName: 'n',
      memory: {
        availableBytes: 4096,
        workingSetBytes: 4096,
        usageBytes: 6144,
        rssBytes: 1024,
        pageFaults: 21,
      },
      swap: { swapAvailableBytes: 3072, swapUsageBytes: 1024 },
      network: { name: 'eth0', rxBytes: 5, txBytes: 6 },
      fs: { usedBytes: 40, inodesUsed: 3 },
      rlimit: { maxpid: 4096, curproc: 321 },
    });
    expect(node.systemContainers).toMatchObject([
      { name: 'agent', memory: { rssBytes: 4 } },
      { name: 'pods', memory: { workingSetBytes: 7 } },
    ]);
  });

  test('reports system containers by their configured cgroups', async () => {
    const { node } = await setUp([
      { name: 'agent', path: '/system/agent' },
      { name: 'runtime', path: '/none' },
    ]).collect('totals');
    expect(node.systemContainers).toMatchObject([
      {
        name: 'agent',
        cpu: { usageCoreNanoSeconds: 11 },
        memory: { workingSetBytes: 12, availableBytes: 8 },
      },
      { name: 'pods' },
    ]);
  });
});
