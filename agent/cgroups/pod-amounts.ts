/** Total requests and limits of a pod, its overhead included, for its cgroup. Pure.
 *  Source: upstream's `ResourceConfigForPod`, 1.24. */

import type { Container, Pod } from '#api/gen/core-v1.ts';
import { addInt64, type Int64 } from '#api/kit/int64.ts';
import { exactMilliValue, exactValue, milliValue } from '#api/meta/quantity.ts';
import { type QosClass, qosClass } from '#api/schema/qos-class.ts';
import { type Amounts, hugepageLimits, podAmounts } from '../runtime/config/resources.ts';
import type { PodAmounts } from './limits.ts';

const containersOf = ({ spec }: Pod): readonly Container[] => [
  ...(spec?.initContainers ?? []),
  ...(spec?.containers ?? []),
];

/** Sum over all containers, where init containers run one at a time. */
function hugePages(pod: Pod, sizesBytes: readonly number[]): Readonly<Record<string, bigint>> {
  const of = (containers: readonly Container[]): readonly Readonly<Record<string, bigint>>[] =>
    containers.map(({ resources }) =>
      Object.fromEntries(
        hugepageLimits(resources?.limits ?? {}, sizesBytes).map(({ pageSize, limit }) => [pageSize, limit]),
      ),
    );
  const sums = new Map<string, bigint>();
  for (const one of of(pod.spec?.containers ?? [])) {
    for (const [size, bytes] of Object.entries(one)) sums.set(size, (sums.get(size) ?? 0n) + bytes);
  }
  for (const one of of(pod.spec?.initContainers ?? [])) {
    for (const [size, bytes] of Object.entries(one)) {
      if (bytes > (sums.get(size) ?? 0n)) sums.set(size, bytes);
    }
  }
  return Object.fromEntries(sums);
}

/** The overhead is added to existing amounts only. */
function withOverhead(pod: Pod, { millicores, memoryBytes }: Amounts, always: boolean): Amounts {
  const overhead = pod.spec?.overhead ?? {};
  const counts = (amount: Int64): boolean => always || amount > 0;
  return {
    millicores: addInt64(millicores, counts(millicores) ? exactMilliValue(overhead['cpu'] ?? '0') : 0),
    memoryBytes: addInt64(memoryBytes, counts(memoryBytes) ? exactValue(overhead['memory'] ?? '0') : 0),
  };
}

export interface PodShare {
  readonly qos: QosClass;
  /** Contribution to its QoS class. */
  readonly requests: Amounts;
  /** Limits of its cgroup. */
  readonly amounts: PodAmounts;
}

/** @param pageSizesBytes huge page sizes of this machine */
export function podShare(pod: Pod, pageSizesBytes: readonly number[]): PodShare {
  const qos = qosClass(pod);
  const requests = withOverhead(pod, podAmounts(pod, 'requests'), true);
  const limits = withOverhead(pod, podAmounts(pod, 'limits'), false);
  const every = (name: string): boolean =>
    qos !== 'BestEffort' &&
    containersOf(pod).every(({ resources }) => milliValue(resources?.limits?.[name] ?? '0') > 0);
  // A pod without requests has no weight, whatever its overhead.
  const counted = qos === 'BestEffort' ? { millicores: 0, memoryBytes: 0 } : requests;
  const amounts = {
    requests: counted,
    limits,
    limited: { cpu: every('cpu'), memory: every('memory') },
    ...(pageSizesBytes.length === 0 ? {} : { hugePages: hugePages(pod, pageSizesBytes) }),
  };
  return { qos, requests: counted, amounts };
}
