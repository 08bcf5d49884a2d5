/** Which pods have a worker. One slot per pod name: the pod that is there, and the one that should be.
 *  A changed manifest is another pod of the same name: the old one ends first, then the new one starts.
 *
 *  Pods known from an earlier run are adopted when their source still names them, and removed once their source
 *  has spoken without naming them. Containers that this agent did not make are never seen here. */
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Pod, PodStatus } from '#api/schema/gen/core-v1.ts';
import type { Preemption, Refusal } from '../admission/admit.ts';
import {
  type DesiredState,
  type ManifestOrigin,
  SOURCE_NAMES,
  type SourceName,
  type SourcePod,
} from '../sources/types.ts';
import { withEphemeralContainersOf } from './ephemeral.ts';
import { podFullName, podIdentity } from './identity.ts';
import type { TerminalPhase } from './plan.ts';
import type { PodRecord } from './record.ts';
import type { PodDeletion, PodStart, PodWorker } from './worker.ts';

export interface PodManagerDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly createWorker: (start: PodStart, origin: ManifestOrigin) => PodWorker;
  /** Tells two versions of one pod name apart. */
  readonly versionOf: (pod: Pod) => string;
  readonly forget: (podUID: string) => Promise<void>;
  /** Called when a pod is gone. */
  readonly changed: () => void;
  /** Why the node does not take a new pod on beside those that it has, or which of them have to end for it;
   *  undefined when it does. */
  readonly refuse: (source: SourcePod, others: readonly SourcePod[]) => Refusal | Preemption | undefined;
  /** Called when a pod of the API server that is to be deleted has nothing left here; repeated as long as it is named.
   *  @param status its last one; undefined for a pod of which nothing was here */
  readonly ended?: (pod: Pod, status: PodStatus | undefined) => void;
  /** Called for a pod of an earlier agent that is taken on again. */
  readonly adopted?: (pod: Pod) => void;
  /** Called for a pod that the node does not take on, or that has to end for another one. */
  readonly warned?: (pod: Pod, reason: string, message: string) => void;
  /** Called for each pod that ends for want of that resource. */
  readonly preempted?: (resource: string) => void;
  /** Called when a pod that runs was changed in place. */
  readonly updated?: (pod: Pod) => void;
}

/** A pod that has a worker, as others see it. */
export interface PodEntry {
  readonly pod: Pod;
  readonly origin: ManifestOrigin;
  readonly status: PodStatus;
  /** How it has ended, or is to end while something of it may still run; undefined while it goes on. */
  readonly end: TerminalPhase | undefined;
  /** Undefined unless the pod is being removed. */
  readonly deletion: PodDeletion | undefined;
}

interface Slot {
  desired: SourcePod | undefined;
  /** What an earlier agent left under this name and nobody has taken up yet. */
  left: PodRecord[];
  active: { readonly worker: PodWorker; readonly source: SourcePod } | undefined;
  /** The pod of an API server that was removed here last, and whose object is not known to be gone. */
  released: PodEntry | undefined;
}

const DEFAULT_GRACE_SECONDS = 30;

