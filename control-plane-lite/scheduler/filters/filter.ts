/** Contract of a filter: decides which nodes cannot run a pod, and why. */
import type { FleetView } from '../fleet/fleet.ts';
import type { NodeInfo, PodInfo, Refusal } from '../fleet/model.ts';

/** Events that can make a rejected pod schedulable. */
export type WakeEvent =
  | 'nodeAdded'
  | 'nodeAllocatable'
  | 'nodeLabels'
  | 'nodeTaints'
  /** A pod on a node came, or changed its labels. */
  | 'podCame'
  /** A pod on a node went, ended, or began to be deleted. */
  | 'podGone'
  /** A claim, a volume or a class changed. */
  | 'volumes';

/** `undefined`: the node is feasible. */
export type NodeCheck = (node: NodeInfo) => Refusal | undefined;

export type Prepared =
  /** The filter does not apply to the pod. */
  | undefined
  | { readonly kind: 'check'; readonly check: NodeCheck }
  /** No node will do. */
  | { readonly kind: 'none'; readonly refusal: Refusal };

export interface Filter {
  readonly name: string;
  readonly wokenBy: readonly WakeEvent[];
  /** Whether the check depends on pods of other nodes, so that it is recomputed when pods are added or removed. */
  readonly looksAround: boolean;
  prepare(pod: PodInfo, fleet: FleetView): Prepared;
}

export const check = (nodeCheck: NodeCheck): Prepared => ({ kind: 'check', check: nodeCheck });

/** No deletion on a node can make this filter pass. */
export const lasting = (...reasons: readonly string[]): Refusal => ({ reasons, resolvable: false });

/** The node would be feasible if other pods were removed. */
export const resolvable = (...reasons: readonly string[]): Refusal => ({ reasons, resolvable: true });
