/** Room for the pod: its number, CPU, memory, local storage, extended resources. What a pod doesn't ask for is not
 *  held against it, even where a node has given away too much of it. */
import type { Amounts, NodeInfo } from '../model.ts';
import { check, type Filter, resolvable } from './filter.ts';

function missing(node: NodeInfo, wanted: Amounts): readonly string[] {
  const { allocatable } = node;
  const reasons: string[] = [];
  if (node.pods.size + 1 > node.maxPods) reasons.push('Too many pods');
  if (wanted.milliCpu > 0 && wanted.milliCpu > allocatable.milliCpu - node.usedMilliCpu) {
    reasons.push('Insufficient cpu');
  }
  if (wanted.memoryBytes > 0 && wanted.memoryBytes > allocatable.memoryBytes - node.usedMemoryBytes) {
    reasons.push('Insufficient memory');
  }
  if (
    wanted.ephemeralBytes > 0 &&
    wanted.ephemeralBytes > allocatable.ephemeralBytes - node.usedEphemeralBytes
  ) {
    reasons.push('Insufficient ephemeral-storage');
  }
  for (const [name, amount] of wanted.scalars) {
    const free = (allocatable.scalars.get(name) ?? 0) - (node.usedScalars.get(name) ?? 0);
    if (amount > 0 && amount > free) reasons.push(`Insufficient ${name}`);
  }
  return reasons;
}

/** Most nodes have room, which is found out without making anything. */
function fits(node: NodeInfo, wanted: Amounts): boolean {
  return (
    node.pods.size < node.maxPods &&
    (wanted.milliCpu === 0 || wanted.milliCpu <= node.allocatable.milliCpu - node.usedMilliCpu) &&
    (wanted.memoryBytes === 0 || wanted.memoryBytes <= node.allocatable.memoryBytes - node.usedMemoryBytes) &&
    wanted.ephemeralBytes === 0 &&
    wanted.scalars.size === 0
  );
}

export const resources: Filter = {
  name: 'NodeResourcesFit',
  wokenBy: ['podGone', 'nodeAdded', 'nodeAllocatable'],
  looksAround: false,
  prepare: ({ shape: { requests } }) =>
    check((node) => {
      if (fits(node, requests)) return undefined;
      const reasons = missing(node, requests);
      return reasons.length === 0 ? undefined : resolvable(...reasons);
    }),
};
