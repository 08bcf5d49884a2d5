/** Periodic collection of dead containers and sandboxes: at the start and then once a minute. */
import { type Clock, sleep } from '#api/kit/clock.ts';
import type { RuntimeView } from '../observe/runtime-view.ts';
import type { ObservedContainer, ObservedSandbox } from '../observe/types.ts';
import { type CollectDeps, type CollectOptions, type CollectResult, collectDead } from './collect.ts';
import type { GcContainer, GcSandbox } from './dead-containers.ts';

export interface CollectorDeps extends CollectDeps {
  readonly view: RuntimeView;
  /** UIDs of pods with a worker, which removes their containers itself. */
  readonly activePods: () => ReadonlySet<string>;
  /** UIDs of those among them that have succeeded or failed. */
  readonly overPods: () => ReadonlySet<string>;
  readonly sourcesReady: () => boolean;
  readonly clock: Clock;
}

const PERIOD_MS = 60_000;

/** Collects until `signal` fires. Never rejects. */
export async function runCollector(
  deps: CollectorDeps,
  options: CollectOptions,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await collect(deps, options, signal).catch((err: unknown) => {
      if (!signal.aborted) deps.log.warn({ err }, 'Failed to collect dead containers');
    });
    await sleep(deps.clock, PERIOD_MS, signal).catch(() => undefined);
  }
}

/** Node pressure: collects everything that no pod needs, whatever its age. */
const UNDER_PRESSURE = { maxContainers: -1, maxPerContainer: 0, minAgeMs: 0 } as const;

/** Runs one round under node pressure.
 *  @throws as `collectDead` */
export const collectUnderPressure = (
  deps: CollectorDeps,
  { podLogsDir }: Pick<CollectOptions, 'podLogsDir'>,
  signal: AbortSignal,
): Promise<CollectResult> => collect(deps, { podLogsDir, policy: UNDER_PRESSURE }, signal);

/** Runs one round. */
export async function collect(
  deps: CollectorDeps,
  options: CollectOptions,
  signal: AbortSignal,
): Promise<CollectResult> {
  const { view } = deps;
  const active = deps.activePods();
  const over = deps.overPods();
  // Log directories may be shared with another agent: only pods seen as this agent's can count as removed.
  const own = view.podUIDs();
  const observation = {
    containers: view.containers().map(gcContainer),
    sandboxes: view.sandboxes().map(gcSandbox),
    isPodGone: (podUID: string) => own.has(podUID) && !active.has(podUID),
    isPodOver: (podUID: string) => over.has(podUID),
    sourcesReady: deps.sourcesReady(),
    nowMs: deps.clock.now(),
  };
  return collectDead(deps, options, observation, signal);
}

const STATES = {
  created: 'CONTAINER_CREATED',
  running: 'CONTAINER_RUNNING',
  exited: 'CONTAINER_EXITED',
  unknown: 'CONTAINER_UNKNOWN',
} as const;

const gcContainer = (container: ObservedContainer): GcContainer => ({
  containerID: container.id,
  podUID: container.podUID,
  name: container.name,
  sandboxID: container.sandboxId,
  state: STATES[container.state],
  createdAtMs: container.createdAtMs,
});

const gcSandbox = (sandbox: ObservedSandbox): GcSandbox => ({
  sandboxID: sandbox.id,
  podUID: sandbox.podUID,
  state: sandbox.ready ? 'SANDBOX_READY' : 'SANDBOX_NOTREADY',
  createdAtMs: sandbox.createdAtMs,
});
