/** All probes of one running container: the startup probe delays the others, and their states form one
 *  verdict. Stops with the container; a restarted container gets new probes. */
import type { Container, Pod } from '#api/gen/core-v1.ts';
import { type ProbeKind, type ProbeOutcome, type ProbeState, verdictOf } from './probe-state.ts';
import type { ProbeResult } from './probe-types.ts';
import type { ProbeVerdict } from './verdict.ts';
import { createProbeWorker, type ProbeWorker, type ProbeWorkerDeps } from './worker.ts';

/** A running container with probes. */
export interface ProbeTarget {
  readonly containerId: string;
  readonly container: Container;
  /** Wall time in ms. */
  readonly startedAtMs: number;
  /** Result of an earlier run for this container instance, so that an agent restart changes nothing. */
  readonly previous?: { readonly started: boolean; readonly ready: boolean };
}

export interface ContainerProbesDeps extends Omit<ProbeWorkerDeps, 'onResult'> {
  /** Called when the verdict has changed. */
  readonly onChange: () => void;
  readonly event: (reason: 'Unhealthy' | 'ProbeWarning', message: string) => void;
  /** Called after each probe. */
  readonly counted: (kind: ProbeKind, outcome: ProbeOutcome) => void;
}

export interface ContainerProbesOptions {
  readonly pod: Pod;
  readonly target: ProbeTarget;
  readonly jitter: number;
  /** Feature gate ProbeTerminationGracePeriod. */
  readonly probeGracePeriod: boolean;
}

export interface ContainerProbes {
  readonly verdict: () => ProbeVerdict;
  stop(): void;
}

const FIELDS = { startup: 'startupProbe', liveness: 'livenessProbe', readiness: 'readinessProbe' } as const;
const KINDS: readonly ProbeKind[] = ['startup', 'liveness', 'readiness'];
const NAMES: Readonly<Record<ProbeKind, string>> = {
  startup: 'Startup',
  liveness: 'Liveness',
  readiness: 'Readiness',
};

/** Reports whether the container has any probe. */
export const isProbed = (container: Container): boolean =>
  KINDS.some((kind) => container[FIELDS[kind]] !== undefined);

export function createContainerProbes(
  deps: ContainerProbesDeps,
  options: ContainerProbesOptions,
): ContainerProbes {
  const { target, jitter } = options;
  const { container } = target;
  const workers = new Map<ProbeKind, ProbeWorker>();
  let failure: ProbeVerdict['failure'];

  function onResult(kind: ProbeKind, result: ProbeResult): void {
    const before = JSON.stringify(known);
    deps.counted(kind, result.outcome);
    report(kind, result);
    const { result: reached } = workers.get(kind)?.state() ?? { result: 'unknown' };
    if (kind !== 'readiness' && reached === 'failure' && failure === undefined) {
      failure = failureOf(kind, result, options);
      for (const worker of workers.values()) worker.stop();
    }
    known = verdict();
    if (known.started) startOthers();
    if (JSON.stringify(known) !== before) deps.onChange();
  }

  function report(kind: ProbeKind, { outcome, output }: ProbeResult): void {
    const name = NAMES[kind];
    if (outcome === 'failure') deps.event('Unhealthy', `${name} probe failed: ${output}`);
    else if (outcome === 'unknown') deps.event('Unhealthy', `${name} probe errored: ${output}`);
    else if (outcome === 'warning') deps.event('ProbeWarning', `${name} probe warning: ${output}`);
  }

  function verdict(): ProbeVerdict {
    const states: Partial<Record<ProbeKind, ProbeState>> = {};
    for (const [kind, worker] of workers) states[kind] = worker.state();
    return { ...verdictOf(states), ...(failure === undefined ? {} : { failure }) };
  }

  function startOthers(): void {
    workers.get('liveness')?.start();
    workers.get('readiness')?.start();
  }

  for (const kind of KINDS) {
    const probe = container[FIELDS[kind]];
    if (probe === undefined) continue;
    const workerOptions = { ...target, kind, probe, jitter, previous: target.previous };
    workers.set(kind, createProbeWorker({ ...deps, onResult }, workerOptions));
  }
  let known = verdict();
  workers.get('startup')?.start();
  if (known.started) startOthers();

  return {
    verdict: () => known,
    stop: () => {
      for (const worker of workers.values()) worker.stop();
    },
  };
}

function failureOf(
  kind: Exclude<ProbeKind, 'readiness'>,
  { output }: ProbeResult,
  { target, probeGracePeriod }: ContainerProbesOptions,
): NonNullable<ProbeVerdict['failure']> {
  const message = `${NAMES[kind]} probe failed: ${output}`;
  const gracePeriodSeconds = target.container[FIELDS[kind]]?.terminationGracePeriodSeconds;
  return probeGracePeriod && gracePeriodSeconds !== undefined ? { message, gracePeriodSeconds } : { message };
}
