/** Worker of one probe of one container: runs it periodically and updates its state from the outcomes. Each
 *  run is bounded by its timeout, and the next one starts after it has completed. */

import type { Container, Probe } from '#api/gen/core-v1.ts';
import type { Clock, Timer } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import {
  afterOutcome,
  firstProbeDelayMs,
  initialState,
  nextProbeAtMs,
  type ProbeKind,
  type ProbeState,
  probeTiming,
} from './probe-state.ts';
import type { ProbeResult, ProbeRunner } from './probe-types.ts';

export interface ProbeWorkerDeps {
  readonly clock: Clock;
  readonly run: ProbeRunner;
  /** Queried for every probe. */
  readonly podIP: () => string;
  /** Called with every outcome, after the update of `state`. */
  readonly onResult: (kind: ProbeKind, result: ProbeResult) => void;
}

export interface ProbeWorkerOptions {
  readonly kind: ProbeKind;
  readonly probe: Probe;
  readonly container: Container;
  readonly containerId: string;
  /** Wall time. */
  readonly startedAtMs: number;
  /** Delay of the first probe as a share of the period, 0 to 1. */
  readonly jitter: number;
  readonly previous?: { readonly started: boolean; readonly ready: boolean } | undefined;
}

export interface ProbeWorker {
  readonly state: () => ProbeState;
  /** Starts probing, once; no effect when the probe is done already. */
  start(): void;
  /** Stops probing for good; an outcome in flight is not reported. */
  stop(): void;
}

/** The runtime itself enforces the timeout of an exec; only one that fails to is cut off. */
const EXEC_GRACE_MS = 2000;

export function createProbeWorker(deps: ProbeWorkerDeps, options: ProbeWorkerOptions): ProbeWorker {
  const { clock } = deps;
  const { kind, probe, container, containerId } = options;
  const timing = probeTiming(probe);
  let state = initialState(kind, options.previous);
  let timer: Timer | undefined;
  let inFlight: AbortController | undefined;
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

  /** Never rejects: errors of the prober are unknown outcomes. */
  async function bounded(): Promise<ProbeResult> {
    const { timeoutMs } = timing;
    const limit = new AbortController();
    inFlight = limit;
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
      inFlight = undefined;
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
      inFlight?.abort(new Error('probing was stopped'));
    },
  };
}
