/** Prefers nodes with much left, and nodes whose CPU and memory would be used evenly.
 *  Source: upstream's least allocated and balanced allocation, release 1.24. */
import type { NodeInfo, PodInfo } from '../model.ts';
import { MAX_SCORE, type Scorer } from './score.ts';

const share = (free: number, all: number): number =>
  all === 0 || free < 0 ? 0 : Math.trunc((free * MAX_SCORE) / all);

/** Mean of what is left of CPU and memory; of one of them if the node hasn't the other. */
function leastAllocatedScore({ shape }: PodInfo, node: NodeInfo): number {
  const { milliCpu, memoryBytes } = node.allocatable;
  const parts = Number(milliCpu > 0) + Number(memoryBytes > 0);
  if (parts === 0) return 0;
  const cpu = share(milliCpu - node.likelyMilliCpu - shape.likelyMilliCpu, milliCpu);
  const memory = share(memoryBytes - node.likelyMemoryBytes - shape.likelyMemoryBytes, memoryBytes);
  return Math.trunc((cpu + memory) / parts);
}

function balancedScore({ shape: { requests } }: PodInfo, node: NodeInfo): number {
  const { milliCpu, memoryBytes } = node.allocatable;
  if (milliCpu === 0 || memoryBytes === 0) return MAX_SCORE;
  const cpu = Math.min(1, (node.usedMilliCpu + requests.milliCpu) / milliCpu);
  const memory = Math.min(1, (node.usedMemoryBytes + requests.memoryBytes) / memoryBytes);
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
