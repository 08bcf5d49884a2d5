/** Pod manager: assigns workers to pods. One slot per pod name holds the active and the desired pod. A
 *  changed manifest is a new pod of the same name: the old one is removed before the new one starts.
 *
 *  Pods recovered from an earlier run are adopted while their source still lists them, and removed once their
 *  source has been read without them. Containers that this agent did not create are never seen here. */

import type { Pod, PodStatus } from '#api/gen/core-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Int64 } from '#api/kit/int64.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Preemption, Refusal } from '../admission/admit.ts';
import { podFullName, podIdentity } from '../pod-identity/identity.ts';
import {
  type DesiredState,
  type ManifestOrigin,
  SOURCE_NAMES,
  type SourceName,
  type SourcePod,
} from '../sources/types.ts';
import type { TerminalPhase } from './decide/decision-types.ts';
import { withEphemeralContainersOf } from './decide/ephemeral.ts';
import type { PodRecord } from './record/record.ts';
import type { PodWorker } from './worker.ts';
import type { PodDeletion, PodStart } from './worker-contract.ts';

export interface PodManagerDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly createWorker: (start: PodStart, origin: ManifestOrigin) => PodWorker;
  /** Distinguishes versions of a pod name. */
  readonly versionOf: (pod: Pod) => string;
  readonly forget: (podUID: string) => Promise<void>;
  /** Called when a pod has been removed. */
  readonly changed: () => void;
  /** Admission of a new pod beside the admitted ones: the rejection, or the pods to preempt; undefined when
   *  admitted. */
  readonly refuse: (source: SourcePod, others: readonly SourcePod[]) => Refusal | Preemption | undefined;
  /** Called when a deleted pod of the API server has been removed from this node; repeated while the source
   *  lists it.
   *  @param status the last one; undefined for a pod that was never on this node */
  readonly ended?: (pod: Pod, status: PodStatus | undefined) => void;
  /** Called for a pod of an earlier run that is adopted. */
  readonly adopted?: (pod: Pod) => void;
  /** Called for a pod that is rejected, evicted or preempted. */
  readonly warned?: (pod: Pod, reason: string, message: string) => void;
  /** Called for each pod that is preempted for that resource. */
  readonly preempted?: (resource: string) => void;
  /** Called after an in-place update of a running pod. */
  readonly updated?: (pod: Pod) => void;
}

/** A pod with a worker, as other modules see it. */
export interface PodEntry {
  readonly pod: Pod;
  readonly origin: ManifestOrigin;
  readonly status: PodStatus;
  /** Terminal phase, set while containers may still be terminating; undefined while the pod runs. */
  readonly end: TerminalPhase | undefined;
  /** Set while the pod is being removed. */
  readonly deletion: PodDeletion | undefined;
}

interface Slot {
  /** `namespace/name`; that of an orphan also has its UID. */
  readonly name: string;
  desired: SourcePod | undefined;
  /** Records of an earlier run under this name that have not been adopted yet. */
  recovered: PodRecord[];
  active: { readonly worker: PodWorker; readonly source: SourcePod } | undefined;
  /** The last removed pod of an API server, until its object is known to be deleted. */
  released: PodEntry | undefined;
}

const DEFAULT_GRACE_SECONDS = 30;

/** Event reasons and messages of upstream. */
const EVICTED = 'Evicted';
const PREEMPTED = { reason: 'Preempting', message: 'Preempted in order to admit critical pod' };

export class PodManager {
  readonly #deps: PodManagerDeps;
  readonly #slots = new Map<string, Slot>();
  readonly #running = new Set<Promise<void>>();
  #unread: ReadonlySet<SourceName> = new Set(SOURCE_NAMES);
  #signal: AbortSignal | undefined;

  constructor(deps: PodManagerDeps) {
    this.#deps = deps;
  }

  /** Registers pods of an earlier run, from records or from the runtime alone. Call before `start`. */
  restore(records: readonly PodRecord[]): void {
    for (const record of records) this.#slotOf(fullName(record.pod)).recovered.push(record);
  }

  /** Terminates an orphaned pod that appeared in the runtime, in a slot of its own beside any pod of its
   *  name. */
  killOrphan(record: PodRecord): void {
    const identity = podIdentity(record.pod);
    const slot = this.#slotOf(`${podFullName(identity)}#${identity.uid}`);
    slot.recovered = [record];
    this.#reconcile(slot);
  }

