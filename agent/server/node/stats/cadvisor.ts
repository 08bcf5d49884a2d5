/** Formats `/metrics/cadvisor`: containers and pods under the metric names of cAdvisor. Pure.
 *  Source: upstream's container metric families and labels. */

import type { FsStats, NodeStats } from '#api/gen/stats-v1alpha1.ts';
import type { Int64 } from '#api/kit/int64.ts';
import type { CgroupUsage } from './cgroups/usage.ts';
import { type Family, formatFamilies, type Sample } from './exposition.ts';
import type { InterfaceCounts } from './proc.ts';

export interface CadvisorLabels {
  /** Empty for pods and for the machine. */
  readonly container: string;
  /** Path of the cgroup. */
  readonly id: string;
  readonly image: string;
  /** The runtime's id of the container. */
  readonly name: string;
  readonly namespace: string;
  readonly pod: string;
}

/** A container, a pod, or the machine. */
export interface Subject {
  readonly labels: CadvisorLabels;
  readonly usage: CgroupUsage;
  readonly startMs?: number | undefined;
  /** Usage of its file system, and the device. */
  readonly fs?: { readonly device: string; readonly stats: FsStats } | undefined;
  readonly interfaces?: readonly InterfaceCounts[] | undefined;
}

export interface CadvisorData {
  readonly nowMs: number;
  readonly subjects: readonly Subject[];
  /** Returns the name of a device by its numbers. */
  readonly deviceName: (device: string) => string;
  readonly machine: { readonly cores: number; readonly memoryBytes: number; readonly swapBytes: number };
  readonly version: Readonly<Record<'kernelVersion' | 'osVersion' | 'cadvisorVersion', string>>;
}

type Values = (
  subject: Subject,
) => readonly (readonly [Readonly<Record<string, string>>, Int64 | undefined])[];

interface Description {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  readonly values: Values;
}

const counter = (name: string, help: string, values: Values): Description => ({
  name: `container_${name}`,
  help,
  type: 'counter',
  values,
});
const gauge = (name: string, help: string, values: Values): Description => ({
  ...counter(name, help, values),
  type: 'gauge',
});

const one =
  (value: (subject: Subject) => number | undefined): Values =>
  (subject) => [[{}, value(subject)]];

const seconds = (ns: number | undefined): number | undefined => (ns === undefined ? undefined : ns / 1e9);

const CPU: readonly Description[] = [
  counter('cpu_usage_seconds_total', 'Cumulative cpu time consumed in seconds.', ({ usage }) => [
    [{ cpu: 'total' }, seconds(usage.cpu.usageNs)],
  ]),
  counter(
    'cpu_user_seconds_total',
    'Cumulative user cpu time consumed in seconds.',
    one(({ usage }) => seconds(usage.cpu.userNs)),
  ),
  counter(
    'cpu_system_seconds_total',
    'Cumulative system cpu time consumed in seconds.',
    one(({ usage }) => seconds(usage.cpu.systemNs)),
  ),
  counter(
    'cpu_cfs_periods_total',
    'Number of elapsed enforcement period intervals.',
    one(({ usage }) => usage.cpu.periods),
  ),
  counter(
    'cpu_cfs_throttled_periods_total',
    'Number of throttled period intervals.',
    one(({ usage }) => usage.cpu.throttledPeriods),
  ),
  counter(
    'cpu_cfs_throttled_seconds_total',
    'Total time duration the container has been throttled.',
    one(({ usage }) => seconds(usage.cpu.throttledNs)),
  ),
];

const memoryGauge = (name: string, help: string, key: keyof CgroupUsage['memory']): Description =>
  gauge(
    `memory_${name}`,
    help,
    one(({ usage }) => usage.memory[key]),
  );

const MEMORY: readonly Description[] = [
  memoryGauge('usage_bytes', 'Current memory usage in bytes, including all memory.', 'usageBytes'),
  memoryGauge('working_set_bytes', 'Current working set in bytes.', 'workingSetBytes'),
  memoryGauge('rss', 'Size of RSS in bytes.', 'rssBytes'),
  memoryGauge('cache', 'Number of bytes of page cache memory.', 'cacheBytes'),
  memoryGauge('swap', 'Container swap usage in bytes.', 'swapBytes'),
  memoryGauge('mapped_file', 'Size of memory mapped files in bytes.', 'mappedBytes'),
  memoryGauge('max_usage_bytes', 'Maximum memory usage recorded in bytes.', 'maxUsageBytes'),
  counter(
    'memory_failcnt',
    'Number of memory usage hits limits.',
    one(({ usage }) => usage.memory.limitHits),
  ),
  counter('memory_failures_total', 'Cumulative count of memory allocation failures.', ({ usage }) => [
    [{ failure_type: 'pgfault', scope: 'hierarchy' }, usage.memory.pageFaults],
    [{ failure_type: 'pgmajfault', scope: 'hierarchy' }, usage.memory.majorPageFaults],
  ]),
  counter(
    'oom_events_total',
    'Count of out of memory events observed for the container.',
    one(({ usage }) => usage.memory.oomKills),
  ),
];

type FsKey = 'usedBytes' | 'capacityBytes' | 'inodes' | 'inodesFree';

const fsGauge = (name: string, help: string, key: FsKey): Description =>
  gauge(`fs_${name}`, help, ({ fs }) => (fs === undefined ? [] : [[{ device: fs.device }, fs.stats[key]]]));

