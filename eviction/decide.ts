/** Decides on node pressure from signals and thresholds. Pure: the previous state, the observations and the time
 *  determine the new state, the conditions, and the thresholds to act on.
 *
 *      observed ─▶ met ─▶ grace period over ─▶ pressing ─▶ reclaim resources ─▶ still met ─▶ evict one pod
 *
 *  Source: upstream's eviction manager (`synchronize`), release 1.24. */
import { type Observations, type PressureCondition, SIGNAL_FACTS } from './signals.ts';
import { metBy, type Threshold } from './thresholds.ts';

/** State between two checks. Times are monotonic ms. */
export interface EvictionState {
  /** Thresholds met at the last check: they stay met until the minimum reclaim is available as well. */
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

export interface EvictionInput {
  readonly nowMs: number;
  readonly thresholds: readonly Threshold[];
  readonly observations: Observations;
  /** Time for which a condition persists after it was last observed, in ms. */
  readonly transitionMs: number;
}

export interface EvictionAssessment {
  readonly state: EvictionState;
  readonly conditions: ReadonlySet<PressureCondition>;
  /** Thresholds to act on, the worst first. Empty without any, or without new observations. */
  readonly pressing: readonly Threshold[];
}

/** Memory first, since it runs out fastest. Then hard before soft thresholds, then in configured order. */
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

/** An observation from before the last check does not reflect actions since then. */
function isNews(threshold: Threshold, input: EvictionInput, before: EvictionState): boolean {
  const now = input.observations.get(threshold.signal);
  const last = before.observations.get(threshold.signal);
  return now !== undefined && (last === undefined || now.atMs > last.atMs);
}

export function assess(before: EvictionState, input: EvictionInput): EvictionAssessment {
  const { nowMs, thresholds, observations, transitionMs } = input;
  const known = thresholds.filter((threshold) => before.met.has(threshold));
  const met = new Set([
    ...metBy(thresholds, observations, false),
    ...metBy(known, observations, true),
    // A signal without an observation keeps its state.
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
      nowMs - (firstMetAtMs.get(threshold) ?? nowMs) >= threshold.graceMs && isNews(threshold, input, before),
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

/** Reports whether the threshold is still met after reclaiming, including the minimum reclaim. */
export function isStillShort(threshold: Threshold, observations: Observations): boolean {
  return metBy([threshold], observations, true).length > 0;
}
