/** Contract of a filter: decides which nodes cannot run a pod, and why. */
import type { FleetView } from '../fleet/fleet.ts';
import type { NodeInfo, PodInfo, Refusal } from '../fleet/model.ts';

/** What may happen so that a pod which was refused fits. */
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
  /** Whether its check is made of pods of other nodes, so that it must be made anew when pods come or go. */
  readonly looksAround: boolean;
  prepare(pod: PodInfo, fleet: FleetView): Prepared;
}

export const check = (ask: NodeCheck): Prepared => ({ kind: 'check', check: ask });

/** Nothing that goes from a node changes its mind. */
export const lasting = (...reasons: readonly string[]): Refusal => ({ reasons, resolvable: false });

/** The node would be feasible if other pods were removed. */
export const resolvable = (...reasons: readonly string[]): Refusal => ({ reasons, resolvable: true });
