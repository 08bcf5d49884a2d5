/** Pod worker: observes, decides, starts the decided actions, and repeats on any change. It alone owns the
 *  lifecycle of its pod; other modules make requests to it. Operations with different keys run concurrently. */

import type { Pod, PodStatus } from '#api/gen/core-v1.ts';

import { type Int64, secondsInMs } from '#api/kit/int64.ts';
import { createLimiter } from '#api/kit/limiter.ts';
import { createLoop, type Loop } from '#api/kit/loop.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { PodObservation } from '../observe/types.ts';
import type { PodIdentity } from '../pod-identity/identity.ts';
import { decidePod } from './decide/decide.ts';
import {
  containerKey,
  type Decision,
  type PodIntent,
  type PodProgress,
  type TerminalPhase,
  type WaitingReason,
} from './decide/decision-types.ts';
import { withEphemeralContainersOf } from './decide/ephemeral.ts';
import { PodExecution } from './execution.ts';
import type { PodDeletion, PodStart, PodWorkerDeps } from './worker-contract.ts';

export class PodWorker {
  readonly identity: PodIdentity;
  readonly #deps: PodWorkerDeps;
  readonly #startedAtMs: number;
  readonly #loop: Loop;
  readonly #execution: PodExecution;
  readonly #removed = new AbortController();
  readonly #changes = createLimiter(1);
  #pod: Pod;
  #intent: PodIntent = { kind: 'run' };
  #removalRequestedAtMs: number | undefined;
  #terminal: TerminalPhase | undefined;
  /** Set once the pod is being removed: later observations show a partly removed pod and do not count. */
  #statusIsFinal = false;
  #waiting: ReadonlyMap<string, WaitingReason> = new Map();
  #status: PodStatus | undefined;

  constructor(deps: PodWorkerDeps, start: PodStart) {
    this.#deps = deps;
    this.#pod = start.pod;
    this.identity = start.identity;
    this.#startedAtMs = start.startedAtMs;
    this.#terminal = start.terminal;
    this.#loop = createLoop({
      clock: deps.clock,
      onError: (err) => deps.log.error({ err }, 'Failed to evaluate pod'),
      step: (signal) => Promise.resolve(this.#step(signal)),
    });
    const owner = {
      pod: () => this.#pod,
      finish: (end: TerminalPhase) => this.#finish(end),
      removePod: () => this.#remove(),
      wake: () => this.#loop.wake(),
      wakeAt: (atMs: number) => this.#loop.wakeAt(atMs),
    };
    this.#execution = new PodExecution(deps, owner, start.adopted ? 'unknown' : 'none');
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
    this.#execution.retry();
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
      this.#execution.remount();
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
      this.#execution.resetChanged(this.#pod, next);
      this.#pod = next;
      if (added) this.#execution.remount();
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
    this.#execution.abandon(new Error('pod is being removed'));
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
    this.#execution.abandon(new Error('agent is stopping'));
    return this.#removed.signal.aborted;
  }

  /** For a terminated pod: resolves when its volumes are unmounted. Never rejects. */
  volumesGone(): Promise<void> {
    return this.#execution.volumesGone();
  }

  /** Resolves when no operation is in flight; aborted ones run to their end. Never rejects. */
  settled(): Promise<void> {
    return this.#execution.settled();
  }

  #step(signal: AbortSignal): number | undefined {
    const decision = this.#decide();
    if (signal.aborted) return undefined;
    this.#execution.launch(decision.actions);
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
    const progress = this.#execution.progress(observed);
    return { ...progress, terminal: this.#terminal, startedAtMs: this.#startedAtMs };
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

  async #finish({ phase, reason, message, gracePeriodSeconds }: TerminalPhase): Promise<void> {
    const grace = gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds };
    this.#terminal = { phase, reason, message, ...grace };
    await this.#deps.save({ terminal: this.#terminal });
  }

  async #remove(): Promise<void> {
    this.#statusIsFinal = true;
    await this.#deps.operations.removePod();
    this.#removed.abort();
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
