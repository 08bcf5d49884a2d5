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

/** Order of magnitude of an age: ages that differ by less than half are equal. */
const magnitude = (ageMs: number): number => (ageMs > 0 ? Math.floor(Math.log2(ageMs * 1_000_000)) : -1);

/** Comparisons in order of precedence. Deviation: upstream skips restarts and age for two pods with similar
 *  ready times, which is not a transitive order. */
function differences(left: RankedPod, right: RankedPod, nowMs: number): readonly number[] {
  const [a, b] = [left.pod, right.pod];
  // A ready pod with an unknown transition time counts as the oldest.
  const readyFor = ({ ready, readySinceMs = 0 }: PodFacts): number =>
    ready ? magnitude(nowMs - readySinceMs) : 0;
  return [
    Number(a.nodeName !== '') - Number(b.nodeName !== ''),
    (PHASES[a.phase] ?? 0) - (PHASES[b.phase] ?? 0),
    Number(a.ready) - Number(b.ready),
    left.deletionCost - right.deletionCost,
    right.neighbours - left.neighbours,
    readyFor(a) - readyFor(b),
    b.restarts - a.restarts,
    magnitude(nowMs - a.createdMs) - magnitude(nowMs - b.createdMs),
    a.uid < b.uid ? -1 : Number(a.uid > b.uid),
  ];
}

const compare = (left: RankedPod, right: RankedPod, nowMs: number): number =>
  differences(left, right, nowMs).find((difference) => difference !== 0) ?? 0;

/** The pods in deletion order. */
export const rankForDeletion = (pods: readonly RankedPod[], nowMs: number): readonly PodFacts[] =>
  pods.toSorted((left, right) => compare(left, right, nowMs)).map(({ pod }) => pod);