function fsFamilies(deviceName: CadvisorData['deviceName']): readonly Description[] {
  type Key = 'readBytes' | 'writeBytes' | 'reads' | 'writes';
  const io = (name: string, help: string, key: Key): Description =>
    counter(`fs_${name}_total`, help, ({ usage }) =>
      usage.io.map((each) => [{ device: deviceName(each.device) }, each[key]]),
    );
  return [
    fsGauge(
      'usage_bytes',
      'Number of bytes that are consumed by the container on this filesystem.',
      'usedBytes',
    ),
    fsGauge('limit_bytes', 'Number of bytes that can be consumed on this filesystem.', 'capacityBytes'),
    fsGauge('inodes_total', 'Number of Inodes.', 'inodes'),
    fsGauge('inodes_free', 'Number of available Inodes.', 'inodesFree'),
    io('reads_bytes', 'Cumulative count of bytes read.', 'readBytes'),
    io('writes_bytes', 'Cumulative count of bytes written.', 'writeBytes'),
    io('reads', 'Cumulative count of reads completed.', 'reads'),
    io('writes', 'Cumulative count of writes completed.', 'writes'),
  ];
}

type NetKey = Exclude<keyof InterfaceCounts, 'name'>;

const net = (name: string, help: string, key: NetKey): Description =>
  counter(`network_${name}_total`, help, ({ interfaces = [] }) =>
    interfaces.map((each) => [{ interface: each.name }, each[key]]),
  );

const NETWORK: readonly Description[] = [
  net('receive_bytes', 'Cumulative count of bytes received.', 'rxBytes'),
  net('receive_packets', 'Cumulative count of packets received.', 'rxPackets'),
  net('receive_errors', 'Cumulative count of errors encountered while receiving.', 'rxErrors'),
  net('receive_packets_dropped', 'Cumulative count of packets dropped while receiving.', 'rxDropped'),
  net('transmit_bytes', 'Cumulative count of bytes transmitted.', 'txBytes'),
  net('transmit_packets', 'Cumulative count of packets transmitted.', 'txPackets'),
  net('transmit_errors', 'Cumulative count of errors encountered while transmitting.', 'txErrors'),
  net('transmit_packets_dropped', 'Cumulative count of packets dropped while transmitting.', 'txDropped'),
];

/** Monitors expect 0 for a container without a limit. */
const limitOf = ({ labels, usage }: Subject): number | undefined =>
  labels.container === '' ? usage.memory.limitBytes : (usage.memory.limitBytes ?? 0);

const facts = (nowMs: number): readonly Description[] => [
  gauge(
    'last_seen',
    'Last time a container was seen by the exporter.',
    one(() => Math.floor(nowMs / 1000)),
  ),
  gauge(
    'processes',
    'Number of processes running inside the container.',
    one(({ usage }) => usage.processes),
  ),
  gauge(
    'start_time_seconds',
    'Start time of the container since unix epoch in seconds.',
    one(({ startMs }) => (startMs === undefined ? undefined : startMs / 1000)),
  ),
  gauge(
    'spec_cpu_period',
    'CPU period of the container.',
    one(({ usage }) => usage.cpu.periodUs),
  ),
  gauge(
    'spec_cpu_quota',
    'CPU quota of the container.',
    one(({ usage }) => usage.cpu.quotaUs),
  ),
  gauge(
    'spec_cpu_shares',
    'CPU share of the container.',
    one(({ usage }) => usage.cpu.shares),
  ),
  gauge('spec_memory_limit_bytes', 'Memory limit for the container.', one(limitOf)),
];

const single = (name: string, help: string, value: number, labels: Sample['labels'] = {}): Family => ({
  name,
  help,
  type: 'gauge',
  samples: [{ labels, value }],
});

export function cadvisorMetrics(data: CadvisorData): string {
  const { nowMs, subjects, deviceName, machine, version } = data;
  const { kernelVersion, osVersion, cadvisorVersion } = version;
  const descriptions = [...CPU, ...MEMORY, ...fsFamilies(deviceName), ...NETWORK, ...facts(nowMs)];
  const families = descriptions.map(
    ({ name, help, type, values }): Family => ({
      name,
      help,
      type,
      samples: subjects.flatMap((subject) =>
        values(subject).map(([more, value]) => ({
          labels: { ...subject.labels, ...more },
          value,
          atMs: nowMs,
        })),
      ),
    }),
  );
  return formatFamilies([
    single(
      'cadvisor_version_info',
      'Versions of the kernel, the operating system and the exporter of these metrics.',
      1,
      {
        cadvisorRevision: '',
        cadvisorVersion,
        dockerVersion: '',
        kernelVersion,
        osVersion,
      },
    ),
    ...families,
    single(
      'container_scrape_error',
      '1 if there was an error while getting container metrics, 0 otherwise',
      0,
    ),
    single('machine_cpu_cores', 'Number of logical CPU cores.', machine.cores),
    single('machine_memory_bytes', 'Amount of memory installed on the machine.', machine.memoryBytes),
    single('machine_swap_bytes', 'Amount of swap memory available on the machine.', machine.swapBytes),
  ]);
}

/** Converts summary statistics to the form of cgroup statistics. */
export function usageOfStats(
  { cpu, memory }: Pick<NodeStats, 'cpu' | 'memory'>,
  processes?: number,
): CgroupUsage {
  const { usageCoreNanoSeconds: usageNs } = cpu ?? {};
  const { usageBytes, workingSetBytes, rssBytes } = memory ?? {};
  return {
    cpu: usageNs === undefined ? {} : { usageNs: Number(usageNs) },
    memory: {
      ...(usageBytes === undefined ? {} : { usageBytes: Number(usageBytes) }),
      ...(workingSetBytes === undefined ? {} : { workingSetBytes: Number(workingSetBytes) }),
      ...(rssBytes === undefined ? {} : { rssBytes: Number(rssBytes) }),
    },
    io: [],
    ...(processes === undefined ? {} : { processes }),
  };
}
