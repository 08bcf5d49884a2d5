/** Admission of pods on a node under pressure. Pure. Source: upstream 1.24, admission of the eviction
 *  manager. */

import type { Pod, Taint } from '#api/gen/core-v1.ts';
import { qosClass } from '#api/schema/qos-class.ts';
import type { PressureCondition } from '#eviction/signals.ts';
import type { Refusal } from './admit.ts';
import { tolerates } from './node-fit.ts';

export interface PressureRules {
  /** Whether the pod is admitted under any pressure. */
  readonly critical: boolean;
  /** Key of the memory pressure taint. */
  readonly memoryTaint: string;
}

/** Reason of evicted pods, too. */
export const EVICTED = 'Evicted';
/** Prefix of the messages of pods that were rejected because of node pressure. */
export const NODE_HAD_CONDITION = 'The node had condition: ';

/** Memory pressure only rejects BestEffort pods without a toleration; disk and PID pressure reject all. */
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
