/** What `nodeagent top` shows: the node with its thresholds as gauges, and the pods. Pure. */
import { value as quantityValue } from '#api/meta/quantity.ts';
import type { FsStats, NodeStats, PodStats, Summary } from '#api/schema/gen/stats-v1alpha1.ts';
import { formatSince } from './duration.ts';
import { formatTable } from './table.ts';

export const SORT_KEYS = ['cpu', 'memory', 'storage', 'name'] as const;
export type SortKey = (typeof SORT_KEYS)[number];

export interface TopOptions {
  /** Processors of the node. */
  readonly cores: number;
  /** By signal, as the configuration has them: `100Mi`, `10%`. */
  readonly thresholds: Readonly<Record<string, string>>;
  /** Of the node, that say what it is short of. */
  readonly conditions: readonly string[];
  readonly sort: SortKey;
  readonly namespace: string | undefined;
  /** A line for each container too. */
  readonly containers: boolean;
}

const UNITS = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi'];

/** `1.5Gi`; three digits are enough to compare. */
export function formatBytes(bytes: number | undefined): string {
  if (bytes === undefined) return '-';
  let amount = Math.max(0, bytes);
  let unit = 0;
  while (amount >= 1000 && unit < UNITS.length - 1) {
    amount /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || amount >= 10 ? 0 : 1;
  return `${amount.toFixed(digits)}${UNITS[unit]}`;
}

const formatCpu = (nanoCores: number | undefined): string =>
  nanoCores === undefined ? '-' : `${Math.round(nanoCores / 1e6)}m`;

const formatCount = (count: number | undefined): string => (count === undefined ? '-' : String(count));

interface Gauge {
  readonly name: string;
  /** Signal of eviction that goes with it. */
  readonly signal: string;
  readonly available: number;
  readonly capacity: number;
  readonly format: (amount: number) => string;
}

const BAR_WIDTH = 30;

/** What has to be left, in the gauge's unit; undefined for what is no threshold. */
function thresholdOf({ signal, capacity }: Gauge, thresholds: TopOptions['thresholds']): number | undefined {
  const text = thresholds[signal];
  // These two turn a threshold off.
  if (text === undefined || text === '0%' || text === '100%') return undefined;
  try {
    const limit = text.endsWith('%') ? (Number(text.slice(0, -1)) / 100) * capacity : quantityValue(text);
    return Number.isFinite(limit) ? limit : undefined;
  } catch {
    return undefined;
  }
}

/** `[#####------!---]`: what is used, and where eviction begins. */
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
  // What matters most comes first: a narrow terminal shows no more.
  const word = threshold !== undefined && available < threshold ? 'REACHED' : 'evicts';
  const warning = threshold === undefined ? '' : `${word} below ${thresholds[signal] ?? ''} of ${signal}`;
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
    const space = { available: availableBytes, capacity: capacityBytes, format: formatBytes };
    found.push({ name, signal: `${signal}.available`, ...space });
  }
  if (inodes !== undefined && inodesFree !== undefined && inodes > 0) {
    const space = { available: inodesFree, capacity: inodes, format: formatCount };
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
            available: cores * 1e9 - cpu.usageNanoCores,
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
            available: availableBytes,
            capacity: availableBytes + workingSetBytes,
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
            available: maxpid - curproc,
            capacity: maxpid,
            format: formatCount,
          },
        ]),
  ];
}

/** Largest first, names the other way round. */
const ORDERS: Readonly<Record<SortKey, (pod: PodStats) => number>> = {
  cpu: ({ cpu }) => -(cpu?.usageNanoCores ?? 0),
  memory: ({ memory }) => -(memory?.workingSetBytes ?? 0),
  storage: (pod) => -(pod['ephemeral-storage']?.usedBytes ?? 0),
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
    formatBytes((container.rootfs?.usedBytes ?? 0) + (container.logs?.usedBytes ?? 0)),
  ]);
  return [row, ...containers];
}

/** Lines without an end. */
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

/** The lines on a cleared screen, as many and as much of each as there is room for. */
export function screenOf(
  lines: readonly string[],
  { columns, rows }: { readonly columns: number; readonly rows: number },
): string {
  const fitting = lines.slice(0, Math.max(1, rows - 1)).map((line) => `${line.slice(0, columns)}\u001B[K`);
  return `\u001B[H${fitting.join('\r\n')}\r\n\u001B[J`;
}
