/** Whether a node has room for a pod beside its others, and which of them make some. Pure.
 *  Source: upstream 1.24, preemption on the node. */
import type { Pod } from '#api/schema/gen/core-v1.ts';
import type { SourcePod } from '../sources/types.ts';
import type { Preemption, Refusal } from './admit.ts';
import { type Amounts, firstShortage, priorityOf, shortageRefusal, victimsFor } from './resource-fit.ts';

export interface RoomRules {
  /** What all pods may have together. */
  readonly allocatable: Amounts;
  /** Pods that nobody would make again elsewhere: they don't make room. */
  readonly isStatic: (source: SourcePod) => boolean;
  /** Whether others make room for the pod. */
  readonly mayPreempt: (source: SourcePod) => boolean;
}

const hasPriority = ({ spec }: Pod): boolean =>
  spec?.priority !== undefined || (spec?.priorityClassName ?? '') !== '';

/** Of two static pods that say how much they matter, the lesser one makes room. */
const outranks = (pod: Pod, other: Pod): boolean =>
  hasPriority(pod) && hasPriority(other) && priorityOf(pod) > priorityOf(other);

/** @param others pods of the node that have not ended */
export function roomFor(
  source: SourcePod,
  others: readonly SourcePod[],
  { allocatable, isStatic, mayPreempt }: RoomRules,
): Refusal | Preemption | undefined {
  const { pod } = source;
  const pods = others.map((other) => other.pod);
  const short = firstShortage(pod, pods, allocatable);
  if (short === undefined) return undefined;
  if (!mayPreempt(source)) return shortageRefusal(short);
  const statics = new Set<Pod>(others.filter(isStatic).map((other) => other.pod));
  const victims = victimsFor(pod, pods, allocatable, (other) => statics.has(other) && !outranks(pod, other));
  return victims === undefined ? shortageRefusal(short) : { victims, resource: short.resource };
}
