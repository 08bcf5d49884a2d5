/** One probe of one container: makes it again and again at its times and keeps what follows from the outcomes.
 *  Each is bounded by its timeout, and the next one begins when its outcome is known. */
import { asError, type Clock, type Timer } from '#api/kit/clock.ts';
import type { Container, Probe } from '#api/schema/gen/core-v1.ts';
import {
  afterOutcome,
  firstProbeDelayMs,
  initialState,
  nextProbeAtMs,
  type ProbeKind,
  type ProbeState,
  probeTiming,
} from './probe-state.ts';
import type { ProbeResult, ProbeRunner } from './runner.ts';

export interface ProbeWorkerDeps {
  readonly clock: Clock;
  readonly run: ProbeRunner;
  /** Read anew for every probe. */
  readonly podIP: () => string;
  /** Told of every outcome, after `state` was brought up to date. */
  readonly onResult: (kind: ProbeKind, result: ProbeResult) => void;
}

export interface ProbeWorkerOptions {
  readonly kind: ProbeKind;
  readonly probe: Probe;
  readonly container: Container;
  readonly containerId: string;
  /** Wall time. */
  readonly startedAtMs: number;
  /** Share of the period, 0 to 1, by which the first probe is put off. */
  readonly jitter: number;
  readonly previous?: { readonly started: boolean; readonly ready: boolean } | undefined;
}

export interface ProbeWorker {
  readonly state: () => ProbeState;
  /** Begins probing, once; nothing when the probe has done its work already. */
  start(): void;
  /** Ends probing for good; an outcome under way is not told. */
  stop(): void;
}

/** An exec is ended by the runtime itself; only a runtime that doesn't is cut off. */
const EXEC_GRACE_MS = 2000;

export function createProbeWorker(deps: ProbeWorkerDeps, options: ProbeWorkerOptions): ProbeWorker {
  const { clock } = deps;
  const { kind, probe, container, containerId } = options;
  const timing = probeTiming(probe);
  let state = initialState(kind, options.previous);
  let timer: Timer | undefined;
  let underWay: AbortController | undefined;
  let stopped = false;

  function schedule(dueMs: number): void {
    timer = clock.setTimer(() => void step(dueMs), dueMs - clock.monotonic());
  }

  async function step(dueMs: number): Promise<void> {
    const result = await bounded();
    if (stopped) return;
    state = afterOutcome(kind, state, result.outcome, timing);
    if (!state.done) schedule(nextProbeAtMs(dueMs, clock.monotonic(), timing.periodMs));
    deps.onResult(kind, result);
  }

  /** Never rejects: what isn't the container's fault is unknown. */
  async function bounded(): Promise<ProbeResult> {
    const { timeoutMs } = timing;
    const limit = new AbortController();
    underWay = limit;
    let timedOut = false;
    const guard = clock.setTimer(
      () => {
        timedOut = true;
        limit.abort(new Error('probe timed out'));
      },
      timeoutMs + (probe.exec === undefined ? 0 : EXEC_GRACE_MS),
    );
    try {
      const request = { probe, container, containerId, podIP: deps.podIP(), timeoutMs };
      return await deps.run(request, limit.signal);
    } catch (thrown) {
      if (timedOut) return { outcome: 'failure', output: `timed out after ${timeoutMs / 1000}s` };
      return { outcome: 'unknown', output: asError(thrown).message };
    } finally {
      guard.cancel();
      underWay = undefined;
    }
  }

  return {
    state: () => state,
    start() {
      if (stopped || state.done || timer !== undefined) return;
      const { startedAtMs, jitter } = options;
      const { initialDelayMs, periodMs } = timing;
      const times = { startedAtMs, nowMs: clock.now(), initialDelayMs, jitterMs: jitter * periodMs };
      schedule(clock.monotonic() + firstProbeDelayMs(times));
    },
    stop() {
      stopped = true;
      timer?.cancel();
      underWay?.abort(new Error('probing was stopped'));
    },
  };
}
