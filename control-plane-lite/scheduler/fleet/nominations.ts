/** Nominated pods of each node: those that wait there for preempted pods to terminate. */
import type { PodInfo } from './model.ts';

const NO_PODS: readonly PodInfo[] = [];

export function createNominations(): {
  of(nodeName: string): Iterable<PodInfo>;
  set(pod: PodInfo, nodeName: string): void;
  remove(key: string): void;
} {
  const byNode = new Map<string, Map<string, PodInfo>>();
  const nodeOfPod = new Map<string, string>();
  function remove(key: string): void {
    const nodeName = nodeOfPod.get(key);
    if (nodeName === undefined) return;
    nodeOfPod.delete(key);
    const pods = byNode.get(nodeName);
    pods?.delete(key);
    if (pods?.size === 0) byNode.delete(nodeName);
  }
  return {
    of: (nodeName) => byNode.get(nodeName)?.values() ?? NO_PODS,
    set(pod, nodeName) {
      remove(pod.key);
      nodeOfPod.set(pod.key, nodeName);
      const pods = byNode.get(nodeName);
      if (pods === undefined) byNode.set(nodeName, new Map([[pod.key, pod]]));
      else pods.set(pod.key, pod);
    },
    remove,
  };
}
