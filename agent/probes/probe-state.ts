/** State machine of a probe. Pure: no clock, no I/O.
 *
 *  A result changes after enough equal outcomes in a row. A startup probe is done once it has succeeded; a
 *  startup or liveness probe also once it has failed, since its container will be replaced. A readiness probe
 *  runs for the lifetime of the container. An unknown outcome (an error of the prober) changes nothing.
 *  Source: upstream's container probes. */
import type { Probe } from '#api/gen/core-v1.ts';

export type ProbeKind = 'startup' | 'liveness' | 'readiness';

/** `warning` counts as success and emits an event; `unknown` is ignored. */
export type ProbeOutcome = 'success' | 'warning' | 'failure' | 'unknown';

export interface ProbeTiming {
  /** From the start of the container. */
  readonly initialDelayMs: number;
  readonly periodMs: number;
  readonly timeoutMs: number;
  readonly successThreshold: number;
  readonly failureThreshold: number;
}

export interface ProbeState {
  readonly result: 'success' | 'failure' | 'unknown';
  /** The last counted outcome, and its number of repetitions. */
  readonly last: 'success' | 'failure' | undefined;
  readonly streak: number;
  /** Whether the probe is done. */
  readonly done: boolean;
}

/** Returns times and thresholds with upstream's defaults: every 10 s, 1 s each, 1 success, 3 failures. */
export function probeTiming(probe: Probe): ProbeTiming {
  return {
    initialDelayMs: Math.max(0, probe.initialDelaySeconds ?? 0) * 1000,
    periodMs: atLeastOne(probe.periodSeconds, 10) * 1000,
    timeoutMs: atLeastOne(probe.timeoutSeconds, 1) * 1000,
    successThreshold: atLeastOne(probe.successThreshold, 1),
    failureThreshold: atLeastOne(probe.failureThreshold, 3),
  };
}

const atLeastOne = (value: number | undefined, byDefault: number): number =>
  value === undefined || value < 1 ? byDefault : value;

/** Before the first outcome a container is not started, alive and not ready; or as in the earlier run. */
export function initialState(
  kind: ProbeKind,
  previous?: { readonly started: boolean; readonly ready: boolean },
): ProbeState {
  const fresh = { last: undefined, streak: 0, done: false } as const;
  switch (kind) {
    case 'startup':
      return previous?.started === true
        ? { ...fresh, result: 'success', done: true }
        : { ...fresh, result: 'unknown' };
    case 'liveness':
      return { ...fresh, result: 'success' };
    case 'readiness':
      return { ...fresh, result: previous?.ready === true ? 'success' : 'failure' };
    default:
      return kind satisfies never;
  }
}

/** Returns the state after one more outcome. */
export function afterOutcome(
  kind: ProbeKind,
  state: ProbeState,
  outcome: ProbeOutcome,
  timing: Pick<ProbeTiming, 'successThreshold' | 'failureThreshold'>,
): ProbeState {
  if (outcome === 'unknown' || state.done) return state;
  const last = outcome === 'failure' ? 'failure' : 'success';
  const streak = state.last === last ? state.streak + 1 : 1;
  const threshold = last === 'failure' ? timing.failureThreshold : timing.successThreshold;
  if (streak < threshold) return { ...state, last, streak };
  const done = (kind === 'startup' && last === 'success') || (kind !== 'readiness' && last === 'failure');
  return { result: last, last, streak, done };
}

/** Combines the probe states of one container: an absent state stands for an absent probe. */
export function verdictOf(states: Readonly<Partial<Record<ProbeKind, ProbeState>>>): {
  readonly started: boolean;
  readonly ready: boolean;
} {
  const started = states.startup === undefined || states.startup.result === 'success';
  return {
    started,
    ready: started && (states.readiness === undefined || states.readiness.result === 'success'),
  };
}

/** Returns the delay of the first probe: the rest of the initial delay, at least `jitterMs`.
 *  A wall clock that was set back cannot extend it beyond the delay itself. */
export function firstProbeDelayMs(times: {
  readonly startedAtMs: number;
  readonly nowMs: number;
  readonly initialDelayMs: number;
  readonly jitterMs: number;
}): number {
  const leftMs = times.startedAtMs + times.initialDelayMs - times.nowMs;
  return Math.max(0, times.jitterMs, Math.min(leftMs, times.initialDelayMs));
}

/** Returns the time of the next probe: one period after the scheduled time of the last one, to avoid drift. A
 *  longer probe is followed immediately; periods that were missed (the machine slept) are skipped. */
export function nextProbeAtMs(dueMs: number, nowMs: number, periodMs: number): number {
  const nextMs = dueMs + periodMs;
  return nextMs < nowMs - periodMs ? nowMs : nextMs;
}
