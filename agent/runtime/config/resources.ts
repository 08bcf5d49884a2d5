/** CRI resources of containers and sums of pods: CPU shares and quota, memory, huge pages, OOM score. Pure.
 *  Source: Linux cgroup v1 cpu controller (shares 2 to 262144, quota at least 1 ms), proc(5) oom_score_adj. */

import type { Container, Pod, ResourceRequirements } from '#api/gen/core-v1.ts';
import { addInt64, type Int64, maxInt64 } from '#api/kit/int64.ts';
import { exactMilliValue, exactValue, value } from '#api/meta/quantity.ts';
import { qosClass } from '#api/schema/qos-class.ts';
import type { HugepageLimit, LinuxContainerResources } from '#cri/gen/cri-v1.ts';
import type { MessageInput } from '#cri/message.ts';

export interface ResourceSettings {
  readonly cpuCFSQuota: boolean;
  /** 100 unless configured. */
  readonly cpuCFSQuotaPeriodMs: number;
  /** Memory of the node, of which the request of a burstable container is a share for its OOM score. */
  readonly memoryCapacityBytes: number;
  /** Huge page sizes of this machine in bytes; each is limited to 0 unless the container requests it. */
  readonly hugePageSizesBytes: readonly number[];
  /** `none` leaves swap to the runtime; with feature gate NodeSwap, `limited` or `unlimited`. */
  readonly swap: 'none' | 'limited' | 'unlimited';
  /** On cgroup v2 with feature gate MemoryQoS: memory requests are protected, and containers are throttled
   *  before they reach their limit. */
  readonly memoryQoS?: MemoryQoSSettings;
}

export interface MemoryQoSSettings {
  /** Share of the limit at which a container is throttled, 0 to 1. */
  readonly throttlingFactor: number;
  /** Limit for containers without one. */
  readonly allocatableBytes: number;
}

const MIN_SHARES = 2n;
const MAX_SHARES = 262_144n;
const MIN_QUOTA_US = 1000n;
/** The kernel rejects larger values (MAX_BW in kernel/sched); far above any machine. */
const MAX_QUOTA_US = 2n ** 43n;
/** CRI uses signed 64-bit numbers. */
const MAX_BYTES = 2n ** 63n - 1n;
const GUARANTEED_OOM_SCORE = -997;
const BEST_EFFORT_OOM_SCORE = 1000;

/** Returns cpu.shares for an amount of CPU. */
export function sharesOf(millicores: Int64): bigint {
  const shares = (BigInt(millicores) * 1024n) / 1000n;
  if (shares < MIN_SHARES) return MIN_SHARES;
  return shares > MAX_SHARES ? MAX_SHARES : shares;
}

/** Returns the CPU time in microseconds per period; 0 means no limit. */
export function quotaOf(millicores: Int64, periodUs: bigint): bigint {
  if (millicores === 0) return 0n;
  const quota = (BigInt(millicores) * periodUs) / 1000n;
  if (quota < MIN_QUOTA_US) return MIN_QUOTA_US;
  return quota > MAX_QUOTA_US ? MAX_QUOTA_US : quota;
}

/** Returns whole bytes within the range of the protocol: the largest quantities exceed the range of numbers. */
export function bytesOf(amount: Int64): bigint {
  const bytes = BigInt(amount);
  return bytes > MAX_BYTES ? MAX_BYTES : bytes;
}

/** Returns the CRI resources of one container. */
export function containerResources(
  pod: Pod,
  container: { readonly resources?: ResourceRequirements },
  settings: ResourceSettings,
): MessageInput<LinuxContainerResources> {
  const limits = container.resources?.limits ?? {};
  const requests = container.resources?.requests ?? {};
  const memoryBytes = bytesOf(exactValue(limits['memory'] ?? '0'));
  return {
    ...cpuResources(exactMilliValue(requests['cpu'] ?? '0'), exactMilliValue(limits['cpu'] ?? '0'), settings),
    memoryLimitInBytes: memoryBytes,
    memorySwapLimitInBytes: swapLimit(memoryBytes, settings.swap),
    hugepageLimits: hugepageLimits(limits, settings.hugePageSizesBytes),
    oomScoreAdj: BigInt(oomScoreAdj(pod, container, settings.memoryCapacityBytes)),
    ...unifiedResources(exactValue(requests['memory'] ?? '0'), memoryBytes, settings),
  };
}

/** cgroup v2 files without a CRI field. Source: upstream's `MemoryQoS`, 1.24. */
function unifiedResources(
  requestBytes: Int64,
  limitBytes: bigint,
  { memoryQoS }: ResourceSettings,
): Pick<MessageInput<LinuxContainerResources>, 'unified'> {
  if (memoryQoS === undefined) return {};
  const most = limitBytes === 0n ? memoryQoS.allocatableBytes : limitBytes;
  const high = Math.floor(Number(most) * memoryQoS.throttlingFactor);
  return {
    unified: {
      ...(requestBytes > 0 ? { 'memory.min': `${bytesOf(requestBytes)}` } : {}),
      ...(high > requestBytes ? { 'memory.high': `${bytesOf(high)}` } : {}),
    },
  };
}

