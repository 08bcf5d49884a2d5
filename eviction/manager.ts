/** Watches the node's signals and does what has to be done, at most one pod at a time: what was won back by ending one
 *  has to be seen before the next is ended. Woken by its period and by whoever knows sooner (`wake`).
 *  Source: upstream's eviction manager, release 1.24. */
import { asError, type Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createLoop } from '#api/kit/loop.ts';
import { assess, type EvictionState, INITIAL_STATE, isStillShort } from './decide.ts';
import { type Candidate, explain, rank } from './ranking.ts';
import {
  type Observation,
  type Observations,
  type PressureCondition,
  SIGNAL_FACTS,
  type Signal,
} from './signals.ts';
import { leastAvailable, type Threshold } from './thresholds.ts';

export interface EvictionOrder<T> {
  readonly pod: T;
  /** Time that the pod has to end by itself; 0 for none, undefined for its own. */
  readonly graceSeconds: number | undefined;
  /** Why, in sentences. */
  readonly message: string;
}

export interface EvictionDeps<T> {
  readonly clock: Clock;
  readonly log: Logger;
  /** Measures anew. */
  readonly observe: (signal: AbortSignal) => Promise<Observations>;
  /** Gives up what nobody needs: dead containers, unused images. Does nothing where nothing helps. */
  readonly reclaim: (short: Signal, signal: AbortSignal) => Promise<void>;
  /** Pods that run, with what each uses of what is short. */
  readonly candidates: (short: Signal, signal: AbortSignal) => Promise<readonly Candidate<T>[]>;
  /** Ends the pod; resolves when it is gone, or when waiting longer makes no sense. */
  readonly evict: (order: EvictionOrder<T>, signal: AbortSignal) => Promise<void>;
  /** Ends pods that use more local storage than they may; true if any was. */
  readonly enforceLimits?: (signal: AbortSignal) => Promise<boolean>;
  /** Told when the conditions are others. */
  readonly conditionsChanged: (conditions: ReadonlySet<PressureCondition>) => void;
  /** Told when a pod was ended, with the age of the figure that it was ended for, in ms. */
  readonly evicted?: (short: Signal, ageMs: number) => void;
  /** Told before anything is won back. */
  readonly thresholdMet?: (short: Signal) => void;
  /** Told after each look, when it is known whether anything is short. */
  readonly looked?: () => void;
  /** Time in ms after which something may run short that nobody tells of; undefined for none. */
  readonly nextCrossingMs?: () => number | undefined;
}

export interface EvictionOptions {
  readonly thresholds: readonly Threshold[];
  /** How long a condition stays after it was seen last, in ms. */
  readonly transitionMs: number;
  /** Longest grace period of a soft eviction in seconds; negative leaves it to the pod. */
  readonly maxPodGraceSeconds: number;
  /** Time between looks in ms. */
  readonly periodMs: number;
}

/** How things stand, for those who show it. */
export interface EvictionStanding {
  readonly thresholds: readonly Threshold[];
  /** Thresholds that were met at the last look. */
  readonly met: ReadonlySet<Threshold>;
  readonly observations: Observations;
  readonly conditions: ReadonlySet<PressureCondition>;
}

export interface EvictionManager {
  readonly standing: () => EvictionStanding;
  /** Looks as soon as possible: something may have run short. */
  readonly wake: () => void;
  readonly run: (signal: AbortSignal) => Promise<void>;
  /** One look and what follows from it. True if a pod was evicted. */
  readonly look: (signal: AbortSignal) => Promise<boolean>;
}

/** Between looks that come early, in ms: after an eviction, figures need a moment to be others. */
const LEAST_WAIT_MS = 1000;

function orderFor<T>(
  threshold: Threshold,
  seen: Observation | undefined,
  evicted: Candidate<T>,
  maxPodGraceSeconds: number,
): EvictionOrder<T> {
  const { signal: short, hard } = threshold;
  const least = leastAvailable(threshold, seen?.capacity ?? 0, false);
  const message = explain({ signal: short, available: seen?.available ?? 0, least }, evicted);
  const soft = maxPodGraceSeconds < 0 ? undefined : maxPodGraceSeconds;
  return { pod: evicted.pod, graceSeconds: hard ? 0 : soft, message };
}

export function createEvictionManager<T>(deps: EvictionDeps<T>, options: EvictionOptions): EvictionManager {
  const { clock, log } = deps;
  let state: EvictionState = INITIAL_STATE;
  let conditions: ReadonlySet<PressureCondition> = new Set();

  function setConditions(next: ReadonlySet<PressureCondition>): void {
    const same = next.size === conditions.size && [...next].every((one) => conditions.has(one));
    conditions = next;
    if (!same) deps.conditionsChanged(next);
  }

  async function look(signal: AbortSignal): Promise<boolean> {
    const observations = await deps.observe(signal);
    const { thresholds, transitionMs } = options;
    const nowMs = clock.monotonic();
    const assessment = assess(state, { nowMs, thresholds, observations, transitionMs });
    ({ state } = assessment);
    setConditions(assessment.conditions);
    deps.looked?.();
    if ((await deps.enforceLimits?.(signal)) === true) return true;
    for (const threshold of assessment.pressing) {
      if (await relieve(threshold, signal)) return true;
    }
    return false;
  }

  /** A condition is looked at again when it may end. */
  function waitMs(): number {
    const { transitionMs } = options;
    const periodMs = Math.min(options.periodMs, deps.nextCrossingMs?.() ?? options.periodMs);
    if (conditions.size === 0) return periodMs;
    const nowMs = clock.monotonic();
    const ends = [...conditions].map((one) => (state.conditionSeenAtMs.get(one) ?? nowMs) + transitionMs);
    return Math.min(periodMs, Math.max(LEAST_WAIT_MS, Math.min(...ends) - nowMs));
  }

  /** @returns whether a pod was evicted */
  async function relieve(threshold: Threshold, signal: AbortSignal): Promise<boolean> {
    const { signal: short } = threshold;
    log.warn({ signal: short, of: SIGNAL_FACTS[short].resource }, 'The node ran short');
    deps.thresholdMet?.(short);
    await deps.reclaim(short, signal);
    signal.throwIfAborted();
    const observations = await deps.observe(signal);
    if (!isStillShort(threshold, observations)) return false;
    const [evicted] = rank(short, await deps.candidates(short, signal));
    if (evicted === undefined) {
      log.error({ signal: short }, 'The node is short and there is no pod that may be evicted');
      return false;
    }
    const seen = observations.get(short);
    const nowMs = clock.monotonic();
    const ageMs = nowMs - (seen?.atMs ?? nowMs);
    await deps.evict(orderFor(threshold, seen, evicted, options.maxPodGraceSeconds), signal);
    deps.evicted?.(short, ageMs);
    return true;
  }

  const loop = createLoop({
    clock,
    step: async (signal) => {
      const evicted = await look(signal);
      return clock.now() + (evicted ? LEAST_WAIT_MS : waitMs());
    },
    onError: (error) => log.error({ err: asError(error) }, 'Signals of the node could not be looked at'),
  });

  return {
    standing: () => {
      const { met, observations } = state;
      return { thresholds: options.thresholds, met, observations, conditions };
    },
    wake: () => loop.wake(),
    look,
    async run(signal) {
      loop.wake();
      await loop.run(signal);
    },
  };
}
