import { describe, expect, test } from 'vitest';
import type { Summary } from '#api/gen/stats-v1alpha1.ts';
import { createFakeClock } from '#api/kit/clock.ts';
import type { ObservedContainer, ObservedSandbox } from '../../../observe/types.ts';
import { createCadvisor } from './cadvisor-data.ts';
import { formatFamilies } from './exposition.ts';
import { volumeMetrics } from './volume-metrics.ts';

const time = '2024-01-01T00:00:00Z';
const UID = 'aa-bb';

const summary: Summary = {
  node: {
    nodeName: 'n',
    startTime: time,
    cpu: { time, usageCoreNanoSeconds: 9_000_000_000 },
    memory: { time, workingSetBytes: 70, usageBytes: 80, rssBytes: 60 },
    fs: { time, usedBytes: 5, capacityBytes: 50, inodes: 7, inodesFree: 6 },
  },
  pods: [
    {
      podRef: { name: 'p', namespace: 'ns', uid: UID },
      startTime: time,
      containers: [{ name: 'c', startTime: time, rootfs: { time, usedBytes: 11 } }],
    },
  ],
};

const container = { id: 'c1', podUID: UID, name: 'c', state: 'running', image: 'local/i:1' };
const sandbox = { id: 's1', podUID: UID, ready: true };
const counts = {
  rxPackets: 2,
  rxErrors: 0,
  rxDropped: 0,
  txBytes: 4,
  txPackets: 5,
  txErrors: 0,
  txDropped: 0,
};

/** Subject of a container with its own cgroup, or with an unknown one. */
async function scrape(path: string | undefined): Promise<string> {
  const cadvisor = createCadvisor(
    {
      collect: () => Promise.resolve(summary),
      containers: () => [container as ObservedContainer],
      sandboxes: () => [sandbox as ObservedSandbox],
      networks: { of: () => Promise.resolve([{ name: 'eth0', rxBytes: 1, ...counts }]) },
      cgroups: {
        ofContainer: () =>
          Promise.resolve(path === undefined ? undefined : { version: 2, path, folder: `/cg${path}` }),
      },
      usageOf: (place) =>
        Promise.resolve({
          cpu: { usageNs: place.path.length * 1e9 },
          memory: { workingSetBytes: 3 },
          io: [{ device: '8:1', readBytes: 1, writeBytes: 2, reads: 3, writes: 4 }],
        }),
      readProc: (file) => {
        if (file === '/proc/net/dev') return Promise.resolve('  eth0: 5 0 0 0 0 0 0 0 6 0 0 0 0 0 0 0\n');
        if (file === '/proc/meminfo') return Promise.resolve('MemTotal: 4 kB\nSwapTotal: 1 kB\n');
        if (file === '/sys/dev/block/8:1/uevent') return Promise.resolve('MAJOR=8\nDEVNAME=sda1\n');
        return Promise.reject(new Error(file));
      },
      deviceOf: () => Promise.resolve('8:1'),
      clock: createFakeClock(1000),
    },
    { rootDir: '/r', cores: 2, version: { kernelVersion: '6', osVersion: 'OS', cadvisorVersion: 'v' } },
  );
  return cadvisor();
}

const OF_CONTAINER = 'container="c",id="/pods/aa_bb/c1",image="local/i:1",name="c1",namespace="ns",pod="p"';
const OF_POD = 'container="",id="/pods/aa_bb",image="",name="",namespace="ns",pod="p"';
const OF_MACHINE = 'container="",id="/",image="",name="",namespace="",pod=""';

describe('createCadvisor', () => {
  test('reports containers, their pods and the machine', async () => {
    const lines = new Set((await scrape('/pods/aa_bb/c1')).split('\n'));
    for (const line of [
      `container_cpu_usage_seconds_total{${OF_CONTAINER},cpu="total"} 14 1000`,
      `container_cpu_usage_seconds_total{${OF_POD},cpu="total"} 11 1000`,
      `container_cpu_usage_seconds_total{${OF_MACHINE},cpu="total"} 9 1000`,
      `container_memory_working_set_bytes{${OF_CONTAINER}} 3 1000`,
      `container_spec_memory_limit_bytes{${OF_CONTAINER}} 0 1000`,
      `container_fs_writes_bytes_total{${OF_CONTAINER},device="/dev/sda1"} 2 1000`,
      `container_fs_usage_bytes{${OF_CONTAINER},device="/dev/sda1"} 11 1000`,
      `container_fs_limit_bytes{${OF_MACHINE},device="/dev/sda1"} 50 1000`,
      `container_network_receive_bytes_total{${OF_POD},interface="eth0"} 1 1000`,
      `container_network_transmit_bytes_total{${OF_MACHINE},interface="eth0"} 6 1000`,
      'container_scrape_error 0',
      'machine_cpu_cores 2',
      'machine_memory_bytes 4096',
    ]) {
      expect(lines).toContain(line);
    }
  });

  test('reports no pod statistics from a cgroup of another pod', async () => {
    const text = await scrape('/k8s/c1');
    expect(text).toContain('container_cpu_usage_seconds_total{container="c",id="/k8s/c1"');
    expect(text).not.toContain('container_cpu_usage_seconds_total{container="",id="/k8s"');
    expect(text).toContain('container_network_receive_bytes_total{container="",id="/aa-bb"');
  });

  test('falls back to statistics of the runtime', async () => {
    expect(await scrape(undefined)).toContain('container_fs_usage_bytes{container="c",id="/c1"');
  });
});

test('volumeMetrics reports each claim once', () => {
  const volume = {
    name: 'v',
    pvcRef: { name: 'claim', namespace: 'ns' },
    time,
    usedBytes: 7,
    volumeHealthStats: { abnormal: true },
  };
  const [pod] = summary.pods;
  const pods =
    pod === undefined ? [] : [0, 1].map(() => ({ ...pod, volume: [volume, { name: 'other', time }] }));
  expect(volumeMetrics({ node: summary.node, pods }, 'agent')).toBe(
    `# HELP agent_volume_stats_used_bytes [ALPHA] Number of used bytes in the volume
# TYPE agent_volume_stats_used_bytes gauge
agent_volume_stats_used_bytes{namespace="ns",persistentvolumeclaim="claim"} 7 1704067200000
# HELP agent_volume_stats_health_status_abnormal [ALPHA] Abnormal volume health status. The count is either 1 or 0. 1 indicates the volume is unhealthy, 0 indicates volume is healthy
# TYPE agent_volume_stats_health_status_abnormal gauge
agent_volume_stats_health_status_abnormal{namespace="ns",persistentvolumeclaim="claim"} 1 1704067200000
`,
  );
  expect(volumeMetrics(undefined, 'agent')).toBe('');
});

test('formatFamilies escapes values', () => {
  const family = {
    name: 'm',
    help: 'h',
    type: 'gauge',
    samples: [{ labels: { a: 'x"\\\ny' }, value: 1 }],
  } as const;
  expect(formatFamilies([family])).toBe('# HELP m h\n# TYPE m gauge\nm{a="x\\"\\\\\\ny"} 1\n');
});