/** Returns the CRI resources of a sum of requests and limits, for runtimes that size the whole sandbox. */
export function sumResources(
  amounts: { readonly requests: Amounts; readonly limits: Amounts },
  settings: ResourceSettings,
): MessageInput<LinuxContainerResources> {
  const { requests, limits } = amounts;
  return {
    ...cpuResources(requests.millicores, limits.millicores, settings),
    memoryLimitInBytes: bytesOf(limits.memoryBytes),
  };
}

/** Shares follow the request, or the limit without a request. */
function cpuResources(
  requestMillicores: Int64,
  limitMillicores: Int64,
  settings: ResourceSettings,
): MessageInput<LinuxContainerResources> {
  const cpuShares = sharesOf(requestMillicores === 0 ? limitMillicores : requestMillicores);
  if (!settings.cpuCFSQuota) return { cpuShares };
  const cpuPeriod = BigInt(Math.round(settings.cpuCFSQuotaPeriodMs * 1000));
  return { cpuShares, cpuPeriod, cpuQuota: quotaOf(limitMillicores, cpuPeriod) };
}

/** The runtime's limit covers memory plus swap: the memory limit itself means no swap. */
function swapLimit(memoryBytes: bigint, swap: ResourceSettings['swap']): bigint {
  switch (swap) {
    case 'none':
      return 0n;
    case 'limited':
      return memoryBytes;
    case 'unlimited':
      return -1n;
    default:
      return swap satisfies never;
  }
}

/** Returns huge page limits by page size; zero for sizes that are not requested. */
export function hugepageLimits(
  limits: Readonly<Record<string, string>>,
  pageSizesBytes: readonly number[],
): readonly HugepageLimit[] {
  const bySize = new Map(pageSizesBytes.map((bytes) => [formatPageSize(bytes), 0n]));
  for (const [name, amount] of Object.entries(limits)) {
    if (!name.startsWith('hugepages-')) continue;
    const pageSize = formatPageSize(value(name.slice('hugepages-'.length)));
    bySize.set(pageSize, bytesOf(exactValue(amount)));
  }
  return [...bySize].map(([pageSize, limit]) => ({ pageSize, limit }));
}

const PAGE_UNITS = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];

/** `2MB`, as in the kernel's hugetlb file names. */
function formatPageSize(bytes: number): string {
  let amount = bytes;
  let unit = 0;
  while (amount >= 1024 && unit < PAGE_UNITS.length - 1) {
    amount /= 1024;
    unit += 1;
  }
  return `${amount}${PAGE_UNITS[unit] ?? 'B'}`;
}

/** Returns the OOM score adjustment: -997 (killed last) to 1000 (first). A burstable container that requests
 *  more of the node's memory is killed later. */
export function oomScoreAdj(
  pod: Pod,
  container: { readonly resources?: ResourceRequirements },
  memoryCapacityBytes: number,
): number {
  if (pod.spec?.priorityClassName === 'system-node-critical') return GUARANTEED_OOM_SCORE;
  const qos = qosClass(pod);
  if (qos === 'Guaranteed') return GUARANTEED_OOM_SCORE;
  if (qos === 'BestEffort') return BEST_EFFORT_OOM_SCORE;
  const requestBytes = value(container.resources?.requests?.['memory'] ?? '0');
  const share = memoryCapacityBytes > 0 ? Math.floor((1000 * requestBytes) / memoryCapacityBytes) : 0;
  const lowest = BEST_EFFORT_OOM_SCORE + GUARANTEED_OOM_SCORE;
  return Math.min(Math.max(BEST_EFFORT_OOM_SCORE - share, lowest), BEST_EFFORT_OOM_SCORE - 1);
}

/** Exact amounts, of which sums may exceed 64 bits. */
export interface Amounts {
  readonly millicores: Int64;
  readonly memoryBytes: Int64;
}

/** Returns CPU and memory of the whole pod: app containers and sidecars together, or the init container that
 *  requires more together with the sidecars started before it. Excludes the pod overhead. */
export function podAmounts(pod: Pod, list: 'requests' | 'limits'): Amounts {
  let sidecars: Amounts = NO_AMOUNTS;
  let highestInit: Amounts = NO_AMOUNTS;
  for (const container of pod.spec?.initContainers ?? []) {
    const own = amountsOf(container, list);
    if (container.restartPolicy === 'Always') sidecars = addAmounts(sidecars, own);
    highestInit = highest(
      highestInit,
      container.restartPolicy === 'Always' ? sidecars : addAmounts(sidecars, own),
    );
  }
  const apps = (pod.spec?.containers ?? []).map((container) => amountsOf(container, list));
  return highest(apps.reduce(addAmounts, sidecars), highestInit);
}

export const NO_AMOUNTS: Amounts = { millicores: 0, memoryBytes: 0 };

function amountsOf({ resources }: Container, list: 'requests' | 'limits'): Amounts {
  const amounts = resources?.[list] ?? {};
  return {
    millicores: exactMilliValue(amounts['cpu'] ?? '0'),
    memoryBytes: exactValue(amounts['memory'] ?? '0'),
  };
}

export const addAmounts = (a: Amounts, b: Amounts): Amounts => ({
  millicores: addInt64(a.millicores, b.millicores),
  memoryBytes: addInt64(a.memoryBytes, b.memoryBytes),
});

const highest = (a: Amounts, b: Amounts): Amounts => ({
  millicores: maxInt64(a.millicores, b.millicores),
  memoryBytes: maxInt64(a.memoryBytes, b.memoryBytes),
});
