/** Pod worker: observes, decides, starts the decided actions, and repeats on any change. It alone owns the
 *  lifecycle of its pod; other modules make requests to it. Operations with different keys run concurrently. */

import type { Pod, PodStatus } from '#api/gen/core-v1.ts';

import { createBackoff } from '#api/kit/backoff.ts';
import { type Int64, secondsInMs } from '#api/kit/int64.ts';
import { createLimiter } from '#api/kit/limiter.ts';
import { createLoop, type Loop } from '#api/kit/loop.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { VolumeError } from '#volumes/errors/volume-error.ts';
import type { PodObservation } from '../observe/types.ts';
import type { PodIdentity } from '../pod-identity/identity.ts';
import { type ProbeVerdict } from '../probes/verdict.ts';
import { containerHash } from '../runtime/config/hash.ts';
import { ContainerStarts } from './container-starts.ts';
import { appContainers } from './decide/containers.ts';
import { decidePod } from './decide/decide.ts';
import {
  type ActionOf,
  containerKey,
  type Decision,
  operationKey,
  type PodAction,
  type PodIntent,
  type PodProgress,
  type TerminalPhase,
  type WaitingReason,
} from './decide/decision-types.ts';
import { withEphemeralContainersOf } from './decide/ephemeral.ts';
import { failureEvents, UPSTREAM_MOUNT_TIMEOUT_MS } from './failure-events.ts';
import { OperationSet } from './operation-set.ts';
import type { PodDeletion, PodStart, PodWorkerDeps } from './worker-contract.ts';

/** Backoff of failed operations, including failed container starts. */
const RETRY = { initialMs: 1_000, maxMs: 10_000, resetAfterMs: 60_000 } as const;

export class PodWorker {
  readonly identity: PodIdentity;
  readonly #deps: PodWorkerDeps;
  readonly #startedAtMs: number;
  readonly #loop: Loop;
  readonly #operations: OperationSet<PodAction['kind']>;
  readonly #starts = new ContainerStarts(createBackoff(RETRY));
  readonly #stoppedSandboxes = new Set<string>();
  readonly #removed = new AbortController();
  readonly #changes = createLimiter(1);
  #pod: Pod;
  #intent: PodIntent = { kind: 'run' };
  #removalRequestedAtMs: number | undefined;
  #volumes: PodProgress['volumes'];
  /** Wall time (ms) since which the pod waits for its volumes, or of the last event about that. */
  #mountingSinceMs: number | undefined;
  #terminal: TerminalPhase | undefined;
  /** Set once the pod is being removed: later observations show a partly removed pod and do not count. */
  #statusIsFinal = false;
  #waiting: ReadonlyMap<string, WaitingReason> = new Map();
  #status: PodStatus | undefined;
  readonly #unmounted = Promise.withResolvers<void>();

