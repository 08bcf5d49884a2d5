/** Admission of a joined node: what upstream's node agents check beside ports, sysctls and the number of pods. Pure.
 *  Static pods are the node's own: no taint and no selector keeps them away, and others make room for them. */
import type { Node } from '#api/schema/gen/core-v1.ts';
import type { SourcePod } from '../sources/types.ts';
import type { Preemption, Refusal } from './admit.ts';
import { misplacement } from './node-fit.ts';
import { roomFor } from './node-room.ts';
import { isCritical, parseAmounts } from './resource-fit.ts';
import { staticPods } from './static-pods.ts';

export interface NodeFacts {
  /** As the API server has it; undefined while it is not known. */
  readonly node: Node | undefined;
  readonly osLabel: string;
}

const isStatic = staticPods(true);

/** @param others pods of the node that have not ended */
export function serverRefusal(
  source: SourcePod,
  others: readonly SourcePod[],
  { node, osLabel }: NodeFacts,
): Refusal | Preemption | undefined {
  if (node === undefined) return undefined;
  const { pod } = source;
  const { name = '', labels = {} } = node.metadata ?? {};
  const traits = { name, labels, taints: node.spec?.taints ?? [], osLabel };
  const wrong = isStatic(source) ? undefined : misplacement(pod, traits);
  if (wrong !== undefined) return wrong;
  const { allocatable } = node.status ?? {};
  // A node whose status nobody has told yet has no room that is known.
  if (allocatable === undefined || Object.keys(allocatable).length === 0) return undefined;
  return roomFor(source, others, {
    allocatable: parseAmounts(allocatable),
    isStatic,
    mayPreempt: (one) => isStatic(one) || isCritical(one.pod),
  });
}
