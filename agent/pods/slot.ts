/** Slots of pods: one for each pod name, with the active, the desired and the recovered pods of that name. Pure rules
 *  about which of them is desired, adopted or blocked; the manager applies them. */

import type { Pod, PodStatus } from '#api/gen/core-v1.ts';
import type { Int64 } from '#api/kit/int64.ts';
import { podFullName, podIdentity } from '../pod-identity/identity.ts';
import type { ManifestOrigin, SourceName, SourcePod } from '../sources/types.ts';
import type { TerminalPhase } from './decide/decision-types.ts';
import { withEphemeralContainersOf } from './decide/ephemeral.ts';
import type { PodRecord } from './record/record.ts';
import type { PodWorker } from './worker.ts';
import type { PodDeletion } from './worker-contract.ts';

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

export interface ActivePod {
  readonly worker: PodWorker;
  readonly source: SourcePod;
}

/** Holds the active and the desired pod of one name. */
export interface Slot {
  /** `namespace/name`; that of an orphan also has its UID. */
  readonly name: string;
  desired: SourcePod | undefined;
  /** Records of an earlier run under this name that have not been adopted yet. */
  recovered: PodRecord[];
  active: ActivePod | undefined;
  /** The last removed pod of an API server, until its object is known to be deleted. */
  released: PodEntry | undefined;
}

/** Input of the rules beside the slot. */
export interface SlotRules {
  /** Sources that have not been read yet. */
  readonly unread: ReadonlySet<SourceName>;
  /** Reports whether both are the same pod: a changed manifest is a new one. */
  readonly sameVersion: (a: Pod, b: Pod) => boolean;
}

const DEFAULT_GRACE_SECONDS = 30;

export const emptySlot = (name: string): Slot => ({
  name,
  desired: undefined,
  recovered: [],
  active: undefined,
  released: undefined,
});

/** A pod of a source that has not been read yet is desired until it is. */
export function isDesired(
  { desired }: Slot,
  { worker, source }: ActivePod,
  { sameVersion, unread }: SlotRules,
): boolean {
  if (desired !== undefined) return sameVersion(desired.pod, source.pod);
  return unread.has(source.origin.source) && !worker.removing;
}

/** Returns the pod that counts against the capacity of the node, as upstream counts them: one that has not ended and
 *  is still desired. A pod that terminates after its object was deleted blocks no other. */
export function occupantOf(slot: Slot, rules: SlotRules): readonly PodEntry[] {
  const { active } = slot;
  if (active === undefined || active.worker.end !== undefined) return [];
  return isDesired(slot, active, rules) ? [entryOf(active)] : [];
}

/** Returns the UIDs of the pods that have or await a worker. */
export const uidsOf = ({ active, desired, recovered }: Slot): readonly string[] =>
  [active?.worker.pod, desired?.pod, ...recovered.map(({ pod }) => pod)].flatMap(
    (pod) => pod?.metadata?.uid ?? [],
  );

/** Returns the record to adopt: those of other versions first, to be removed. Without a desired pod only
 *  records of sources that have been read count. */
export function nextRecovered(slot: Slot, { sameVersion, unread }: SlotRules): PodRecord | undefined {
  const { desired } = slot;
  if (desired === undefined) return slot.recovered.find(({ origin }) => !unread.has(origin.source));
  return slot.recovered.find((record) => !sameVersion(record.pod, desired.pod)) ?? slot.recovered[0];
}

/** Directories, cgroups and containers are named by UID: a pod waits until another slot with its UID is
 *  empty. */
export function isUIDInUse(all: Iterable<Slot>, slot: Slot, uid: string | undefined): boolean {
  return [...all].some(
    (other) =>
      other !== slot &&
      (other.active?.worker.identity.uid === uid ||
        other.recovered.some(({ pod }) => pod.metadata?.uid === uid)),
  );
}

/** Returns the pod of the manifest with the ephemeral containers that were added while it ran. */
export const continued = ({ pod, origin }: SourcePod, record: PodRecord): SourcePod => ({
  pod: withEphemeralContainersOf(pod, record.pod),
  origin,
});

/** Returns the terminal phase that the server stores for the pod. */
export function serverEnd({ status }: Pod): TerminalPhase | undefined {
  const { phase, reason = '', message = '' } = status ?? {};
  return phase === 'Failed' || phase === 'Succeeded' ? { phase, reason, message } : undefined;
}

export const isDeleted = (pod: Pod): boolean => pod.metadata?.deletionTimestamp !== undefined;

export const fullName = (pod: Pod): string => podFullName(podIdentity(pod));

export const removalGraceSeconds = (pod: Pod): Int64 =>
  pod.metadata?.deletionGracePeriodSeconds ??
  pod.spec?.terminationGracePeriodSeconds ??
  DEFAULT_GRACE_SECONDS;

export const entryOf = ({ worker, source }: ActivePod): PodEntry => ({
  pod: worker.pod,
  origin: source.origin,
  status: worker.status(),
  end: worker.end,
  deletion: worker.deletion,
});
