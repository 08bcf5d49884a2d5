/** Pod affinity terms: the pods that a term selects, and their count in each topology domain. Pure. */
import { matchesLabels } from '#api/meta/selectors.ts';
import type { FleetView } from './fleet.ts';
import type { NodeInfo, PodShape, PodTerm } from './model.ts';
import type { PodGroup } from './pod-groups.ts';

type NamespaceLabels = FleetView['namespaceLabels'];

/** Whether the term is about pods of the shape. */
export function isAbout(term: PodTerm, shape: PodShape, namespaceLabels: NamespaceLabels): boolean {
  const { namespaces, namespaceSelector, selector } = term;
  if (selector === undefined) return false;
  const inPlace =
    namespaces.has(shape.namespace) ||
    (namespaceSelector !== undefined && matchesLabels(namespaceSelector, namespaceLabels(shape.namespace)));
  return inPlace && matchesLabels(selector, shape.labels);
}

/** Calls the visitor with each node that has pods of the group, and their number. */
export function eachNode(group: PodGroup, visit: (node: NodeInfo, count: number) => void): void {
  for (const [node, count] of group.living) visit(node, count);
  for (const [node, count] of group.terminating) visit(node, count);
}

/** Sums by label and its value: parts of the fleet. */
export class PlaceCounts {
  readonly #sums: Map<string, Map<string, number>> = new Map();

  add(key: string, node: NodeInfo, by: number): void {
    const value = node.labels[key];
    if (value === undefined) return;
    let values = this.#sums.get(key);
    if (values === undefined) {
      values = new Map();
      this.#sums.set(key, values);
    }
    values.set(value, (values.get(value) ?? 0) + by);
  }

  get isEmpty(): boolean {
    return this.#sums.size === 0;
  }

  /** The count where the node is; 0 if the node lacks the label. */
  at(key: string, node: NodeInfo): number {
    const value = node.labels[key];
    return value === undefined ? 0 : (this.#sums.get(key)?.get(value) ?? 0);
  }

  /** The sum over all labels. */
  total(node: NodeInfo): number {
    let sum = 0;
    for (const [key, values] of this.#sums) {
      const value = node.labels[key];
      if (value !== undefined) sum += values.get(value) ?? 0;
    }
    return sum;
  }
}
