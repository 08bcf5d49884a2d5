/** Limits of pods, of QoS classes and of all pods together, as values of the kernel's files. Pure.
 *  Source: upstream's cgroup manager (`ResourceConfigForPod`, QoS container manager, node allocatable), 1.24;
 *  kernel documentation of cgroup v1 and v2. */
import type { Int64 } from '#api/kit/int64.ts';
import type { QosClass } from '#api/schema/qos-class.ts';
import {
  type Amounts,
  addAmounts,
  bytesOf,
  NO_AMOUNTS,
  quotaOf,
  sharesOf,
} from '../runtime/config/resources.ts';

/** Absent: unlimited. */
export interface CgroupLimits {
  /** Relative weight, in the units of `cpu.shares`: 1024 for a CPU. */
  readonly cpuShares?: bigint;
  readonly cpuQuotaUs?: bigint;
  readonly cpuPeriodUs?: bigint;
  readonly memoryBytes?: bigint;
  /** Memory protected from reclaim. cgroup v2 only. */
  readonly memoryMinBytes?: bigint;
  readonly pids?: bigint;
  /** Huge page limits in bytes by page size, such as `2MB`; other sizes stay as they are. */
  readonly hugePages?: Readonly<Record<string, bigint>>;
}

export interface PodLimitOptions {
  readonly cpuCFSQuota: boolean;
  readonly cpuPeriodUs: bigint;
  /** Maximum number of processes of a pod; negative for no limit. */
  readonly podPidsLimit: Int64;
  /** Whether memory requests are protected from reclaim. */
  readonly memoryQoS: boolean;
}

export interface PodAmounts {
  readonly requests: Amounts;
  readonly limits: Amounts;
  /** Whether every container has such a limit: only then does the pod. */
  readonly limited: { readonly cpu: boolean; readonly memory: boolean };
  readonly hugePages?: CgroupLimits['hugePages'];
}

/** Limits of one pod. */
export function podLimits(
  { requests, limits, limited, hugePages }: PodAmounts,
  { cpuCFSQuota, cpuPeriodUs, podPidsLimit, memoryQoS }: PodLimitOptions,
): CgroupLimits {
  return {
    cpuShares: sharesOf(requests.millicores === 0 ? limits.millicores : requests.millicores),
    ...(limited.cpu && cpuCFSQuota
      ? { cpuQuotaUs: quotaOf(limits.millicores, cpuPeriodUs), cpuPeriodUs }
      : {}),
    ...(limited.memory && limits.memoryBytes > 0 ? { memoryBytes: bytesOf(limits.memoryBytes) } : {}),
    ...(memoryQoS && requests.memoryBytes > 0 ? { memoryMinBytes: bytesOf(requests.memoryBytes) } : {}),
    ...(podPidsLimit > 0 ? { pids: BigInt(podPidsLimit) } : {}),
    ...(hugePages === undefined ? {} : { hugePages }),
  };
}

/** Limits of the class Burstable: its weight is the sum of its requests. */
export function burstableLimits(requests: readonly Amounts[], memoryQoS: boolean): CgroupLimits {
  const { millicores, memoryBytes } = requests.reduce(addAmounts, NO_AMOUNTS);
  return {
    cpuShares: sharesOf(millicores),
    ...(memoryQoS && memoryBytes > 0 ? { memoryMinBytes: bytesOf(memoryBytes) } : {}),
  };
}

/** Limits of the class BestEffort: the minimum weight. */
export const BEST_EFFORT_LIMITS: CgroupLimits = { cpuShares: sharesOf(0) };

/** Limits of both QoS classes. */
export interface ClassLimits {
  readonly burstable: CgroupLimits;
  readonly bestEffort: CgroupLimits;
  /** Memory protection of all pods together; 0 for none. */
  readonly memoryMinBytes: bigint;
}

export interface ClassOptions {
  readonly memoryQoS: boolean;
  /** Percentage of the memory requests of higher classes that is reserved from lower ones, 0 to 100. */
  readonly reservedPercent: number;
  /** Limit of all pods together. */
  readonly allocatableMemoryBytes: number;
}

/** Source: upstream's QoS container manager (`setCPUCgroupConfig`, `setMemoryReserve`, `setMemoryQoS`), 1.24. */
export function classLimits(
  pods: readonly { readonly qos: QosClass; readonly requests: Amounts }[],
  { memoryQoS, reservedPercent, allocatableMemoryBytes }: ClassOptions,
): ClassLimits {
  const of = (qos: QosClass): readonly Amounts[] =>
    pods.filter((pod) => pod.qos === qos).map(({ requests }) => requests);
  const memory = (qos: QosClass): bigint => BigInt(of(qos).reduce(addAmounts, NO_AMOUNTS).memoryBytes);
  const reserved = (qos: QosClass): bigint => (memory(qos) * BigInt(reservedPercent)) / 100n;
  const limit = (bytes: bigint): Pick<CgroupLimits, 'memoryBytes'> =>
    reservedPercent > 0 && allocatableMemoryBytes > 0 ? { memoryBytes: bytes > 0n ? bytes : 0n } : {};
  const forBurstable = BigInt(allocatableMemoryBytes) - reserved('Guaranteed');
  return {
    burstable: { ...burstableLimits(of('Burstable'), memoryQoS), ...limit(forBurstable) },
    bestEffort: { ...BEST_EFFORT_LIMITS, ...limit(forBurstable - reserved('Burstable')) },
    memoryMinBytes: memoryQoS ? bytesOf(memory('Guaranteed') + memory('Burstable')) : 0n,
  };
}

