/** What the cgroups of pods, of classes of pods and of all pods together may use, as the kernel's files want it. Pure.
 *  Source: upstream's cgroup manager (`ResourceConfigForPod`, QoS container manager, node allocatable), 1.24; kernel
 *  documentation of cgroup v1 and v2. */
import type { QosClass } from '#api/schema/qos-class.ts';
import type { Amounts } from '../runtime/config/qos.ts';
import { quotaOf, sharesOf } from '../runtime/config/resources.ts';

/** Absent: as much as there is. */
export interface CgroupLimits {
  /** Weight against others, in the units of `cpu.shares`: 1024 for a processor. */
  readonly cpuShares?: bigint;
  readonly cpuQuotaUs?: bigint;
  readonly cpuPeriodUs?: bigint;
  readonly memoryBytes?: bigint;
  /** Memory that is not taken away while others have more than theirs. Of cgroup v2 alone. */
  readonly memoryMinBytes?: bigint;
  readonly pids?: bigint;
  /** Bytes in huge pages by page size, such as `2MB`; sizes that are not named stay as they are. */
  readonly hugePages?: Readonly<Record<string, bigint>>;
}

export interface PodLimitOptions {
  readonly cpuCFSQuota: boolean;
  readonly cpuPeriodUs: bigint;
  /** Most processes of a pod; negative for no limit. */
  readonly podPidsLimit: number;
  /** Whether requests of memory are kept for those who made them. */
  readonly memoryQoS: boolean;
}

export interface PodAmounts {
  readonly requests: Amounts;
  readonly limits: Amounts;
  /** Whether every container has such a limit: only then has the pod. */
  readonly limited: { readonly cpu: boolean; readonly memory: boolean };
  readonly hugePages?: CgroupLimits['hugePages'];
}

/** Of one pod. */
export function podLimits(
  { requests, limits, limited, hugePages }: PodAmounts,
  { cpuCFSQuota, cpuPeriodUs, podPidsLimit, memoryQoS }: PodLimitOptions,
): CgroupLimits {
  return {
    cpuShares: sharesOf(requests.millicores === 0 ? limits.millicores : requests.millicores),
    ...(limited.cpu && cpuCFSQuota
      ? { cpuQuotaUs: quotaOf(limits.millicores, cpuPeriodUs), cpuPeriodUs }
      : {}),
    ...(limited.memory && limits.memoryBytes > 0 ? { memoryBytes: BigInt(limits.memoryBytes) } : {}),
    ...(memoryQoS && requests.memoryBytes > 0 ? { memoryMinBytes: BigInt(requests.memoryBytes) } : {}),
    ...(podPidsLimit > 0 ? { pids: BigInt(podPidsLimit) } : {}),
    ...(hugePages === undefined ? {} : { hugePages }),
  };
}

/** Of the pods of the class Burstable together: their weight is what they asked for. */
export function burstableLimits(requests: readonly Amounts[], memoryQoS: boolean): CgroupLimits {
  const millicores = requests.reduce((sum, one) => sum + one.millicores, 0);
  const memoryBytes = requests.reduce((sum, one) => sum + one.memoryBytes, 0);
  return {
    cpuShares: sharesOf(millicores),
    ...(memoryQoS && memoryBytes > 0 ? { memoryMinBytes: BigInt(memoryBytes) } : {}),
  };
}

/** Of the pods of the class BestEffort together: what nobody else wants. */
export const BEST_EFFORT_LIMITS: CgroupLimits = { cpuShares: sharesOf(0) };

/** Of the classes of all pods. */
export interface ClassLimits {
  readonly burstable: CgroupLimits;
  readonly bestEffort: CgroupLimits;
  /** What all pods together keep; 0 for nothing. */
  readonly memoryMinBytes: bigint;
}

export interface ClassOptions {
  readonly memoryQoS: boolean;
  /** Share of the memory that higher classes asked for which lower ones don't get, 0 to 100. */
  readonly reservedPercent: number;
  /** What all pods may have together. */
  readonly allocatableMemoryBytes: number;
}

/** Source: upstream's QoS container manager (`setCPUCgroupConfig`, `setMemoryReserve`, `setMemoryQoS`), 1.24. */
export function classLimits(
  pods: readonly { readonly qos: QosClass; readonly requests: Amounts }[],
  { memoryQoS, reservedPercent, allocatableMemoryBytes }: ClassOptions,
): ClassLimits {
  const of = (qos: QosClass): readonly Amounts[] =>
    pods.filter((pod) => pod.qos === qos).map(({ requests }) => requests);
  const memory = (qos: QosClass): number => of(qos).reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);
  const kept = (qos: QosClass): number => Math.floor((memory(qos) * reservedPercent) / 100);
  const limit = (bytes: number): Pick<CgroupLimits, 'memoryBytes'> =>
    reservedPercent > 0 && allocatableMemoryBytes > 0 ? { memoryBytes: BigInt(Math.max(bytes, 0)) } : {};
  const forBurstable = allocatableMemoryBytes - kept('Guaranteed');
  return {
    burstable: { ...burstableLimits(of('Burstable'), memoryQoS), ...limit(forBurstable) },
    bestEffort: { ...BEST_EFFORT_LIMITS, ...limit(forBurstable - kept('Burstable')) },
    memoryMinBytes: memoryQoS ? BigInt(memory('Guaranteed') + memory('Burstable')) : 0n,
  };
}

/** Of a part of the node that amounts are kept for, or of all pods: what they may have together. */
export function partLimits(amounts: {
  readonly millicores?: number;
  readonly memoryBytes?: number;
  readonly pids?: number;
}): CgroupLimits {
  const { millicores = 0, memoryBytes = 0, pids = 0 } = amounts;
  return {
    ...(millicores > 0 ? { cpuShares: sharesOf(millicores) } : {}),
    ...(memoryBytes > 0 ? { memoryBytes: BigInt(memoryBytes) } : {}),
    ...(pids > 0 ? { pids: BigInt(pids) } : {}),
  };
}

/** Controllers that limit. */
export const LIMIT_CONTROLLERS = ['cpu', 'memory', 'pids', 'hugetlb'] as const;
export type LimitController = (typeof LIMIT_CONTROLLERS)[number];

/** One value for one file of a cgroup's folder in the hierarchy of a controller. */
export interface CgroupWrite {
  readonly controller: LimitController;
  readonly file: string;
  readonly text: string;
}

/** Source: the kernel's own conversion between both (`cgroup v1 shares 2..262144 to weight 1..10000`), as runc has it. */
export const weightOf = (shares: bigint): bigint => 1n + ((shares - 2n) * 9999n) / 262_142n;

const UNLIMITED = 'max';

const hugePageWrites = ({ hugePages = {} }: CgroupLimits, file: string): readonly CgroupWrite[] =>
  Object.entries(hugePages).map(([size, bytes]) => ({
    controller: 'hugetlb',
    file: `hugetlb.${size}.${file}`,
    text: `${bytes}`,
  }));

/** Every limit as files of cgroup v1. What is absent is set to unlimited, as it may have been limited before. */
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

/** Without what is only there to take an earlier limit back: for cgroups whose other limits are somebody else's. */
export function givenWrites(
  writes: (limits: CgroupLimits) => readonly CgroupWrite[],
  limits: CgroupLimits,
): readonly CgroupWrite[] {
  const unlimited = new Set(writes({}).map(({ file, text }) => `${file} ${text}`));
  return writes(limits).filter(({ file, text }) => !unlimited.has(`${file} ${text}`));
}
