/** Score: prefers nodes with the most unallocated resources, and with balanced use of CPU and memory. Source:
 *  upstream's least allocated and balanced allocation, release 1.24. */
import type { Int64 } from '#api/kit/int64.ts';
import type { NodeInfo, PodInfo } from '../fleet/model.ts';
import { MAX_SCORE, type Scorer } from './score.ts';

/** The nearest numbers are good enough for a score. */
function share(all: Int64, used: Int64, wanted: Int64): number {
  const free = Number(all) - Number(used) - Number(wanted);
  return all === 0 || free < 0 ? 0 : Math.trunc((free * MAX_SCORE) / Number(all));
}

/** Returns the mean of the free shares of CPU and memory, or the only one that the node has. */
function leastAllocatedScore({ shape }: PodInfo, node: NodeInfo): number {
  const { milliCpu, memoryBytes } = node.allocatable;
  const parts = Number(milliCpu > 0) + Number(memoryBytes > 0);
  if (parts === 0) return 0;
  const cpu = share(milliCpu, node.likelyMilliCpu, shape.likelyMilliCpu);
  const memory = share(memoryBytes, node.likelyMemoryBytes, shape.likelyMemoryBytes);
  return Math.trunc((cpu + memory) / parts);
}

function balancedScore({ shape: { requests } }: PodInfo, node: NodeInfo): number {
  const { milliCpu, memoryBytes } = node.allocatable;
  if (milliCpu === 0 || memoryBytes === 0) return MAX_SCORE;
  const cpu = Math.min(1, (Number(node.usedMilliCpu) + Number(requests.milliCpu)) / Number(milliCpu));
  const memory = Math.min(
    1,
    (Number(node.usedMemoryBytes) + Number(requests.memoryBytes)) / Number(memoryBytes),
  );
  return Math.trunc((1 - Math.abs(cpu - memory) / 2) * MAX_SCORE);
}

export const leastAllocated: Scorer = {
  name: 'NodeResourcesFit',
  weight: 1,
  score: (pod, nodes) => nodes.map((node) => leastAllocatedScore(pod, node)),
};

export const balancedAllocation: Scorer = {
  name: 'NodeResourcesBalancedAllocation',
  weight: 1,
  score: (pod, nodes) => nodes.map((node) => balancedScore(pod, node)),
};
