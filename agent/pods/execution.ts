/** Execution of the actions of one pod, and the progress on which its next decision depends: operations in flight
 *  and their retry times, volumes, stopped sandboxes, starts of containers. Decides nothing. */
import type { Pod } from '#api/gen/core-v1.ts';
import { type Backoff, createBackoff } from '#api/kit/backoff.ts';
import { VolumeError } from '#volumes/errors/volume-error.ts';
import type { ObservedContainer, PodObservation } from '../observe/types.ts';
import type { ProbeVerdict } from '../probes/verdict.ts';
import { containerHash } from '../runtime/config/hash.ts';
import { afterRestart, appContainers, isOutdated } from './decide/containers.ts';
import {
  type ActionOf,
  type ContainerProgress,
  type CrashBackoff,
  operationKey,
  type PodAction,
  type PodProgress,
  type TerminalPhase,
} from './decide/decision-types.ts';
import { failureEvents, UPSTREAM_MOUNT_TIMEOUT_MS } from './failure-events.ts';
import { OperationSet } from './operation-set.ts';
import type { StartOutcome } from './operations/start-container.ts';
import type { PodWorkerDeps } from './worker-contract.ts';

/** Backoff of failed operations, including failed container starts. */
const RETRY = { initialMs: 1_000, maxMs: 10_000, resetAfterMs: 60_000 } as const;

export type ExecutionDeps = Pick<PodWorkerDeps, 'clock' | 'log' | 'operations' | 'probeVerdict' | 'warn'>;

/** The worker, as far as the execution of its actions depends on it. */
export interface ExecutionOwner {
  /** The desired pod. */
  readonly pod: () => Pod;
  readonly finish: (end: TerminalPhase) => Promise<void>;
  readonly removePod: () => Promise<void>;
  /** Schedules a decision. */
  readonly wake: () => void;
  /** Schedules a decision at a wall time (ms). */
  readonly wakeAt: (atMs: number) => void;
}

/** Progress of a pod, without what its worker decides. */
type ExecutionProgress = Omit<PodProgress, 'terminal' | 'startedAtMs'>;

export class PodExecution {
  readonly #deps: ExecutionDeps;
  readonly #owner: ExecutionOwner;
  readonly #operations: OperationSet<PodAction['kind']>;
  readonly #starts = new ContainerStarts(createBackoff(RETRY));
  readonly #stoppedSandboxes = new Set<string>();
  readonly #unmounted = Promise.withResolvers<void>();
  #volumes: PodProgress['volumes'];
  /** Wall time (ms) since which the pod waits for its volumes, or of the last event about that. */
  #mountingSinceMs: number | undefined;

  /** @param volumes state of the volumes at the start of the worker */
  constructor(deps: ExecutionDeps, owner: ExecutionOwner, volumes: PodProgress['volumes']) {
    this.#deps = deps;
    this.#owner = owner;
    this.#volumes = volumes;
    this.#operations = new OperationSet({
      clock: deps.clock,
      backoff: createBackoff(RETRY),
      backoffMs: (error) => (error instanceof VolumeError ? error.backoffMs : 0),
      onSettled: () => owner.wake(),
      onFailed: (kind, error, retryMs) => this.#onFailed(kind, error, retryMs),
    });
  }

  /** Starts the actions; one whose key is in flight is skipped. */
  launch(actions: readonly PodAction[]): void {
    for (const action of actions) {
      const run = (signal: AbortSignal): Promise<void> => this.#execute(action, signal);
      this.#operations.launch({ key: operationKey(action), kind: action.kind, run });
    }
  }

  progress(observed: PodObservation): ExecutionProgress {
    const probes = new Map<string, ProbeVerdict>();
    for (const container of observed.containers) {
      const { id, state } = container;
      this.#starts.noteAttempt(container);
      const verdict = state === 'running' ? this.#deps.probeVerdict(id) : undefined;
      if (verdict !== undefined) probes.set(id, verdict);
    }
    return {
      busy: this.#operations.busy(),
      volumes: this.#volumes,
      retryAtMs: this.#operations.retryAtMs,
      stoppedSandboxes: this.#stoppedSandboxes,
      containers: this.#starts.progress,
      attempts: this.#starts.attempts,
      probes,
    };
  }

  /** Makes failed operations and starts due immediately. */
  retry(): void {
    this.#operations.forgetFailures();
    this.#starts.retry();
  }

  /** Resets backoff and failure of containers whose spec has changed. */
  resetChanged(before: Pod, next: Pod): void {
    this.#starts.resetChanged(before, next);
  }

  /** Mounts the volumes again before further containers start: a container was added. */
  remount(): void {
    if (this.#volumes === 'mounted') this.#volumes = 'unknown';
  }

  /** Aborts every operation; those that stop or remove something take a shorter path. */
  abandon(reason: Error): void {
    this.#operations.abandon(reason);
  }

  /** Resolves when no operation is in flight; aborted ones run to their end. Never rejects. */
  settled(): Promise<void> {
    return this.#operations.settled();
  }

  /** For a terminated pod: resolves when its volumes are unmounted. Never rejects. */
  volumesGone(): Promise<void> {
    return this.#volumes === 'none' ? Promise.resolve() : this.#unmounted.promise;
  }

  async #execute(action: PodAction, signal: AbortSignal): Promise<void> {
    const { operations } = this.#deps;
    const pod = this.#owner.pod();
    switch (action.kind) {
      case 'mountVolumes':
        return this.#mountVolumes(pod, signal);
      case 'unmountVolumes':
        await operations.unmountVolumes();
        this.#volumes = 'none';
        this.#unmounted.resolve();
        return;
      case 'createSandbox':
        return operations.createSandbox(pod, action.attempt, signal);
      case 'stopSandbox':
        await operations.stopSandbox(action.sandboxId);
        this.#stoppedSandboxes.add(action.sandboxId);
        return;
      case 'startContainer':
        return this.#startContainer(pod, action, signal);
      case 'killContainer':
        return operations.killContainer(pod, action, signal);
      case 'removeContainer':
        return operations.removeContainer(action.container);
      case 'finish':
        return this.#owner.finish(action);
      case 'removePod':
        return this.#owner.removePod();
      default:
        action satisfies never;
    }
  }

  async #mountVolumes(pod: Pod, signal: AbortSignal): Promise<void> {
    // From here on volumes may be mounted, whatever the outcome.
    this.#volumes = 'unknown';
    this.#mountingSinceMs ??= this.#deps.clock.now();
    await this.#deps.operations.mountVolumes(pod, signal);
    this.#mountingSinceMs = undefined;
    // A container that was added meanwhile may use further ones.
    this.#volumes = pod === this.#owner.pod() ? 'mounted' : 'unknown';
  }

  async #startContainer(pod: Pod, action: ActionOf<'startContainer'>, signal: AbortSignal): Promise<void> {
    const before = this.#starts.restartBackoff(action);
    const outcome = await this.#deps.operations.startContainer(pod, action, signal);
    const { spec } = action;
    const wanted = appContainers(this.#owner.pod()).find(({ name }) => name === spec.name) ?? spec;
    // The outcome of the replaced container does not count for this one.
    if (containerHash(wanted) !== containerHash(spec)) return;
    this.#starts.settle(action, outcome, before, this.#deps.clock.now());
  }

  #onFailed(kind: PodAction['kind'], error: Error, retryMs: number): void {
    this.#deps.log.warn({ err: error, operation: kind, retryMs }, 'Pod operation failed');
    const nowMs = this.#deps.clock.now();
    const waitedMs = nowMs - (this.#mountingSinceMs ?? nowMs);
    if (waitedMs >= UPSTREAM_MOUNT_TIMEOUT_MS) this.#mountingSinceMs = nowMs;
    const failure = { kind, error, pod: this.#owner.pod(), isFirst: retryMs <= RETRY.initialMs, waitedMs };
    for (const { reason, message } of failureEvents(failure)) this.#deps.warn(reason, message);
    this.#owner.wakeAt(nowMs + retryMs);
  }
}

