/** Signals over thresholds to what the node does about them. Pure: what was, what is seen now, and the time give what
 *  is, which conditions hold, and which threshold is to be dealt with first.
 *
 *      seen ─▶ met ─▶ held for its grace period ─▶ pressing ─▶ reclaim from the node ─▶ still short ─▶ evict one pod
 *
 *  Source: upstream's eviction manager (`synchronize`), release 1.24. */
import { type Observations, type PressureCondition, SIGNAL_FACTS } from './signals.ts';
import { metBy, type Threshold } from './thresholds.ts';

/** What one look leaves to the next. Times are monotonic ms. */
export interface EvictionState {
  /** Thresholds met at the last look: they stay met until what they want to win back is there as well. */
  readonly met: ReadonlySet<Threshold>;
  readonly firstMetAtMs: ReadonlyMap<Threshold, number>;
  readonly conditionSeenAtMs: ReadonlyMap<PressureCondition, number>;
  readonly observations: Observations;
}

export const INITIAL_STATE: EvictionState = {
  met: new Set(),
  firstMetAtMs: new Map(),
  conditionSeenAtMs: new Map(),
  observations: new Map(),
};

export interface EvictionLook {
  readonly nowMs: number;
  readonly thresholds: readonly Threshold[];
  readonly observations: Observations;
  /** How long a condition stays after it was seen last, in ms. */
  readonly transitionMs: number;
}

export interface EvictionAssessment {
  readonly state: EvictionState;
  readonly conditions: ReadonlySet<PressureCondition>;
  /** What is to be dealt with now, the worst first. Empty while nothing is, or nothing new was measured. */
  readonly pressing: readonly Threshold[];
}

/** Memory first: it runs out fastest. Then hard before soft ones, then as they are configured. */
function worstFirst(thresholds: readonly Threshold[]): readonly Threshold[] {
  const rank = ({ signal, hard }: Threshold): number =>
    (SIGNAL_FACTS[signal].scarce === 'memory' ? 0 : 2) + (hard ? 0 : 1);
  return thresholds.toSorted((one, other) => rank(one) - rank(other));
}

function conditionsSeen(
  before: EvictionState['conditionSeenAtMs'],
  met: ReadonlySet<Threshold>,
  nowMs: number,
): ReadonlyMap<PressureCondition, number> {
  const seen = new Map(before);
  for (const { signal } of met) seen.set(SIGNAL_FACTS[signal].condition, nowMs);
  return seen;
}

/** A figure from before the last look says nothing of what was done since. */
function isNews(threshold: Threshold, look: EvictionLook, before: EvictionState): boolean {
  const now = look.observations.get(threshold.signal);
  const last = before.observations.get(threshold.signal);
  return now !== undefined && (last === undefined || now.atMs > last.atMs);
}

export function assess(before: EvictionState, look: EvictionLook): EvictionAssessment {
  const { nowMs, thresholds, observations, transitionMs } = look;
  const known = thresholds.filter((threshold) => before.met.has(threshold));
  const met = new Set([
    ...metBy(thresholds, observations, false),
    ...metBy(known, observations, true),
    // What can't be seen any more is as it was.
    ...known.filter(({ signal }) => !observations.has(signal)),
  ]);
  const firstMetAtMs = new Map(
    [...met].map((threshold) => [threshold, before.firstMetAtMs.get(threshold) ?? nowMs]),
  );
  const conditionSeenAtMs = conditionsSeen(before.conditionSeenAtMs, met, nowMs);
  const conditions = new Set(
    [...conditionSeenAtMs]
      .filter(([condition, atMs]) => nowMs - atMs < transitionMs || seenNow(condition, met))
      .map(([condition]) => condition),
  );
  const pressing = [...met].filter(
    (threshold) =>
      nowMs - (firstMetAtMs.get(threshold) ?? nowMs) >= threshold.graceMs && isNews(threshold, look, before),
  );
  const state = { met, firstMetAtMs, conditionSeenAtMs, observations: newest(before, observations) };
  return { state, conditions, pressing: worstFirst(pressing) };
}

function seenNow(condition: PressureCondition, met: ReadonlySet<Threshold>): boolean {
  return [...met].some(({ signal }) => SIGNAL_FACTS[signal].condition === condition);
}

function newest(before: EvictionState, observations: Observations): Observations {
  return new Map([...before.observations, ...observations]);
}

/** Whether the node is still short after it gave up what nobody needs: what is to be won back counts. */
export function isStillShort(threshold: Threshold, observations: Observations): boolean {
  return metBy([threshold], observations, true).length > 0;
}
