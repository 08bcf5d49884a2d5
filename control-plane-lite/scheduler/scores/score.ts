/** Contract of a scorer: ranks the nodes that passed all filters. */
import type { FleetView } from '../fleet/fleet.ts';
import type { NodeInfo, PodInfo } from '../fleet/model.ts';

/** The best score of a node. */
export const MAX_SCORE = 100;

/** From 0 to `MAX_SCORE` for each of the nodes, in their order. */
export type NodeScores = readonly number[] | Float64Array;

export interface Scorer {
  readonly name: string;
  readonly weight: number;
  /** `undefined`: all nodes are the same to it. */
  score(pod: PodInfo, nodes: readonly NodeInfo[], fleet: FleetView): NodeScores | undefined;
}

/** Scales so that the largest is the best; with nothing above zero all are 0. */
export function scaled(scores: readonly number[], reverse = false): NodeScores {
  let most = 0;
  for (const score of scores) most = Math.max(most, score);
  if (most === 0) return scores.map(() => (reverse ? MAX_SCORE : 0));
  return scores.map((score) => {
    const share = Math.trunc((MAX_SCORE * score) / most);
    return reverse ? MAX_SCORE - share : share;
  });
}
