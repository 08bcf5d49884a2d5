/** Pod counts by shape and node, so that rules about other pods visit shapes instead of pods. */
import type { NodeInfo, PodInfo, PodShape } from './model.ts';

/** Number of pods of one shape by node. */
export interface PodGroup {
  readonly shape: PodShape;
  readonly living: ReadonlyMap<NodeInfo, number>;
  readonly terminating: ReadonlyMap<NodeInfo, number>;
}

interface Group {
  readonly shape: PodShape;
  readonly living: Map<NodeInfo, number>;
  readonly terminating: Map<NodeInfo, number>;
}

const hasPodTerms = ({ requiredAffinity, requiredAntiAffinity, preferredPodTerms }: PodShape): boolean =>
  requiredAffinity.length + requiredAntiAffinity.length + preferredPodTerms.length > 0;

/** Counts pods by shape and node. */
export function createGroups(): {
  readonly all: ReadonlyMap<PodShape, Group>;
  readonly withPodTerms: ReadonlyMap<PodShape, Group>;
  lowestPriority(): number;
  count(pod: PodInfo, node: NodeInfo, by: 1 | -1): void;
} {
  const all = new Map<PodShape, Group>();
  const withPodTerms = new Map<PodShape, Group>();
  /** Pods by priority; few distinct values exist. */
  const priorities = new Map<number, number>();
  return {
    all,
    withPodTerms,
    lowestPriority: () => Math.min(...priorities.keys()),
    count({ shape, terminating }, node, by) {
      const withPriority = (priorities.get(shape.priority) ?? 0) + by;
      if (withPriority === 0) priorities.delete(shape.priority);
      else priorities.set(shape.priority, withPriority);
      let group = all.get(shape);
      if (group === undefined) {
        group = { shape, living: new Map(), terminating: new Map() };
        all.set(shape, group);
        if (hasPodTerms(shape)) withPodTerms.set(shape, group);
      }
      const counts = terminating ? group.terminating : group.living;
      const left = (counts.get(node) ?? 0) + by;
      if (left === 0) counts.delete(node);
      else counts.set(node, left);
      if (group.living.size > 0 || group.terminating.size > 0) return;
      all.delete(shape);
      withPodTerms.delete(shape);
    },
  };
}