  constructor(deps: PodWorkerDeps, start: PodStart) {
    this.#deps = deps;
    this.#pod = start.pod;
    this.identity = start.identity;
    this.#startedAtMs = start.startedAtMs;
    this.#volumes = start.adopted ? 'unknown' : 'none';
    this.#terminal = start.terminal;
    this.#loop = createLoop({
      clock: deps.clock,
      onError: (err) => deps.log.error({ err }, 'Failed to evaluate pod'),
      step: (signal) => Promise.resolve(this.#step(signal)),
    });
    this.#operations = new OperationSet({
      clock: deps.clock,
      backoff: createBackoff(RETRY),
      backoffMs: (error) => (error instanceof VolumeError ? error.backoffMs : 0),
      onSettled: () => this.#loop.wake(),
      onFailed: (kind, error, retryMs) => this.#onFailed(kind, error, retryMs),
    });
  }

  /** The desired pod. */
  get pod(): Pod {
    return this.#pod;
  }

  status(): PodStatus {
    return this.#status ?? {};
  }

  get removing(): boolean {
    return this.#intent.kind === 'remove';
  }

  /** Terminal phase, which the status reports once all containers have terminated. Undefined while the pod
   *  runs. */
  get end(): TerminalPhase | undefined {
    return this.#terminal;
  }

  /** Set while the pod is being removed. */
  get deletion(): PodDeletion | undefined {
    const intent = this.#intent;
    if (intent.kind !== 'remove' || this.#removalRequestedAtMs === undefined) return undefined;
    const { gracePeriodSeconds } = intent;
    return { atMs: this.#removalRequestedAtMs + secondsInMs(gracePeriodSeconds), gracePeriodSeconds };
  }

  /** Schedules a decision. */
  wake(): void {
    this.#loop.wake();
  }

  /** Retries failed operations immediately, for instance because a required object has appeared. */
  retry(): void {
    this.#operations.forgetFailures();
    this.#starts.retry();
    this.#loop.wake();
  }

  /** Changes the desired pod while it runs; persisted before it takes effect.
   *  @throws StatusError when the pod terminates or has terminated; errors of `update` */
  change(update: (pod: Pod) => Pod): Promise<Pod> {
    return this.#changes.run(async () => {
      const pod = update(this.#pod);
      if (this.removing) throw new StatusError('Conflict', 'the pod is being removed');
      if (this.#terminal !== undefined) throw new StatusError('Conflict', 'the pod has terminated');
      await this.#deps.save({ pod });
      this.#pod = pod;
      if (this.#volumes === 'mounted') this.#volumes = 'unknown';
      this.#loop.wake();
      return pod;
    });
  }

  /** Applies a newer state of the same pod, limited to its mutable fields, and persists it. Ephemeral
   *  containers that were added here stay. */
  async update(pod: Pod): Promise<void> {
    await this.#changes.run(async () => {
      const next = withEphemeralContainersOf(pod, this.#pod);
      const before = this.#pod.spec?.ephemeralContainers?.length ?? 0;
      const added = (next.spec?.ephemeralContainers?.length ?? 0) > before;
      this.#starts.resetChanged(this.#pod, next);
      this.#pod = next;
      if (added && this.#volumes === 'mounted') this.#volumes = 'unknown';
      this.#loop.wake();
      if (!this.removing) await this.#deps.save({ pod: next });
    });
  }

  /** Terminates the pod for an external reason; its status stays visible. No effect on a terminated pod. */
  async finish(end: TerminalPhase): Promise<void> {
    if (this.#terminal !== undefined) return;
    await this.#finish(end);
    this.#loop.wake();
  }

  /** Terminates and removes the pod. A later call can only shorten the grace period. */
  remove(gracePeriodSeconds: Int64): void {
    const intent = this.#intent;
    if (intent.kind === 'remove' && gracePeriodSeconds >= intent.gracePeriodSeconds) return;
    this.#intent = { kind: 'remove', gracePeriodSeconds };
    this.#removalRequestedAtMs ??= this.#deps.clock.now();
    this.#operations.abandon(new Error('pod is being removed'));
    this.#loop.wake();
    this.#deps.onStatus(this.status());
  }

  /** Runs until the pod is removed or `signal` fires; containers are then left running.
   *  Returns whether the pod was removed. */
  async run(signal: AbortSignal): Promise<boolean> {
    const unsubscribe = this.#deps.view.onPodChange(this.identity.uid, () => this.#loop.wake());
    this.#loop.wake();
    await this.#loop.run(AbortSignal.any([signal, this.#removed.signal]));
    unsubscribe();
    this.#deps.syncProbes(this.pod, undefined);
    this.#operations.abandon(new Error('agent is stopping'));
    return this.#removed.signal.aborted;
  }

  /** For a terminated pod: resolves when its volumes are unmounted. Never rejects. */
  volumesGone(): Promise<void> {
    return this.#volumes === 'none' ? Promise.resolve() : this.#unmounted.promise;
  }

  /** Resolves when no operation is in flight; aborted ones run to their end. Never rejects. */
  settled(): Promise<void> {
    return this.#operations.settled();
  }

  #step(signal: AbortSignal): number | undefined {
    const decision = this.#decide();
    if (signal.aborted) return undefined;
    for (const action of decision.actions) {
      const run = (inner: AbortSignal): Promise<void> => this.#execute(action, inner);
      this.#operations.launch({ key: operationKey(action), kind: action.kind, run });
    }
    return decision.wakeAtMs;
  }

  #decide(): Decision {
    const { view, clock, keepTerminatedVolumes, syncProbes } = this.#deps;
    const observed = view.pod(this.identity.uid);
    const ending = this.removing || this.#terminal !== undefined;
    syncProbes(this.pod, ending ? undefined : observed);
    const progress = this.#progress(observed);
    const { pod } = this;
    const intent = this.#intent;
    const decision = decidePod({
      pod,
      intent,
      observed,
      progress,
      keepTerminatedVolumes,
      nowMs: clock.now(),
    });
    const before = this.#waiting;
    this.#waiting = mergeWaiting(before, decision.waiting, progress.busy);
    this.#reportBackOff(before);
    this.#publish(observed, progress);
    return decision;
  }

  /** Emits one event each time that a container starts to wait for its next restart. */
  #reportBackOff(before: ReadonlyMap<string, WaitingReason>): void {
    for (const [name, { reason, message }] of this.#waiting) {
      if (reason !== 'CrashLoopBackOff' || before.get(name)?.message === message) continue;
      this.#deps.warn('BackOff', message, { name });
    }
  }

  #progress(observed: PodObservation): PodProgress {
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
      terminal: this.#terminal,
      startedAtMs: this.#startedAtMs,
    };
  }

  #publish(observed: PodObservation, progress: PodProgress): void {
    if (this.#statusIsFinal) return;
    // An exit is published as a whole; its details are still being fetched.
    if (observed.containers.some(({ isProvisional }) => isProvisional)) return;
    const previous = this.#status;
    const waiting = this.#waiting;
    const isRemoved = this.removing;
    const next = this.#deps.status({ pod: this.pod, observed, progress, isRemoved, waiting, previous });
    if (previous !== undefined && JSON.stringify(next) === JSON.stringify(previous)) return;
    this.#status = next;
    this.#deps.onStatus(next);
  }

  async #execute(action: PodAction, signal: AbortSignal): Promise<void> {
    const { operations } = this.#deps;
    const { pod } = this;
    switch (action.kind) {
      case 'mountVolumes':
        // From here on volumes may be mounted, whatever the outcome.
        this.#volumes = 'unknown';
        this.#mountingSinceMs ??= this.#deps.clock.now();
        await operations.mountVolumes(pod, signal);
        this.#mountingSinceMs = undefined;
        // A container that was added meanwhile may use further ones.
        this.#volumes = pod === this.#pod ? 'mounted' : 'unknown';
        return;
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
        return this.#startContainer(action, signal);
      case 'killContainer':
        return operations.killContainer(pod, action, signal);
      case 'removeContainer':
        return operations.removeContainer(action.container);
      case 'finish':
        return this.#finish(action);
      case 'removePod':
        this.#statusIsFinal = true;
        await operations.removePod();
        return this.#removed.abort();
      default:
        action satisfies never;
    }
  }

  async #finish({ phase, reason, message, gracePeriodSeconds }: TerminalPhase): Promise<void> {
    const grace = gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds };
    this.#terminal = { phase, reason, message, ...grace };
    await this.#deps.save({ terminal: this.#terminal });
  }

  async #startContainer(action: ActionOf<'startContainer'>, signal: AbortSignal): Promise<void> {
    const before = this.#starts.restartBackoff(action);
    const outcome = await this.#deps.operations.startContainer(this.pod, action, signal);
    const { spec } = action;
    const wanted = appContainers(this.#pod).find(({ name }) => name === spec.name) ?? spec;
    // The outcome of the replaced container does not count for this one.
    if (containerHash(wanted) !== containerHash(spec)) return;
    this.#starts.settle(action, outcome, before, this.#deps.clock.now());
  }

  #onFailed(kind: PodAction['kind'], error: Error, retryMs: number): void {
    this.#deps.log.warn({ err: error, operation: kind, retryMs }, 'Pod operation failed');
    const nowMs = this.#deps.clock.now();
    const waitedMs = nowMs - (this.#mountingSinceMs ?? nowMs);
    if (waitedMs >= UPSTREAM_MOUNT_TIMEOUT_MS) this.#mountingSinceMs = nowMs;
    const failure = { kind, error, pod: this.#pod, isFirst: retryMs <= RETRY.initialMs, waitedMs };
    for (const { reason, message } of failureEvents(failure)) this.#deps.warn(reason, message);
    this.#loop.wakeAt(nowMs + retryMs);
  }
}

/** A container whose start is in flight retains its reason; the others get the new one or none. */
function mergeWaiting(
  before: ReadonlyMap<string, WaitingReason>,
  decided: ReadonlyMap<string, WaitingReason>,
  busy: ReadonlySet<string>,
): ReadonlyMap<string, WaitingReason> {
  const retained = [...before].filter(([name]) => busy.has(containerKey(name)) && !decided.has(name));
  return new Map([...retained, ...decided]);
}
