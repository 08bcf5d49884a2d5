/** Whether a node that is short of something takes a pod on. Pure. Source: upstream 1.24, admission of the eviction
 *  manager. */
import type { Pod, Taint } from '#api/schema/gen/core-v1.ts';
import { qosClass } from '#api/schema/qos-class.ts';
import type { PressureCondition } from '#eviction/signals.ts';
import type { Refusal } from './admit.ts';
import { tolerates } from './node-fit.ts';

export interface PressureRules {
  /** Whether the pod is taken on whatever is short. */
  readonly critical: boolean;
  /** Key of the taint of a node that is short of memory. */
  readonly memoryTaint: string;
}

/** The reason of pods that were evicted, too. */
export const EVICTED = 'Evicted';
/** How messages begin of pods that were not taken on because the node was short of something. */
export const NODE_HAD_CONDITION = 'The node had condition: ';

/** Memory is needed most by those that didn't say how much they need; disks and process numbers by all. */
function mayCome(
  pod: Pod,
  conditions: ReadonlySet<PressureCondition>,
  { critical, memoryTaint }: PressureRules,
): boolean {
  if (conditions.size === 0 || critical) return true;
  if (conditions.size > 1 || !conditions.has('MemoryPressure')) return false;
  if (qosClass(pod) !== 'BestEffort') return true;
  const taint: Taint = { key: memoryTaint, effect: 'NoSchedule' };
  return (pod.spec?.tolerations ?? []).some((one) => tolerates(one, taint));
}

export function pressureRefusal(
  pod: Pod,
  conditions: ReadonlySet<PressureCondition>,
  rules: PressureRules,
): Refusal | undefined {
  if (mayCome(pod, conditions, rules)) return undefined;
  return { reason: EVICTED, message: `${NODE_HAD_CONDITION}[${[...conditions].join(' ')}]. ` };
}
