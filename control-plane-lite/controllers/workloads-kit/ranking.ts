/** Order in which surplus pods are deleted: those whose loss costs least come first. Pure. Source: upstream's
 *  ranking of active pods, release 1.24. */
import type { PodFacts } from './pod-facts.ts';

export interface RankedPod {
  readonly pod: PodFacts;
  /** Deletion cost from its annotation. */
  readonly deletionCost: number;
  /** Number of related pods on its node. */
  readonly neighbours: number;
}

const PHASES: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };

export interface RankingTerms {
  readonly nowMs: number;
  /** Ages of the same order of magnitude are equal; otherwise the younger pod comes first. */
  readonly logarithmic: boolean;
}

/** Order of magnitude of an age: ages that differ by less than half are equal. */
const magnitude = (ageMs: number): number => (ageMs > 0 ? Math.floor(Math.log2(ageMs * 1_000_000)) : -1);

/** Comparisons in order of precedence. Deviation: upstream skips restarts and age for two pods with similar
 *  ready times, which is not a transitive order. */
function differences(
  left: RankedPod,
  right: RankedPod,
  { nowMs, logarithmic }: RankingTerms,
): readonly number[] {
  const ranked = (ageMs: number): number => (logarithmic ? magnitude(ageMs) : Math.max(ageMs, -1));
  const [a, b] = [left.pod, right.pod];
  // A ready pod with an unknown transition time counts as the oldest.
  const readyFor = ({ ready, readySinceMs = 0 }: PodFacts): number =>
    ready ? ranked(nowMs - readySinceMs) : 0;
  return [
    Number(a.nodeName !== '') - Number(b.nodeName !== ''),
    (PHASES[a.phase] ?? 0) - (PHASES[b.phase] ?? 0),
    Number(a.ready) - Number(b.ready),
    left.deletionCost - right.deletionCost,
    right.neighbours - left.neighbours,
    readyFor(a) - readyFor(b),
    b.restarts - a.restarts,
    ranked(nowMs - a.createdMs) - ranked(nowMs - b.createdMs),
    a.uid < b.uid ? -1 : Number(a.uid > b.uid),
  ];
}

const compare = (left: RankedPod, right: RankedPod, terms: RankingTerms): number =>
  differences(left, right, terms).find((difference) => difference !== 0) ?? 0;

/** The pods in deletion order. */
export const rankForDeletion = (pods: readonly RankedPod[], terms: RankingTerms): readonly PodFacts[] =>
  pods.toSorted((left, right) => compare(left, right, terms)).map(({ pod }) => pod);
