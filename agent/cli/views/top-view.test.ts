import { describe, expect, test } from 'vitest';
import type { PodStats, Summary } from '#api/gen/stats-v1alpha1.ts';
import { formatBar, formatBytes, screenOf, type TopOptions, topLines } from './top-view.ts';

const time = '2024-01-01T00:00:00Z';
const Gi = 1024 ** 3;

const pod = (name: string, cpuMillis: number, memoryBytes: number): PodStats => ({
  podRef: { name, namespace: 'default', uid: name },
  startTime: time,
  containers: [
    {
      name: 'main',
      startTime: time,
      cpu: { time, usageNanoCores: cpuMillis * 1e6 },
      logs: { time, usedBytes: 9 },
    },
  ],
  cpu: { time, usageNanoCores: cpuMillis * 1e6 },
  memory: { time, workingSetBytes: memoryBytes },
  network: { time, name: 'eth0', rxBytes: 2048, txBytes: 5 },
  'ephemeral-storage': { time, usedBytes: 3 * 1024 * 1024 },
  process_stats: { process_count: 4 },
});

const summary: Summary = {
  node: {
    nodeName: 'n1',
    startTime: time,
    cpu: { time, usageNanoCores: 5e8 },
    memory: { time, availableBytes: Gi, workingSetBytes: 3 * Gi },
    fs: { time, availableBytes: 5 * Gi, capacityBytes: 100 * Gi, inodes: 10, inodesFree: 5 },
    rlimit: { time, maxpid: 1000, curproc: 100 },
  },
  pods: [pod('small', 5, Gi), pod('busy', 250, 10)],
};

const options: TopOptions = {
  cores: 2,
  thresholds: { 'memory.available': '100Mi', 'nodefs.available': '10%', 'nodefs.inodesFree': '0%' },
  conditions: [],
  sort: 'cpu',
  namespace: undefined,
  containers: false,
};

const nowMs = Date.parse(time) + 60_000;
const lines = (more: Partial<TopOptions> = {}) =>
  topLines(summary, { ...options, ...more }, nowMs).map((line) => line.replaceAll(/ +/g, ' '));

describe('topLines', () => {
  test('shows the node with gauges and eviction thresholds', () => {
    expect(lines().slice(0, 7)).toEqual([
      'node n1 up 60s 2 pods',
      'cpu [########----------------------] 25% 500m of 2000m',
      'memory [#######################------!] 75% 3.0Gi of 4.0Gi evicts below 100Mi of memory.available',
      'disk [###########################!#-] 95% 95Gi of 100Gi REACHED below 10% of nodefs.available',
      'disk inodes [###############---------------] 50% 5 of 10',
      'processes [###---------------------------] 10% 100 of 1000',
      '',
    ]);
  });

  test('shows node pressure', () => {
    expect(lines({ conditions: ['DiskPressure', 'PIDPressure'] })[0]).toBe(
      'node n1 up 60s 2 pods DiskPressure PIDPressure',
    );
  });

  test('shows the pods by usage', () => {
    expect(lines().slice(7)).toEqual([
      'NAMESPACE NAME CPU MEMORY STORAGE RECEIVED SENT PROCESSES',
      'default busy 250m 10 3.0Mi 2.0Ki 5 4',
      'default small 5m 1.0Gi 3.0Mi 2.0Ki 5 4',
    ]);
    expect(lines({ sort: 'memory' })[8]).toMatch(/^default small/);
    expect(lines({ sort: 'name' })[8]).toMatch(/^default busy/);
    expect(lines({ containers: true })[9]).toBe(' main 250m - 9');
    expect(lines({ namespace: 'other' }).at(-1)).toBe('no pods');
  });

  test('omits unknown values', () => {
    const bare: Summary = { node: { nodeName: 'n', startTime: time }, pods: [] };
    expect(topLines(bare, options, nowMs).at(-1)).toBe('no pods');
  });
});

test.each([
  [0, '0'],
  [999, '999'],
  [1000, '1.0Ki'],
  [10 * 1024, '10Ki'],
  [1.5 * Gi, '1.5Gi'],
  [undefined, '-'],
])('formatBytes(%s) is %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});

test('formatBar marks the limit, at the edges too', () => {
  expect(formatBar(0, 0)).toBe(`[!${'-'.repeat(29)}]`);
  expect(formatBar(1, 1)).toBe(`[${'#'.repeat(29)}!]`);
});

test('screenOf fits the terminal', () => {
  const text = screenOf(['abcdef', 'second', 'third'], { columns: 3, rows: 3 });
  expect(text).toBe('\u001B[Habc\u001B[K\r\nsec\u001B[K\r\n\u001B[J');
});
