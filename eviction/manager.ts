/** Eviction manager: checks the signals of the node and acts on met thresholds, evicting at most one pod at a
 *  time: the effect of one eviction must be observed before the next. Woken periodically and by notifications
 *  (`wake`).
 *  Source: upstream's eviction manager, release 1.24. */
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
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
  /** Grace period of the pod; 0 for none, undefined for that of the pod. */
  readonly graceSeconds: number | undefined;
  /** Message of the eviction. */
  readonly message: string;
}

export interface EvictionDeps<T> {
  readonly clock: Clock;
  readonly log: Logger;
  /** Measures all signals. */
  readonly observe: (signal: AbortSignal) => Promise<Observations>;
  /** Reclaims dead containers and unused images. Does nothing if that cannot help. */
  readonly reclaim: (short: Signal, signal: AbortSignal) => Promise<void>;
  /** Returns running pods with their usage of the resource. */
  readonly candidates: (short: Signal, signal: AbortSignal) => Promise<readonly Candidate<T>[]>;
  /** Evicts the pod; resolves when it has ended, or after a maximum wait. */
  readonly evict: (order: EvictionOrder<T>, signal: AbortSignal) => Promise<void>;
  /** Evicts pods that exceed their local storage limits; returns whether there were any. */
  readonly enforceLimits?: (signal: AbortSignal) => Promise<boolean>;
  /** Called when the conditions change. */
  readonly conditionsChanged: (conditions: ReadonlySet<PressureCondition>) => void;
  /** Called after an eviction, with the age of the observation that caused it, in ms. */
  readonly evicted?: (short: Signal, ageMs: number) => void;
  /** Called before anything is reclaimed. */
  readonly thresholdMet?: (short: Signal) => void;
  /** Called after each check, when the conditions are known. */
  readonly checked?: () => void;
  /** Returns the time in ms after which a threshold may be crossed without a notification; undefined for
   *  none. */
  readonly nextCrossingMs?: () => number | undefined;
}

export interface EvictionOptions {
  readonly thresholds: readonly Threshold[];
  /** Time for which a condition persists after it was last observed, in ms. */
  readonly transitionMs: number;
  /** Maximum grace period of a soft eviction in seconds; negative uses that of the pod. */
  readonly maxPodGraceSeconds: number;
  /** Time between checks in ms. */
  readonly periodMs: number;
}

/** Current state, for display. */
export interface EvictionStanding {
  readonly thresholds: readonly Threshold[];
  /** Thresholds met at the last check. */
  readonly met: ReadonlySet<Threshold>;
  readonly observations: Observations;
  readonly conditions: ReadonlySet<PressureCondition>;
}

export interface EvictionManager {
  readonly standing: () => EvictionStanding;
  /** Triggers a check: a threshold may have been crossed. */
  readonly wake: () => void;
  readonly run: (signal: AbortSignal) => Promise<void>;
  /** Runs one check and acts on it. Returns whether a pod was evicted. */
  readonly check: (signal: AbortSignal) => Promise<boolean>;
}

/** Minimum time between checks, in ms: after an eviction, the signals need a moment to change. */
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

  async function check(signal: AbortSignal): Promise<boolean> {
    const observations = await deps.observe(signal);
    const { thresholds, transitionMs } = options;
    const nowMs = clock.monotonic();
    const assessment = assess(state, { nowMs, thresholds, observations, transitionMs });
    ({ state } = assessment);
    setConditions(assessment.conditions);
    deps.checked?.();
    if ((await deps.enforceLimits?.(signal)) === true) return true;
    for (const threshold of assessment.pressing) {
      if (await relieve(threshold, signal)) return true;
    }
    return false;
  }

  /** Returns the time until the next check, which comes earlier when a condition may end. */
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
    log.warn({ signal: short, of: SIGNAL_FACTS[short].resource }, 'Eviction threshold met');
    deps.thresholdMet?.(short);
    await deps.reclaim(short, signal);
    signal.throwIfAborted();
    const observations = await deps.observe(signal);
    if (!isStillShort(threshold, observations)) return false;
    const [evicted] = rank(short, await deps.candidates(short, signal));
    if (evicted === undefined) {
      log.error({ signal: short }, 'Node under pressure; no pod can be evicted');
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
      const evicted = await check(signal);
      return clock.now() + (evicted ? LEAST_WAIT_MS : waitMs());
    },
    onError: (error) => log.error({ err: asError(error) }, 'Failed to check eviction thresholds'),
  });

  return {
    standing: () => {
      const { met, observations } = state;
      return { thresholds: options.thresholds, met, observations, conditions };
    },
    wake: () => loop.wake(),
    check,
    async run(signal) {
      loop.wake();
      await loop.run(signal);
    },
  };
}
