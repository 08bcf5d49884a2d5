/** Runtime view: the single cache of the agent's objects in the runtime. Updated by relists, events and the
 *  agent's own actions; workers read snapshots.
 *
 *  A container only moves forward: created → running → exited. The runtime's lists may lag behind its events,
 *  so an older response never reverts a newer fact. */
import { createListeners, type Listeners } from '#api/kit/listeners.ts';
import type { ObservedContainer, ObservedSandbox, PodObservation } from './types.ts';
import { NOTHING_OBSERVED } from './types.ts';

export interface Listing {
  readonly sandboxes: readonly ObservedSandbox[];
  readonly containers: readonly ObservedContainer[];
}

type PodObject = ObservedContainer | ObservedSandbox;

export const OOM_KILLED = 'OOMKilled';

const STATE_ORDER = { created: 0, running: 1, unknown: 2, exited: 3 } as const;

/** Merges two observations of one container: the newer one, with details that only the older one had. */
export function mergeContainer(
  old: ObservedContainer | undefined,
  seen: ObservedContainer,
): ObservedContainer {
  if (old === undefined) return seen;
  if (old.state === 'exited' && seen.state !== 'exited') return old;
  if (old.state === 'exited' && old.isProvisional !== true && seen.isProvisional === true) return old;
  if (STATE_ORDER[seen.state] < STATE_ORDER[old.state] && old.state !== 'unknown') return old;
  return {
    ...seen,
    sandboxId: seen.sandboxId || old.sandboxId,
    startedAtMs: seen.startedAtMs || old.startedAtMs,
    finishedAtMs: seen.finishedAtMs || old.finishedAtMs,
    // Runtimes occasionally lose the reason of an OOM kill that an event has reported.
    reason: old.reason === OOM_KILLED ? OOM_KILLED : seen.reason || old.reason,
    message: seen.message || old.message,
    image: seen.image || old.image,
    imageID: seen.imageID || old.imageID,
  };
}

/** A sandbox that was seen dead stays dead; known addresses stay known. */
export function mergeSandbox(old: ObservedSandbox | undefined, seen: ObservedSandbox): ObservedSandbox {
  if (old === undefined) return seen;
  return { ...seen, ready: seen.ready && old.ready, ips: seen.ips.length > 0 ? seen.ips : old.ips };
}

export class RuntimeView {
  readonly #sandboxes: Shelf<ObservedSandbox>;
  readonly #containers: Shelf<ObservedContainer>;
  readonly #observations = new Map<string, PodObservation>();
  readonly #listeners = createListeners<[podUID: string]>('observed pods');
  readonly #oomListeners = createListeners<[id: string]>('observed pods');
  readonly #podListeners = new Map<string, Listeners>();
  #time = 0;

  constructor() {
    const tick = (): number => {
      this.#time += 1;
      return this.#time;
    };
    const changed = (podUID: string): void => this.#changed(podUID);
    this.#sandboxes = new Shelf(tick, changed);
    this.#containers = new Shelf(tick, changed);
  }

  /** Snapshot of one pod; the same object until the pod changes. */
  pod(podUID: string): PodObservation {
    const known = this.#observations.get(podUID);
    if (known !== undefined) return known;
    const sandboxes = this.#sandboxes.ofPod(podUID).sort(newestFirst);
    const containers = this.#containers.ofPod(podUID).sort(newestFirst);
    if (sandboxes.length + containers.length === 0) return NOTHING_OBSERVED;
    const observation = { sandboxes, containers };
    this.#observations.set(podUID, observation);
    return observation;
  }

