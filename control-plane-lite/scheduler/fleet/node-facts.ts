/** Parses the fields of a node that scheduling reads, and reports which of them changed. Pure. */

import type { Node, Taint } from '#api/gen/core-v1.ts';
import type { Int64 } from '#api/kit/int64.ts';
import { exactValue } from '#api/meta/quantity.ts';
import { readAmounts } from './amounts.ts';
import type { Amounts, SchedulerLabelKeys } from './model.ts';

export interface NodeFacts {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly unschedulable: boolean;
  readonly allocatable: Amounts;
  readonly maxPods: number;
  readonly images: ReadonlyMap<string, number>;
  readonly zone: string;
}

/** Source: upstream's node tree, which knows older labels too. */
function zoneOf(labels: Readonly<Record<string, string>>, { zones }: SchedulerLabelKeys): string {
  for (const label of zones) {
    const zone = labels[label];
    if (zone !== undefined) return zone;
  }
  return '';
}

export function readNode(node: Node, labelKeys: SchedulerLabelKeys): NodeFacts {
  const { metadata = {}, spec = {}, status = {} } = node;
  const labels = metadata.labels ?? {};
  const allocatable = status.allocatable ?? {};
  const images = new Map<string, number>();
  for (const { names = [], sizeBytes = 0 } of status.images ?? []) {
    for (const name of names) images.set(name, Number(sizeBytes));
  }
  return {
    name: metadata.name ?? '',
    labels,
    taints: spec.taints ?? [],
    unschedulable: spec.unschedulable === true,
    allocatable: readAmounts(allocatable),
    maxPods: Number(exactValue(allocatable['pods'] ?? '0')),
    images,
    zone: zoneOf(labels, labelKeys),
  };
}

const sameMap = (a: ReadonlyMap<string, Int64>, b: ReadonlyMap<string, Int64>): boolean =>
  a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);

const sameAmounts = (a: NodeFacts, b: NodeFacts): boolean =>
  a.maxPods === b.maxPods &&
  a.allocatable.milliCpu === b.allocatable.milliCpu &&
  a.allocatable.memoryBytes === b.allocatable.memoryBytes &&
  a.allocatable.ephemeralBytes === b.allocatable.ephemeralBytes &&
  sameMap(a.allocatable.scalars, b.allocatable.scalars);

const sameText = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

export type NodeChange = 'nodeAllocatable' | 'nodeLabels' | 'nodeTaints';

/** Changes of a node that can make pods schedulable. */
export function nodeChanges(before: NodeFacts, after: NodeFacts): readonly NodeChange[] {
  const changes: NodeChange[] = [];
  if (!sameAmounts(before, after)) changes.push('nodeAllocatable');
  if (!sameText(before.labels, after.labels)) changes.push('nodeLabels');
  if (before.unschedulable !== after.unschedulable || !sameText(before.taints, after.taints)) {
    changes.push('nodeTaints');
  }
  return changes;
}
