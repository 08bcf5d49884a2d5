/** Admission of a joined node: what upstream's node agents check beside ports, sysctls and the number of pods. Pure.
 *  Static pods are the node's own: no taint and no selector keeps them away, and others make room for them. */
import type { Node, Pod } from '#api/schema/gen/core-v1.ts';
import type { SourcePod } from '../sources/types.ts';
import type { Preemption, Refusal } from './admit.ts';
import { misplacement } from './node-fit.ts';
import { isCritical, parseAmounts, shortage, victimsFor } from './resource-fit.ts';

export interface NodeFacts {
  /** As the API server has it; undefined while it is not known. */
  readonly node: Node | undefined;
  readonly osLabel: string;
}

const isStatic = ({ origin }: SourcePod): boolean => origin.source !== 'api';

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
  return roomFor(source, others, parseAmounts(allocatable));
}

function roomFor(
  source: SourcePod,
  others: readonly SourcePod[],
  allocatable: Readonly<Record<string, number>>,
): Refusal | Preemption | undefined {
  const pods = others.map((other) => other.pod);
  const short = shortage(source.pod, pods, allocatable);
  if (short === undefined || !(isStatic(source) || isCritical(source.pod))) return short;
  const statics = new Set<Pod>(others.filter(isStatic).map((other) => other.pod));
  const victims = victimsFor(source.pod, pods, allocatable, (other) => statics.has(other));
  return victims === undefined ? short : { victims };
}