  podUIDs(): ReadonlySet<string> {
    return new Set([...this.#sandboxes.podUIDs(), ...this.#containers.podUIDs()]);
  }

  sandbox(id: string): ObservedSandbox | undefined {
    return this.#sandboxes.get(id);
  }

  container(id: string): ObservedContainer | undefined {
    return this.#containers.get(id);
  }

  containers(): readonly ObservedContainer[] {
    return this.#containers.all();
  }

  sandboxes(): readonly ObservedSandbox[] {
    return this.#sandboxes.all();
  }

  noteSandbox(sandbox: ObservedSandbox): void {
    this.#sandboxes.put(mergeSandbox(this.#sandboxes.get(sandbox.id), sandbox));
  }

  noteContainer(container: ObservedContainer): void {
    this.#containers.put(mergeContainer(this.#containers.get(container.id), container));
  }

  /** Records an OOM kill in a container, which may or may not have terminated it. */
  noteOom(id: string): void {
    const container = this.container(id);
    if (container !== undefined) this.noteContainer({ ...container, reason: OOM_KILLED });
  }

  /** Calls `listener` with the ID of each container with an OOM kill reported by the runtime. Returns a
   *  function that unsubscribes. */
  onOom(listener: (id: string) => void): () => void {
    this.#oomListeners.add(listener);
    return () => this.#oomListeners.delete(listener);
  }

  /** Records an OOM kill that the runtime reported. */
  tellOom(id: string): void {
    this.noteOom(id);
    this.#oomListeners.notify(id);
  }

  forgetSandbox(id: string): void {
    this.#sandboxes.remove(id);
  }

  forgetContainer(id: string): void {
    this.#containers.remove(id);
  }

  /** Returns a point in time for `replace`. */
  mark(): number {
    return this.#time;
  }

  /** Applies a full list that was requested at `mark`: objects missing in it are removed, unless recorded
   *  since then; objects removed since then stay removed. Lists are serialized. */
  replace(listing: Listing, mark: number): void {
    for (const sandbox of listing.sandboxes) {
      if (!this.#sandboxes.wasRemovedSince(sandbox.id, mark)) this.noteSandbox(sandbox);
    }
    for (const container of listing.containers) {
      if (!this.#containers.wasRemovedSince(container.id, mark)) this.noteContainer(container);
    }
    this.#sandboxes.dropMissing(listing.sandboxes, mark);
    this.#containers.dropMissing(listing.containers, mark);
  }

  /** Calls `listener` when this pod has changed. Returns a function that unsubscribes. */
  onPodChange(podUID: string, listener: () => void): () => void {
    const listeners = this.#podListeners.get(podUID) ?? createListeners('an observed pod');
    this.#podListeners.set(podUID, listeners);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#podListeners.get(podUID) === listeners)
        this.#podListeners.delete(podUID);
    };
  }

  /** Calls `listener` with the UID of each changed pod. Returns a function that unsubscribes. */
  onChange(listener: (podUID: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #changed(podUID: string): void {
    this.#observations.delete(podUID);
    this.#podListeners.get(podUID)?.notify();
    this.#listeners.notify(podUID);
  }
}

const newestFirst = (a: PodObject, b: PodObject): number =>
  b.attempt - a.attempt || b.createdAtMs - a.createdAtMs;

/** Objects of one kind by ID and by pod, each with the time of its last update. */
class Shelf<T extends PodObject> {
  readonly #byId = new Map<string, { readonly value: T; readonly notedAt: number }>();
  readonly #byPod = new Map<string, Set<string>>();
  /** Removal times, as long as a list in flight may still contain the objects. */
  readonly #removedAt = new Map<string, number>();
  readonly #tick: () => number;
  readonly #changed: (podUID: string) => void;

  constructor(tick: () => number, changed: (podUID: string) => void) {
    this.#tick = tick;
    this.#changed = changed;
  }

  get(id: string): T | undefined {
    return this.#byId.get(id)?.value;
  }

  all(): T[] {
    return [...this.#byId.values()].map(({ value }) => value);
  }

  podUIDs(): Iterable<string> {
    return this.#byPod.keys();
  }

  ofPod(podUID: string): T[] {
    return [...(this.#byPod.get(podUID) ?? [])].flatMap((id) => this.get(id) ?? []);
  }

  put(value: T): void {
    const before = this.get(value.id);
    this.#byId.set(value.id, { value, notedAt: this.#tick() });
    if (before === undefined) {
      const ids = this.#byPod.get(value.podUID) ?? new Set();
      this.#byPod.set(value.podUID, ids.add(value.id));
    }
    if (before === undefined || !sameFields(before, value)) this.#changed(value.podUID);
  }

  wasRemovedSince(id: string, mark: number): boolean {
    return (this.#removedAt.get(id) ?? 0) > mark;
  }

  remove(id: string): void {
    this.#removedAt.set(id, this.#tick());
    const value = this.get(id);
    if (value === undefined) return;
    this.#byId.delete(id);
    const ids = this.#byPod.get(value.podUID);
    ids?.delete(id);
    if (ids?.size === 0) this.#byPod.delete(value.podUID);
    this.#changed(value.podUID);
  }

  dropMissing(listed: readonly T[], mark: number): void {
    const seen = new Set(listed.map(({ id }) => id));
    const missing = [...this.#byId].filter(([id, { notedAt }]) => !seen.has(id) && notedAt <= mark);
    for (const [id] of missing) this.remove(id);
    this.#removedAt.clear();
  }
}

/** Compares members; lists by their elements. */
function sameFields(a: object, b: object): boolean {
  const right = new Map<string, unknown>(Object.entries(b));
  const left = Object.entries(a);
  return left.length === right.size && left.every(([key, value]) => sameValue(value, right.get(key)));
}

function sameValue(a: unknown, b: unknown): boolean {
  if (!Array.isArray(a) || !Array.isArray(b)) return a === b;
  return a.length === b.length && a.every((element, index) => element === b[index]);
}
