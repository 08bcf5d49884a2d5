/** Which pods go first when there are too many: those whose loss hurts least. Pure.
 *  Source: upstream's ranking of active pods, release 1.24. */
import type { PodFacts } from './pod-facts.ts';

export interface RankedPod {
  readonly pod: PodFacts;
  /** What it is said to cost, by an annotation. */
  readonly deletionCost: number;
  /** How many pods of the same kind are on its node. */
  readonly neighbours: number;
}

const PHASES: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };

/** Order of magnitude of an age: what differs by less than half counts as the same. */
const magnitude = (ageMs: number): number => (ageMs > 0 ? Math.floor(Math.log2(ageMs * 1_000_000)) : -1);

/** Differences in the order of their weight. Deviation: upstream skips restarts and age where two pods have been ready
 *  for about as long, which makes no order of three pods. */
function differences(left: RankedPod, right: RankedPod, nowMs: number): readonly number[] {
  const [a, b] = [left.pod, right.pod];
  // A ready pod whose time is not known was never seen to become ready: it is taken for the oldest.
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

/** The pods, the first to go first. */
export const rankForDeletion = (pods: readonly RankedPod[], nowMs: number): readonly PodFacts[] =>
  pods.toSorted((left, right) => compare(left, right, nowMs)).map(({ pod }) => pod);
