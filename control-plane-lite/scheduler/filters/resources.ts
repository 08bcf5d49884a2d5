/** Filter: pod count, CPU, memory, ephemeral storage, and extended resources. A resource that a pod does not
 *  request does not exclude a node, even if the node is overcommitted. */
import type { Int64 } from '#api/kit/int64.ts';
import { addInt64 } from '#api/kit/int64.ts';
import type { Amounts, NodeInfo } from '../fleet/model.ts';
import { check, type Filter, resolvable } from './filter.ts';

/** Reports whether the amount exceeds the free capacity. */
const isBeyond = (all: Int64, used: Int64, wanted: Int64): boolean => addInt64(used, wanted) > all;

function missing(node: NodeInfo, wanted: Amounts): readonly string[] {
  const { allocatable } = node;
  const reasons: string[] = [];
  if (node.pods.size + 1 > node.maxPods) reasons.push('Too many pods');
  if (wanted.milliCpu > 0 && isBeyond(allocatable.milliCpu, node.usedMilliCpu, wanted.milliCpu)) {
    reasons.push('Insufficient cpu');
  }
  if (wanted.memoryBytes > 0 && isBeyond(allocatable.memoryBytes, node.usedMemoryBytes, wanted.memoryBytes)) {
    reasons.push('Insufficient memory');
  }
  if (
    wanted.ephemeralBytes > 0 &&
    isBeyond(allocatable.ephemeralBytes, node.usedEphemeralBytes, wanted.ephemeralBytes)
  ) {
    reasons.push('Insufficient ephemeral-storage');
  }
  for (const [name, amount] of wanted.scalars) {
    const [all, used] = [allocatable.scalars.get(name) ?? 0, node.usedScalars.get(name) ?? 0];
    if (amount > 0 && isBeyond(all, used, amount)) reasons.push(`Insufficient ${name}`);
  }
  return reasons;
}

/** Fast path without allocations: most nodes have free capacity. */
function fits(node: NodeInfo, wanted: Amounts): boolean {
  return (
    node.pods.size < node.maxPods &&
    (wanted.milliCpu === 0 || !isBeyond(node.allocatable.milliCpu, node.usedMilliCpu, wanted.milliCpu)) &&
    (wanted.memoryBytes === 0 ||
      !isBeyond(node.allocatable.memoryBytes, node.usedMemoryBytes, wanted.memoryBytes)) &&
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