  /** Reports whether the pod has a worker, or was recovered and awaits one. */
  knows(podUID: string): boolean {
    return [...this.#slots.values()].some(
      ({ active, recovered }) =>
        active?.worker.identity.uid === podUID || recovered.some(({ pod }) => pod.metadata?.uid === podUID),
    );
  }

  /** UIDs of all pods that have or await a worker. */
  podUIDs(): readonly string[] {
    return [...this.#slots.values()].flatMap(({ active, desired, recovered }) =>
      [active?.worker.pod, desired?.pod, ...recovered.map(({ pod }) => pod)].flatMap(
        (pod) => pod?.metadata?.uid ?? [],
      ),
    );
  }

  /** Starts reconciliation until `signal` fires. Desired state that was applied earlier takes effect now. */
  start(signal: AbortSignal): void {
    this.#signal = signal;
    this.#reconcileAll();
  }

  /** Resolves when every worker has stopped after the signal and its operations have settled. */
  async stopped(): Promise<void> {
    await Promise.all(this.#running);
    await Promise.all(this.workers().map((worker) => worker.settled()));
  }

  /** Applies the newest desired state. */
  apply(desired: DesiredState): void {
    this.#unread = new Set(desired.unread);
    const wanted = new Map(desired.pods.map((source) => [fullName(source.pod), source]));
    for (const [name, slot] of this.#slots) slot.desired = wanted.get(name);
    for (const [name, source] of wanted) this.#slotOf(name).desired = source;
    this.#reconcileAll();
  }

  entries(): readonly PodEntry[] {
    return [...this.#slots.values()].flatMap(({ active }) => (active === undefined ? [] : [entryOf(active)]));
  }

  /** Pods that count against the capacity of the node, as upstream counts them: those that have not ended and are
   *  still desired. A pod that terminates after its object was deleted blocks no other. */
  occupants(): readonly PodEntry[] {
    return [...this.#slots.values()].flatMap((slot) =>
      slot.active !== undefined && slot.active.worker.end === undefined && this.#isDesired(slot, slot.active)
        ? [entryOf(slot.active)]
        : [],
    );
  }

  /** All pods, including those that are removed from this node while their server still lists them. */
  listed(): readonly PodEntry[] {
    const released = [...this.#slots.values()].flatMap(({ active, desired, released: entry }) => {
      const isStillThere = active === undefined && desired?.pod.metadata?.uid === entry?.pod.metadata?.uid;
      return isStillThere && entry !== undefined ? [entry] : [];
    });
    return [...this.entries(), ...released];
  }

  find(namespace: string, name: string): PodEntry | undefined {
    const active = this.#slots.get(podFullName({ namespace, name }))?.active;
    return active === undefined ? undefined : entryOf(active);
  }

  worker(namespace: string, name: string): PodWorker | undefined {
    return this.#slots.get(podFullName({ namespace, name }))?.active?.worker;
  }

  workers(): readonly PodWorker[] {
    return [...this.#slots.values()].flatMap(({ active }) => active?.worker ?? []);
  }

  /** Terminates a pod that exceeds its own limits or the capacity of the node. Its status stays visible, and
   *  this version does not run again unless it is restarted.
   *  Resolves once the terminal phase has been persisted. */
  async evict(podUID: string, message: string, gracePeriodSeconds: Int64): Promise<void> {
    const worker = this.workers().find(({ identity }) => identity.uid === podUID);
    if (worker === undefined) return;
    this.#deps.warned?.(worker.pod, EVICTED, message);
    await worker.finish({ phase: 'Failed', reason: EVICTED, message, gracePeriodSeconds });
  }

  /** Removes a terminated pod so that it starts again as a new one. */
  restart(podUID: string): void {
    const worker = this.workers().find(({ identity }) => identity.uid === podUID);
    if (worker !== undefined) worker.remove(gracePeriodSeconds(worker.pod));
  }

  #slotOf(name: string): Slot {
    const known = this.#slots.get(name);
    if (known !== undefined) return known;
    const slot: Slot = { name, desired: undefined, recovered: [], active: undefined, released: undefined };
    this.#slots.set(name, slot);
    return slot;
  }

  /** An error of one pod does not affect the others. */
  #reconcileAll(): void {
    for (const slot of this.#slots.values()) {
      try {
        this.#reconcile(slot);
      } catch (thrown) {
        this.#deps.log.error({ err: asError(thrown), pod: slot.name }, 'Failed to admit pod');
      }
    }
  }

  #reconcile(slot: Slot): void {
    if (this.#signal === undefined || this.#signal.aborted) return;
    if (slot.active !== undefined) return this.#reconcileActive(slot, slot.active);
    const recovered = this.#nextRecovered(slot);
    if (recovered !== undefined) return this.#adopt(slot, recovered);
    if (slot.desired !== undefined) {
      if (isDeleted(slot.desired.pod)) return this.#deps.ended?.(slot.desired.pod, undefined);
      if (this.#isUIDInUse(slot, slot.desired.pod.metadata?.uid)) return;
      return this.#spawn(slot, slot.desired, undefined);
    }
    if (slot.recovered.length === 0) this.#slots.delete(slot.name);
  }

  /** Directories, cgroups and containers are named by UID: a pod waits until another slot with its UID is
   *  empty. */
  #isUIDInUse(slot: Slot, uid: string | undefined): boolean {
    return [...this.#slots.values()].some(
      (other) =>
        other !== slot &&
        (other.active?.worker.identity.uid === uid ||
          other.recovered.some(({ pod }) => pod.metadata?.uid === uid)),
    );
  }

  #reconcileActive(slot: Slot, active: NonNullable<Slot['active']>): void {
    const { worker, source } = active;
    if (!this.#isDesired(slot, active)) return worker.remove(gracePeriodSeconds(worker.pod));
    if (slot.desired !== undefined && slot.desired !== source) this.#update(slot, worker, slot.desired);
  }

  /** A pod of a source that has not been read yet is desired until it is. */
  #isDesired({ desired }: Slot, { worker, source }: NonNullable<Slot['active']>): boolean {
    if (desired !== undefined) return this.#sameVersion(desired.pod, source.pod);
    return this.#unread.has(source.origin.source) && !worker.removing;
  }