/** In the field's words. */
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

  /** Takes note of pods that an earlier agent left: from records, or from the runtime alone. Call before `start`. */
  restore(records: readonly PodRecord[]): void {
    for (const record of records) this.#slotOf(record.pod).left.push(record);
  }

  /** Ends a pod that turned up in the runtime under way, beside whatever else has its name. */
  takeStray(record: PodRecord): void {
    const { uid } = podIdentity(record.pod);
    const name = `${fullName(record.pod)}#${uid}`;
    this.#slots.set(name, { desired: undefined, left: [record], active: undefined, released: undefined });
    this.#reconcile(name);
  }

  /** Whether the pod has a worker, or was left by an earlier agent and awaits one. */
  knows(podUID: string): boolean {
    return [...this.#slots.values()].some(
      ({ active, left }) =>
        active?.worker.pod.metadata?.uid === podUID || left.some(({ pod }) => pod.metadata?.uid === podUID),
    );
  }

  /** All pods that have a worker, or await one. */
  podUIDs(): readonly string[] {
    return [...this.#slots.values()].flatMap(({ active, desired, left }) =>
      [active?.worker.pod, desired?.pod, ...left.map(({ pod }) => pod)].flatMap(
        (pod) => pod?.metadata?.uid ?? [],
      ),
    );
  }

  /** Begins to work; ends with `signal`. What was applied before takes effect now. */
  start(signal: AbortSignal): void {
    this.#signal = signal;
    this.#reconcileAll();
  }

  /** Resolves when every worker has come to rest after the signal, and what it did in the runtime has ended. */
  async stopped(): Promise<void> {
    await Promise.all(this.#running);
    await Promise.all(this.workers().map((worker) => worker.settled()));
  }

  /** Takes the newest desired state. */
  apply(desired: DesiredState): void {
    this.#unread = new Set(desired.unread);
    const wanted = new Map(desired.pods.map((source) => [fullName(source.pod), source]));
    for (const [name, slot] of this.#slots) slot.desired = wanted.get(name);
    for (const source of desired.pods) this.#slotOf(source.pod).desired = source;
    this.#reconcileAll();
  }

  entries(): readonly PodEntry[] {
    return [...this.#slots.values()].flatMap(({ active }) => (active === undefined ? [] : [entryOf(active)]));
  }

  /** The same, with pods of which nothing is left here while their server still has them. */
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

  /** Ends a pod that takes more than it may or than there is. It stays to be seen, and does not run again under this
   *  version unless it is renewed.
   *  Resolves when it is kept that it has ended. */
  async evict(podUID: string, message: string, gracePeriodSeconds: number): Promise<void> {
    const worker = this.workers().find(({ pod }) => pod.metadata?.uid === podUID);
    if (worker === undefined) return;
    this.#deps.warned?.(worker.pod, EVICTED, message);
    await worker.finish({ phase: 'Failed', reason: EVICTED, message, gracePeriodSeconds });
  }

  /** Lets a pod that has ended start again from nothing, as if it had just come. */
  renew(podUID: string): void {
    const worker = this.workers().find(({ pod }) => pod.metadata?.uid === podUID);
    if (worker !== undefined) worker.remove(gracePeriodSeconds(worker.pod));
  }

  #slotOf(pod: Pod): Slot {
    const name = fullName(pod);
    const known = this.#slots.get(name);
    if (known !== undefined) return known;
    const slot: Slot = { desired: undefined, left: [], active: undefined, released: undefined };
    this.#slots.set(name, slot);
    return slot;
  }

  /** What is wrong with one pod is no other pod's trouble. */
  #reconcileAll(): void {
    for (const name of this.#slots.keys()) {
      try {
        this.#reconcile(name);
      } catch (thrown) {
        this.#deps.log.error({ err: asError(thrown), pod: name }, 'Pod could not be taken on');
      }
    }
  }

  #reconcile(name: string): void {
    const slot = this.#slots.get(name);
    if (slot === undefined || this.#signal === undefined || this.#signal.aborted) return;
    if (slot.active !== undefined) return this.#reconcileActive(slot, slot.active);
    const left = this.#nextLeft(slot);
    if (left !== undefined) return this.#adopt(name, slot, left);
    if (slot.desired !== undefined) {
      if (isDeleted(slot.desired.pod)) return this.#deps.ended?.(slot.desired.pod, undefined);
      if (this.#isUIDTaken(slot, slot.desired.pod.metadata?.uid)) return;
      return this.#spawn(name, slot, slot.desired, undefined);
    }
    if (slot.left.length === 0) this.#slots.delete(name);
  }

  /** Folders, cgroups and containers go by the UID: a pod waits until another name that had it is gone. */
  #isUIDTaken(slot: Slot, uid: string | undefined): boolean {
    return [...this.#slots.values()].some(
      (other) =>
        other !== slot &&
        (other.active?.worker.pod.metadata?.uid === uid ||
          other.left.some(({ pod }) => pod.metadata?.uid === uid)),
    );
  }

  #reconcileActive(slot: Slot, { worker, source }: NonNullable<Slot['active']>): void {
    const { desired } = slot;
    if (desired !== undefined && this.#sameVersion(desired.pod, source.pod)) {
      if (desired !== source) this.#update(slot, worker, desired);
      return;
    }
    if (desired === undefined && this.#unread.has(source.origin.source) && !worker.removing) return;
    worker.remove(gracePeriodSeconds(worker.pod));
  }

  /** A pod that a server changed is still the same; a manifest that changed is another pod. */
  #update(slot: Slot, worker: PodWorker, desired: SourcePod): void {
    if (desired.origin.source !== 'api') return;
    slot.active = { worker, source: desired };
    const { pod } = desired;
    const failed = (thrown: unknown): void => {
      this.#deps.log.warn({ err: asError(thrown), pod: fullName(pod) }, 'Pod record was not written');
    };
    const end = serverEnd(pod);
    if (end !== undefined) worker.finish(end).catch(failed);
    worker
      .update(pod)
      .then(() => this.#deps.updated?.(pod))
      .catch(failed);
    if (isDeleted(pod)) worker.remove(gracePeriodSeconds(pod));
  }

  /** What was left is taken up when its pod is wanted, or, once it is known to be unwanted, to be removed. */
  #nextLeft(slot: Slot): PodRecord | undefined {
    const { desired } = slot;
    if (desired === undefined) return slot.left.find(({ origin }) => !this.#unread.has(origin.source));
    return slot.left.find((record) => !this.#sameVersion(record.pod, desired.pod)) ?? slot.left[0];
  }

  #adopt(name: string, slot: Slot, record: PodRecord): void {
    slot.left = slot.left.filter((other) => other !== record);
    const wanted = slot.desired !== undefined && this.#sameVersion(slot.desired.pod, record.pod);
    this.#spawn(
      name,
      slot,
      wanted && slot.desired !== undefined ? continued(slot.desired, record) : record,
      record,
    );
    if (!wanted) slot.active?.worker.remove(gracePeriodSeconds(record.pod));
    else if (slot.desired !== undefined && isDeleted(slot.desired.pod)) {
      slot.active?.worker.remove(gracePeriodSeconds(slot.desired.pod));
    }
  }

  #spawn(name: string, slot: Slot, source: SourcePod, record: PodRecord | undefined): void {
    const signal = this.#signal;
    if (signal === undefined) return;
    const { log, clock, createWorker } = this.#deps;
    const start: PodStart = {
      pod: source.pod,
      startedAtMs: record?.startedAtMs ?? clock.now(),
      terminal: record?.terminal ?? this.#endedBefore(source, record),
      adopted: record !== undefined,
    };
    const worker = createWorker(start, source.origin);
    slot.active = { worker, source };
    slot.released = undefined;
    log.info({ pod: name, podUID: source.pod.metadata?.uid, adopted: start.adopted }, 'Pod was taken on');
    const running = this.#follow(name, slot, worker, signal).catch((thrown: unknown) => {
      log.error({ err: asError(thrown), pod: name }, 'Pod worker failed');
    });
    this.#running.add(running);
    void running.finally(() => this.#running.delete(running));
  }

  /** What ended the pod before it is taken on here: its server says so, or the node refuses it. */
  #endedBefore({ pod, origin }: SourcePod, record: PodRecord | undefined): TerminalPhase | undefined {
    const end = origin.source === 'api' ? serverEnd(pod) : undefined;
    if (end !== undefined) return end;
    if (record === undefined) return this.#refused({ pod, origin });
    this.#deps.adopted?.(pod);
    return undefined;
  }

  /** A pod that the node does not take on has ended before it began. */
  #refused(source: SourcePod): TerminalPhase | undefined {
    const others = this.entries().filter(({ end }) => end === undefined);
    const verdict = this.#deps.refuse(source, others);
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
    const worker = this.workers().find(({ pod }) => pod.metadata?.uid === podUID);
    this.#deps.log.info({ podUID, for: fullName(critical) }, 'Pod makes room for a critical one');
    this.#deps.warned?.(victim, PREEMPTED.reason, PREEMPTED.message);
    worker?.finish({ phase: 'Failed', ...PREEMPTED }).catch((thrown: unknown) => {
      this.#deps.log.warn({ err: asError(thrown), podUID }, 'Pod record was not written');
    });
  }

  async #follow(name: string, slot: Slot, worker: PodWorker, signal: AbortSignal): Promise<void> {
    const removed = await worker.run(signal);
    if (!removed) return;
    await this.#deps.forget(podIdentity(worker.pod).uid).catch((err: unknown) => {
      // A record that stays costs the next agent a look at a pod that is gone; a name held for ever costs the pod.
      this.#deps.log.warn({ err, pod: name }, 'Pod record was not removed');
    });
    const source = slot.active?.source ?? slot.desired;
    const isGone = source !== undefined && source.origin.source === 'api';
    slot.released = isGone && slot.active !== undefined ? entryOf(slot.active) : undefined;
    slot.active = undefined;
    if (isGone) this.#deps.ended?.(worker.pod, worker.status());
    this.#deps.changed();
    this.#deps.log.info({ pod: name, podUID: worker.pod.metadata?.uid }, 'Pod was removed');
    // All, as another name may have waited for the UID.
    this.#reconcileAll();
  }

  #sameVersion(a: Pod, b: Pod): boolean {
    return this.#deps.versionOf(a) === this.#deps.versionOf(b);
  }
}

/** The pod of the manifest with what was added to it while it ran. */
const continued = ({ pod, origin }: SourcePod, record: PodRecord): SourcePod => ({
  pod: withEphemeralContainersOf(pod, record.pod),
  origin,
});

/** The end of the pod that its server knows of. */
function serverEnd({ status }: Pod): TerminalPhase | undefined {
  const { phase, reason = '', message = '' } = status ?? {};
  return phase === 'Failed' || phase === 'Succeeded' ? { phase, reason, message } : undefined;
}

const isDeleted = (pod: Pod): boolean => pod.metadata?.deletionTimestamp !== undefined;

const fullName = (pod: Pod): string => podFullName(podIdentity(pod));

const gracePeriodSeconds = (pod: Pod): number =>
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
