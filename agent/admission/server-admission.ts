/** Admission of a joined node: upstream's checks beyond ports, sysctls and the number of pods. Pure.
 *  Static pods belong to the node: taints and selectors do not apply to them, and they may preempt others. */
import type { Node } from '#api/gen/core-v1.ts';
import type { SourcePod } from '../sources/types.ts';
import type { Preemption, Refusal } from './admit.ts';
import { roomFor } from './node-capacity.ts';
import { misplacement } from './node-fit.ts';
import { isCritical, parseAmounts } from './resource-fit.ts';
import { staticPods } from './static-pods.ts';

export interface NodeFacts {
  /** The node as stored by the server; undefined while unknown. */
  readonly node: Node | undefined;
  readonly osLabel: string;
  /** The feature gate IdentifyPodOS. */
  readonly identifiesOS: boolean;
}

const isStatic = staticPods(true);

/** @param others pods of the node that have not terminated */
export function serverRefusal(
  source: SourcePod,
  others: readonly SourcePod[],
  { node, osLabel, identifiesOS }: NodeFacts,
): Refusal | Preemption | undefined {
  if (node === undefined) return undefined;
  const { pod } = source;
  const { name = '', labels = {} } = node.metadata ?? {};
  const traits = { name, labels, taints: node.spec?.taints ?? [], osLabel, identifiesOS };
  const wrong = isStatic(source) ? undefined : misplacement(pod, traits);
  if (wrong !== undefined) return wrong;
  const { allocatable } = node.status ?? {};
  // The capacity of a node is unknown before its first status report.
  if (allocatable === undefined || Object.keys(allocatable).length === 0) return undefined;
  return roomFor(source, others, {
    allocatable: parseAmounts(allocatable),
    isStatic,
    mayPreempt: (one) => isStatic(one) || isCritical(one.pod),
  });
}