  /** A pod that was updated on the API server stays the same pod; a changed manifest is a new one. */
  #update(slot: Slot, worker: PodWorker, desired: SourcePod): void {
    if (desired.origin.source !== 'api') return;
    slot.active = { worker, source: desired };
    const { pod } = desired;
    const failed = (thrown: unknown): void => {
      this.#deps.log.warn({ err: asError(thrown), pod: slot.name }, 'Failed to write pod record');
    };
    const end = serverEnd(pod);
    if (end !== undefined) worker.finish(end).catch(failed);
    worker
      .update(pod)
      .then(() => this.#deps.updated?.(pod))
      .catch(failed);
    if (isDeleted(pod)) worker.remove(gracePeriodSeconds(pod));
  }

  /** Returns the record to adopt: those of other versions first, to be removed. Without a desired pod only
   *  records of sources that have been read count. */
  #nextRecovered(slot: Slot): PodRecord | undefined {
    const { desired } = slot;
    if (desired === undefined) return slot.recovered.find(({ origin }) => !this.#unread.has(origin.source));
    return slot.recovered.find((record) => !this.#sameVersion(record.pod, desired.pod)) ?? slot.recovered[0];
  }

  #adopt(slot: Slot, record: PodRecord): void {
    slot.recovered = slot.recovered.filter((other) => other !== record);
    const wanted = slot.desired !== undefined && this.#sameVersion(slot.desired.pod, record.pod);
    const source = wanted && slot.desired !== undefined ? continued(slot.desired, record) : record;
    this.#spawn(slot, source, record);
    if (!wanted) slot.active?.worker.remove(gracePeriodSeconds(record.pod));
    else if (slot.desired !== undefined && isDeleted(slot.desired.pod)) {
      slot.active?.worker.remove(gracePeriodSeconds(slot.desired.pod));
    }
  }

