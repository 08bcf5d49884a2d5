/** What a probe's outcomes mean for its container. Pure: no clock, no I/O.
 *
 *  A result changes when an outcome came often enough in a row. A startup probe that succeeded has done its work;
 *  a startup or liveness probe that failed has too, since its container will be replaced. A readiness probe goes
 *  on for the container's life. An unknown outcome (the probe itself could not be made) changes nothing.
 *  Source: upstream's container probes. */
import type { Probe } from '#api/schema/gen/core-v1.ts';

export type ProbeKind = 'startup' | 'liveness' | 'readiness';

/** `warning` counts as success and is told to the user; `unknown` counts as nothing. */
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
  /** The last outcome that counted, and how often it came in a row. */
  readonly last: 'success' | 'failure' | undefined;
  readonly streak: number;
  /** Whether this container is probed no more. */
  readonly done: boolean;
}

/** The probe's times and thresholds with upstream's defaults: every 10 s, 1 s each, 1 success, 3 failures. */
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

/** Before the first outcome a container is not started, alive and not ready; or as an earlier agent left it. */
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

/** The state after one more outcome. */
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

/** What is known of one container: an absent state is a probe that it doesn't have. */
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

/** How long to wait for the first probe: what is left of the initial delay, at least `jitterMs`.
 *  A wall clock that was set back makes it no longer than the delay itself. */
export function firstProbeDelayMs(times: {
  readonly startedAtMs: number;
  readonly nowMs: number;
  readonly initialDelayMs: number;
  readonly jitterMs: number;
}): number {
  const leftMs = times.startedAtMs + times.initialDelayMs - times.nowMs;
  return Math.max(0, times.jitterMs, Math.min(leftMs, times.initialDelayMs));
}

/** When the next probe is due: one period after the last one was, so that times don't drift. A probe that took
 *  longer is followed at once; what was missed beyond one period (the machine slept) is forgotten. */
export function nextProbeAtMs(dueMs: number, nowMs: number, periodMs: number): number {
  const nextMs = dueMs + periodMs;
  return nextMs < nowMs - periodMs ? nowMs : nextMs;
}
