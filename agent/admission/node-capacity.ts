/** Capacity check of a pod beside the others of the node, with preemption. Pure.
 *  Source: upstream 1.24, preemption on the node. */
import type { Pod } from '#api/gen/core-v1.ts';
import type { SourcePod } from '../sources/types.ts';
import type { Preemption, Refusal } from './admit.ts';
import { type Amounts, firstShortage, priorityOf, shortageRefusal, victimsFor } from './resource-fit.ts';

export interface RoomRules {
  /** Allocatable of all pods together. */
  readonly allocatable: Amounts;
  /** Reports whether a pod is static: no controller recreates it elsewhere, so it is not preempted. */
  readonly isStatic: (source: SourcePod) => boolean;
  /** Reports whether the pod may preempt others. */
  readonly mayPreempt: (source: SourcePod) => boolean;
}

const hasPriority = ({ spec }: Pod): boolean =>
  spec?.priority !== undefined || (spec?.priorityClassName ?? '') !== '';

/** Of two static pods with priorities, the one with the lower priority may be preempted. */
const outranks = (pod: Pod, other: Pod): boolean =>
  hasPriority(pod) && hasPriority(other) && priorityOf(pod) > priorityOf(other);

/** @param others pods of the node that have not terminated */
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
