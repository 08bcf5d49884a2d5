/** Node allocatable: limits of all pods together and of the reserved parts of the node. Pure.
 *  Source: enforcement, document 3 §4.3 (`--enforce-node-allocatable`); upstream's node container manager,
 *  1.24. */
import { exactMilliValue, exactValue, milliValue, value } from '#api/meta/quantity.ts';
import { decideAllocatable, type ResourceList, type ResourceRules } from '../machine/capacity.ts';
import { type CgroupLimits, partLimits } from './limits.ts';

export interface NodeCapacity {
  readonly cores: number;
  readonly memoryBytes: number;
  /** Maximum number of processes of the machine; undefined when unknown. */
  readonly pids: number | undefined;
}

const amountsOf = (list: ResourceList): Parameters<typeof partLimits>[0] => ({
  millicores: exactMilliValue(list['cpu'] ?? '0'),
  memoryBytes: exactValue(list['memory'] ?? '0'),
  pids: exactValue(list['pid'] ?? '0'),
});

const resourceList = ({ cores, memoryBytes, pids }: NodeCapacity): ResourceList => ({
  cpu: String(cores),
  memory: String(memoryBytes),
  ...(pids === undefined ? {} : { pid: String(pids) }),
});

/** Returns the limits of all pods: the capacity minus reservations. Memory that eviction keeps free is
 *  included. */
export function allPodsLimits(capacity: NodeCapacity, rules: ResourceRules, enforced: boolean): CgroupLimits {
  if (!enforced) return {};
  return partLimits(amountsOf(decideAllocatable(resourceList(capacity), { ...rules, ignoreEviction: true })));
}

/** Returns the limits of a reserved part of the node. */
export function reservedLimits(reserved: ResourceList, memoryQoS: boolean): CgroupLimits {
  const limits = partLimits(amountsOf(reserved));
  return {
    ...limits,
    ...(memoryQoS && limits.memoryBytes !== undefined ? { memoryMinBytes: limits.memoryBytes } : {}),
  };
}

/** Returns allocatable amounts in base units, for a node without an API server. */
export function allocatableAmounts(
  capacity: NodeCapacity,
  rules: ResourceRules,
): Readonly<Record<string, number>> {
  const list = decideAllocatable(resourceList(capacity), rules);
  return { cpu: milliValue(list['cpu'] ?? '0') / 1000, memory: value(list['memory'] ?? '0') };
}

/** Returns the lower one of `pid_max` and `threads-max`. */
export function parseMostPids(...texts: readonly (string | undefined)[]): number | undefined {
  const numbers = texts.map((text) => Number(text?.trim() || Number.NaN)).filter((one) => one > 0);
  return numbers.length === 0 ? undefined : Math.min(...numbers);
}