  #spawn(slot: Slot, source: SourcePod, record: PodRecord | undefined): void {
    const signal = this.#signal;
    if (signal === undefined) return;
    const { log, clock, createWorker } = this.#deps;
    const identity = podIdentity(source.pod);
    const start: PodStart = {
      pod: source.pod,
      identity,
      startedAtMs: record?.startedAtMs ?? clock.now(),
      terminal: record?.terminal ?? this.#initialEnd(source, record),
      adopted: record !== undefined,
    };
    const worker = createWorker(start, source.origin);
    slot.active = { worker, source };
    slot.released = undefined;
    log.info(
      { pod: slot.name, podUID: identity.uid, adopted: start.adopted },
      start.terminal === undefined ? 'Pod admitted' : 'Terminal pod registered',
    );
    const running = this.#follow(slot, worker, signal).catch((thrown: unknown) => {
      log.error({ err: asError(thrown), pod: slot.name }, 'Pod worker failed');
    });
    this.#running.add(running);
    void running.finally(() => this.#running.delete(running));
  }

  /** Returns the terminal phase of a pod that must not start: that of its server, or the rejection by the
   *  node. */
  #initialEnd({ pod, origin }: SourcePod, record: PodRecord | undefined): TerminalPhase | undefined {
    const end = origin.source === 'api' ? serverEnd(pod) : undefined;
    if (end !== undefined) return end;
    if (record === undefined) return this.#rejection({ pod, origin });
    this.#deps.adopted?.(pod);
    return undefined;
  }

  /** A rejected pod is terminal before it starts. */
  #rejection(source: SourcePod): TerminalPhase | undefined {
    const verdict = this.#deps.refuse(source, this.occupants());
    if (verdict === undefined) return undefined;
    if (!('victims' in verdict)) {
      this.#deps.warned?.(source.pod, verdict.reason, verdict.message);
      return { phase: 'Failed', ...verdict };
    }
    for (const victim of verdict.victims) {
      this.#preempt(victim, source.pod);
      this.#deps.preempted?.(verdict.resource);
    }
    return undefined;
  }

  #preempt(victim: Pod, critical: Pod): void {
    const podUID = victim.metadata?.uid;
    const worker = this.workers().find(({ identity }) => identity.uid === podUID);
    this.#deps.log.info({ podUID, for: fullName(critical) }, 'Pod preempted for a critical pod');
    this.#deps.warned?.(victim, PREEMPTED.reason, PREEMPTED.message);
    worker?.finish({ phase: 'Failed', ...PREEMPTED }).catch((thrown: unknown) => {
      this.#deps.log.warn({ err: asError(thrown), podUID }, 'Failed to write pod record');
    });
  }

  async #follow(slot: Slot, worker: PodWorker, signal: AbortSignal): Promise<void> {
    const removed = await worker.run(signal);
    if (!removed) return;
    await this.#deps.forget(worker.identity.uid).catch((err: unknown) => {
      // A remaining record costs the next agent one check of a removed pod; a slot that is never released
      // would block the name.
      this.#deps.log.warn({ err, pod: slot.name }, 'Failed to remove pod record');
    });
    const source = slot.active?.source ?? slot.desired;
    const isGone = source !== undefined && source.origin.source === 'api';
    slot.released = isGone && slot.active !== undefined ? entryOf(slot.active) : undefined;
    slot.active = undefined;
    if (isGone) this.#deps.ended?.(worker.pod, worker.status());
    this.#deps.changed();
    this.#deps.log.info({ pod: slot.name, podUID: worker.identity.uid }, 'Pod removed');
    // All slots, as another one may have waited for the UID.
    this.#reconcileAll();
  }

  #sameVersion(a: Pod, b: Pod): boolean {
    return this.#deps.versionOf(a) === this.#deps.versionOf(b);
  }
}

/** Returns the pod of the manifest with the ephemeral containers that were added while it ran. */
const continued = ({ pod, origin }: SourcePod, record: PodRecord): SourcePod => ({
  pod: withEphemeralContainersOf(pod, record.pod),
  origin,
});

/** Returns the terminal phase that the server stores for the pod. */
function serverEnd({ status }: Pod): TerminalPhase | undefined {
  const { phase, reason = '', message = '' } = status ?? {};
  return phase === 'Failed' || phase === 'Succeeded' ? { phase, reason, message } : undefined;
}

const isDeleted = (pod: Pod): boolean => pod.metadata?.deletionTimestamp !== undefined;

const fullName = (pod: Pod): string => podFullName(podIdentity(pod));

const gracePeriodSeconds = (pod: Pod): Int64 =>
  pod.metadata?.deletionGracePeriodSeconds ??
  pod.spec?.terminationGracePeriodSeconds ??
  DEFAULT_GRACE_SECONDS;

const entryOf = ({ worker, source }: NonNullable<Slot['active']>): PodEntry => ({
  pod: worker.pod,
  origin: source.origin,
  status: worker.status(),
  end: worker.end,
  deletion: worker.deletion,
});