/** Limits of a reserved part of the node, or of all pods. */
export function partLimits(amounts: {
  readonly millicores?: Int64;
  readonly memoryBytes?: Int64;
  readonly pids?: Int64;
}): CgroupLimits {
  const { millicores = 0, memoryBytes = 0, pids = 0 } = amounts;
  return {
    ...(millicores > 0 ? { cpuShares: sharesOf(millicores) } : {}),
    ...(memoryBytes > 0 ? { memoryBytes: bytesOf(memoryBytes) } : {}),
    ...(pids > 0 ? { pids: BigInt(pids) } : {}),
  };
}

/** Controllers with limits. */
export const LIMIT_CONTROLLERS = ['cpu', 'memory', 'pids', 'hugetlb'] as const;
export type LimitController = (typeof LIMIT_CONTROLLERS)[number];

/** One value of one file in the cgroup directory of a controller. */
export interface CgroupWrite {
  readonly controller: LimitController;
  readonly file: string;
  readonly text: string;
}

/** Source: the kernel's own conversion (`cgroup v1 shares 2..262144 to weight 1..10000`), as in runc. */
export const weightOf = (shares: bigint): bigint => 1n + ((shares - 2n) * 9999n) / 262_142n;

const UNLIMITED = 'max';

const hugePageWrites = ({ hugePages = {} }: CgroupLimits, file: string): readonly CgroupWrite[] =>
  Object.entries(hugePages).map(([size, bytes]) => ({
    controller: 'hugetlb',
    file: `hugetlb.${size}.${file}`,
    text: `${bytes}`,
  }));

/** Returns all limits as files of cgroup v1. Absent ones are set to unlimited, as an earlier limit may be in
 *  force. */
export function writesV1(limits: CgroupLimits): readonly CgroupWrite[] {
  const { cpuShares, cpuQuotaUs = 0n, cpuPeriodUs, memoryBytes, pids } = limits;
  const cpu = (file: string, value: bigint): CgroupWrite => ({ controller: 'cpu', file, text: `${value}` });
  return [
    ...(cpuShares === undefined ? [] : [cpu('cpu.shares', cpuShares)]),
    ...(cpuPeriodUs === undefined ? [] : [cpu('cpu.cfs_period_us', cpuPeriodUs)]),
    cpu('cpu.cfs_quota_us', cpuQuotaUs === 0n ? -1n : cpuQuotaUs),
    { controller: 'memory', file: 'memory.limit_in_bytes', text: `${memoryBytes ?? -1n}` },
    { controller: 'pids', file: 'pids.max', text: pids === undefined ? UNLIMITED : `${pids}` },
    ...hugePageWrites(limits, 'limit_in_bytes'),
  ];
}

/** The same as files of cgroup v2. */
export function writesV2(limits: CgroupLimits): readonly CgroupWrite[] {
  const { cpuShares, cpuQuotaUs = 0n, cpuPeriodUs = 100_000n, memoryBytes, memoryMinBytes, pids } = limits;
  const text = (value: bigint | undefined): string => (value === undefined ? UNLIMITED : `${value}`);
  return [
    ...(cpuShares === undefined
      ? []
      : [{ controller: 'cpu' as const, file: 'cpu.weight', text: `${weightOf(cpuShares)}` }]),
    {
      controller: 'cpu',
      file: 'cpu.max',
      text: `${cpuQuotaUs === 0n ? UNLIMITED : `${cpuQuotaUs}`} ${cpuPeriodUs}`,
    },
    { controller: 'memory', file: 'memory.max', text: text(memoryBytes) },
    { controller: 'memory', file: 'memory.min', text: `${memoryMinBytes ?? 0n}` },
    { controller: 'pids', file: 'pids.max', text: text(pids) },
    ...hugePageWrites(limits, 'max'),
  ];
}

/** Omits values that only reset an earlier limit: for cgroups whose other limits are managed by others. */
export function givenWrites(
  writes: (limits: CgroupLimits) => readonly CgroupWrite[],
  limits: CgroupLimits,
): readonly CgroupWrite[] {
  const unlimited = new Set(writes({}).map(({ file, text }) => `${file} ${text}`));
  return writes(limits).filter(({ file, text }) => !unlimited.has(`${file} ${text}`));
}
