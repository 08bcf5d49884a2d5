/** Renders `nodeagent top`: the node with eviction thresholds as gauges, and the pods. Pure. */

import type { FsStats, NodeStats, PodStats, Summary } from '#api/gen/stats-v1alpha1.ts';
import { addInt64, type Int64 } from '#api/kit/int64.ts';
import { value as quantityValue } from '#api/meta/quantity.ts';
import { formatSince } from '../args/duration.ts';
import { formatTable } from './table.ts';

export const SORT_KEYS = ['cpu', 'memory', 'storage', 'name'] as const;
export type SortKey = (typeof SORT_KEYS)[number];

export interface TopOptions {
  /** Number of CPUs of the node. */
  readonly cores: number;
  /** Thresholds by signal, as configured: `100Mi`, `10%`. */
  readonly thresholds: Readonly<Record<string, string>>;
  /** Pressure conditions of the node. */
  readonly conditions: readonly string[];
  readonly sort: SortKey;
  readonly namespace: string | undefined;
  /** Also show a line for each container. */
  readonly containers: boolean;
}

const UNITS = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi'];

/** Formats `1.5Gi`; three digits are enough to compare. */
export function formatBytes(bytes: Int64 | undefined): string {
  if (bytes === undefined) return '-';
  let amount = Math.max(0, Number(bytes));
  let unit = 0;
  while (amount >= 1000 && unit < UNITS.length - 1) {
    amount /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || amount >= 10 ? 0 : 1;
  return `${amount.toFixed(digits)}${UNITS[unit]}`;
}

const formatCpu = (nanoCores: Int64 | undefined): string =>
  nanoCores === undefined ? '-' : `${Math.round(Number(nanoCores) / 1e6)}m`;

const formatCount = (count: Int64 | undefined): string => (count === undefined ? '-' : String(count));

interface Gauge {
  readonly name: string;
  /** Corresponding eviction signal. */
  readonly signal: string;
  readonly available: number;
  readonly capacity: number;
  readonly format: (amount: number) => string;
}

const BAR_WIDTH = 30;

/** Returns the threshold in the unit of the gauge; undefined for a disabled or invalid one. */
function thresholdOf({ signal, capacity }: Gauge, thresholds: TopOptions['thresholds']): number | undefined {
  const text = thresholds[signal];
  // These two values disable a threshold.
  if (text === undefined || text === '0%' || text === '100%') return undefined;
  try {
    const limit = text.endsWith('%') ? (Number(text.slice(0, -1)) / 100) * capacity : quantityValue(text);
    return Number.isFinite(limit) ? limit : undefined;
  } catch {
    return undefined;
  }
}

/** Renders `[#####------!---]`: usage, and the eviction threshold. */
export function formatBar(used: number, limit: number | undefined): string {
  const cells: string[] = Array.from({ length: BAR_WIDTH }, (_, index) =>
    (index + 0.5) / BAR_WIDTH <= used ? '#' : '-',
  );
  if (limit !== undefined) {
    const at = Math.min(BAR_WIDTH - 1, Math.max(0, Math.floor(limit * BAR_WIDTH)));
    cells[at] = '!';
  }
  return `[${cells.join('')}]`;
}

function gaugeRow(gauge: Gauge, thresholds: TopOptions['thresholds']): readonly string[] {
  const { name, signal, available, capacity, format } = gauge;
  const used = Math.min(1, Math.max(0, 1 - available / capacity));
  const threshold = thresholdOf(gauge, thresholds);
  const limit = threshold === undefined ? undefined : 1 - threshold / capacity;
  // The most important part comes first: a narrow terminal cuts off the rest.
  const verb = threshold !== undefined && available < threshold ? 'REACHED' : 'evicts';
  const warning = threshold === undefined ? '' : `${verb} below ${thresholds[signal] ?? ''} of ${signal}`;
  return [
    name,
    formatBar(used, limit),
    `${Math.round(used * 100)}%`,
    `${format(capacity - available)} of ${format(capacity)}`,
    warning,
  ];
}

function fsGauges(name: string, signal: string, fs: FsStats | undefined): readonly Gauge[] {
  const { availableBytes, capacityBytes, inodes, inodesFree } = fs ?? {};
  const found: Gauge[] = [];
  if (availableBytes !== undefined && capacityBytes !== undefined && capacityBytes > 0) {
    const space = { available: Number(availableBytes), capacity: Number(capacityBytes), format: formatBytes };
    found.push({ name, signal: `${signal}.available`, ...space });
  }
  if (inodes !== undefined && inodesFree !== undefined && inodes > 0) {
    const space = { available: Number(inodesFree), capacity: Number(inodes), format: formatCount };
    found.push({ name: `${name} inodes`, signal: `${signal}.inodesFree`, ...space });
  }
  return found;
}

function gauges({ cpu, memory, fs, runtime, rlimit }: NodeStats, cores: number): readonly Gauge[] {
  const { availableBytes, workingSetBytes } = memory ?? {};
  const { maxpid, curproc } = rlimit ?? {};
  return [
    ...(cpu?.usageNanoCores === undefined
      ? []
      : [
          {
            name: 'cpu',
            signal: '',
            available: cores * 1e9 - Number(cpu.usageNanoCores),
            capacity: cores * 1e9,
            format: formatCpu,
          },
        ]),
    ...(availableBytes === undefined || workingSetBytes === undefined
      ? []
      : [
          {
            name: 'memory',
            signal: 'memory.available',
            available: Number(availableBytes),
            capacity: Number(availableBytes) + Number(workingSetBytes),
            format: formatBytes,
          },
        ]),
    ...fsGauges('disk', 'nodefs', fs),
    ...fsGauges('images', 'imagefs', runtime?.imageFs),
    ...(maxpid === undefined || curproc === undefined
      ? []
      : [
          {
            name: 'processes',
            signal: 'pid.available',
            available: Number(maxpid) - Number(curproc),
            capacity: Number(maxpid),
            format: formatCount,
          },
        ]),
  ];
}

/** Sorts the largest first, names in ascending order. */
const ORDERS: Readonly<Record<SortKey, (pod: PodStats) => number>> = {
  cpu: ({ cpu }) => -Number(cpu?.usageNanoCores ?? 0),
  memory: ({ memory }) => -Number(memory?.workingSetBytes ?? 0),
  storage: (pod) => -Number(pod['ephemeral-storage']?.usedBytes ?? 0),
  name: () => 0,
};

const nameOf = ({ podRef }: PodStats): string => `${podRef.namespace}/${podRef.name}`;

const HEADINGS = ['NAMESPACE', 'NAME', 'CPU', 'MEMORY', 'STORAGE', 'RECEIVED', 'SENT', 'PROCESSES'];

function podRows(pod: PodStats, withContainers: boolean): readonly (readonly string[])[] {
  const { podRef, cpu, memory, network, process_stats: processes } = pod;
  const row = [
    podRef.namespace,
    podRef.name,
    formatCpu(cpu?.usageNanoCores),
    formatBytes(memory?.workingSetBytes),
    formatBytes(pod['ephemeral-storage']?.usedBytes),
    formatBytes(network?.rxBytes),
    formatBytes(network?.txBytes),
    formatCount(processes?.process_count),
  ];
  if (!withContainers) return [row];
  const containers = pod.containers.map((container) => [
    '',
    `  ${container.name}`,
    formatCpu(container.cpu?.usageNanoCores),
    formatBytes(container.memory?.workingSetBytes),
    formatBytes(addInt64(container.rootfs?.usedBytes ?? 0, container.logs?.usedBytes ?? 0)),
  ]);
  return [row, ...containers];
}

/** Lines without line breaks. */
export function topLines({ node, pods }: Summary, options: TopOptions, nowMs: number): readonly string[] {
  const { sort, namespace, thresholds, conditions, cores, containers } = options;
  const order = ORDERS[sort];
  const shown = pods
    .filter(({ podRef }) => namespace === undefined || podRef.namespace === namespace)
    .toSorted((a, b) => order(a) - order(b) || (nameOf(a) < nameOf(b) ? -1 : 1));
  const count = `${pods.length} ${pods.length === 1 ? 'pod' : 'pods'}`;
  const table = formatTable(
    [
      `node ${node.nodeName}`,
      `up ${formatSince(node.startTime, nowMs)}`,
      '',
      count,
      conditions.length === 0 ? '' : conditions.join(' '),
    ],
    gauges(node, cores).map((gauge) => gaugeRow(gauge, thresholds)),
  );
  const rows = shown.flatMap((pod) => podRows(pod, containers));
  const text = `${table}\n${rows.length === 0 ? 'no pods\n' : formatTable(HEADINGS, rows)}`;
  return text.trimEnd().split('\n');
}

/** Renders the lines on a cleared screen, cut to its size. */
export function screenOf(
  lines: readonly string[],
  { columns, rows }: { readonly columns: number; readonly rows: number },
): string {
  const fitting = lines.slice(0, Math.max(1, rows - 1)).map((line) => `${line.slice(0, columns)}\u001B[K`);
  return `\u001B[H${fitting.join('\r\n')}\r\n\u001B[J`;
}