/** Starts of the containers of one pod: attempt numbers, restart backoff, and failures with their retry time. */
class ContainerStarts {
  readonly #failures: Backoff;
  readonly #progress = new Map<string, ContainerProgress>();
  readonly #attempts = new Map<string, number>();

  /** @param failures backoff of failed starts, by container name */
  constructor(failures: Backoff) {
    this.#failures = failures;
  }

  /** By container name. */
  get progress(): ReadonlyMap<string, ContainerProgress> {
    return this.#progress;
  }

  /** Attempt number of the next instance, by container name. Never decreases. */
  get attempts(): ReadonlyMap<string, number> {
    return this.#attempts;
  }

  noteAttempt({ name, attempt }: Pick<ObservedContainer, 'name' | 'attempt'>): void {
    this.#attempts.set(name, Math.max(this.#attempts.get(name) ?? 0, attempt + 1));
  }

  /** Makes every failed start due immediately. */
  retry(): void {
    for (const [name, entry] of this.#progress) {
      if (entry.failure === undefined) continue;
      this.#progress.set(name, { ...entry, failure: { ...entry.failure, retryAtMs: 0 } });
    }
  }

  /** Resets backoff and failure of containers whose spec has changed. */
  resetChanged(before: Pod, next: Pod): void {
    for (const spec of appContainers(next)) {
      const old = appContainers(before).find(({ name }) => name === spec.name);
      if (old === undefined || containerHash(old) === containerHash(spec)) continue;
      this.#progress.delete(spec.name);
      this.#failures.reset(spec.name);
    }
  }

  /** Returns the restart backoff that a start continues: none for a container with a changed spec. */
  restartBackoff({ spec, previous }: ActionOf<'startContainer'>): CrashBackoff | undefined {
    const isReplaced = previous !== undefined && isOutdated(spec, previous);
    return isReplaced ? undefined : this.#progress.get(spec.name)?.crash;
  }

  /** Records the outcome of a start.
   *  @param before result of `restartBackoff` when it began */
  settle(
    { spec: { name }, previous }: ActionOf<'startContainer'>,
    outcome: StartOutcome,
    before: CrashBackoff | undefined,
    nowMs: number,
  ): void {
    if (outcome.kind === 'started') {
      const crash = previous === undefined ? before : afterRestart(before, previous.finishedAtMs, nowMs);
      this.#progress.set(name, crash === undefined ? {} : { crash });
      return;
    }
    const retryAtMs = outcome.retryAtMs ?? nowMs + this.#failures.fail(name, nowMs);
    const failure = { reason: outcome.reason, message: outcome.message, retryAtMs };
    this.#progress.set(name, before === undefined ? { failure } : { crash: before, failure });
  }
}
