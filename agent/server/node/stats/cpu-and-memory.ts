/** Reduces a summary to CPU and memory, which are cheap to retain for frequent readers. Pure. */
import type { ContainerStats, NodeStats, PodStats, Summary } from '#api/gen/stats-v1alpha1.ts';

const used = ({ cpu, memory }: Pick<NodeStats, 'cpu' | 'memory'>): Pick<NodeStats, 'cpu' | 'memory'> => ({
  ...(cpu === undefined ? {} : { cpu }),
  ...(memory === undefined ? {} : { memory }),
});

const ofContainer = (stats: ContainerStats): ContainerStats => ({
  name: stats.name,
  startTime: stats.startTime,
  ...used(stats),
});

const ofPod = (stats: PodStats): PodStats => ({
  podRef: stats.podRef,
  startTime: stats.startTime,
  containers: stats.containers.map(ofContainer),
  ...used(stats),
});

export const cpuAndMemory = ({ node, pods }: Summary): Summary => ({
  node: { nodeName: node.nodeName, startTime: node.startTime, ...used(node) },
  pods: pods.map(ofPod),
});
