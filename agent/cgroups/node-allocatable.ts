/** What all pods may have together, and what the parts of the node that amounts are kept for may. Pure.
 *  Source: document 3, 4.3 (`--enforce-node-allocatable`); upstream's node container manager, 1.24. */
import { milliValue, value } from '#api/meta/quantity.ts';
import { decideAllocatable, type ResourceList, type ResourceRules } from '../registration/resources.ts';
import { type CgroupLimits, partLimits } from './limits.ts';

export interface NodeCapacity {
  readonly cores: number;
  readonly memoryBytes: number;
  /** Most processes of the machine; undefined where that is not known. */
  readonly pids: number | undefined;
}

const amountsOf = (list: ResourceList): Parameters<typeof partLimits>[0] => ({
  millicores: milliValue(list['cpu'] ?? '0'),
  memoryBytes: value(list['memory'] ?? '0'),
  pids: value(list['pid'] ?? '0'),
});

const resourceList = ({ cores, memoryBytes, pids }: NodeCapacity): ResourceList => ({
  cpu: String(cores),
  memory: String(memoryBytes),
  ...(pids === undefined ? {} : { pid: String(pids) }),
});

/** Of all pods together: the machine without what is reserved. What eviction keeps free is theirs until then. */
export function allPodsLimits(capacity: NodeCapacity, rules: ResourceRules, enforced: boolean): CgroupLimits {
  if (!enforced) return {};
  return partLimits(amountsOf(decideAllocatable(resourceList(capacity), { ...rules, ignoreEviction: true })));
}

/** Of a part of the node that amounts are kept for. */
export function reservedLimits(reserved: ResourceList, memoryQoS: boolean): CgroupLimits {
  const limits = partLimits(amountsOf(reserved));
  return {
    ...limits,
    ...(memoryQoS && limits.memoryBytes !== undefined ? { memoryMinBytes: limits.memoryBytes } : {}),
  };
}

/** What pods may use, in base units, where nobody tells it of the node. */
export function allocatableAmounts(
  capacity: NodeCapacity,
  rules: ResourceRules,
): Readonly<Record<string, number>> {
  const list = decideAllocatable(resourceList(capacity), rules);
  return { cpu: milliValue(list['cpu'] ?? '0') / 1000, memory: value(list['memory'] ?? '0') };
}

/** Reads `pid_max` and `threads-max`; the lower one holds. */
export function parseMostPids(...texts: readonly (string | undefined)[]): number | undefined {
  const numbers = texts.map((text) => Number(text?.trim() || Number.NaN)).filter((one) => one > 0);
  return numbers.length === 0 ? undefined : Math.min(...numbers);
}
