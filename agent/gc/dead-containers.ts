/** Selection of dead containers and sandboxes to remove. Pure.
 *  Source: garbage collection, document 3 §4.3 (`--maximum-dead-containers`, `-per-container`,
 *  `--minimum-container-ttl-duration`). */
import type { ContainerState, PodSandboxState } from '#cri/gen/cri-v1.ts';

export interface GcContainer {
  readonly containerID: string;
  readonly podUID: string;
  /** Name in the pod's spec. */
  readonly name: string;
  readonly sandboxID: string;
  readonly state: ContainerState;
  /** Wall time of creation, in ms. */
  readonly createdAtMs: number;
}

export interface GcSandbox {
  readonly sandboxID: string;
  readonly podUID: string;
  readonly state: PodSandboxState;
  /** Wall time of creation, in ms. */
  readonly createdAtMs: number;
}

export interface GcPolicy {
  /** Maximum number of dead containers on the node; negative means no limit. */
  readonly maxContainers: number;
  /** Maximum number of dead instances per container, the newest first; negative means no limit. */
  readonly maxPerContainer: number;
  /** Minimum age of a dead container of an existing pod, in ms. */
  readonly minAgeMs: number;
}

export interface GcObservation {
  /** All containers and sandboxes of the agent. */
  readonly containers: readonly GcContainer[];
  readonly sandboxes: readonly GcSandbox[];
  /** Reports whether a pod has been removed: not desired, without a worker. Called only when `sourcesReady`. */
  readonly isPodGone: (podUID: string) => boolean;
  /** Reports whether a pod has succeeded or failed: none of its containers will run again. */
  readonly isPodOver: (podUID: string) => boolean;
  /** Every pod source has been read; until then no pod counts as removed. */
  readonly sourcesReady: boolean;
  readonly nowMs: number;
}

export interface GcDecision {
  /** Removed first, oldest first. */
  readonly containerIDs: readonly string[];
  /** To be stopped (which releases their network) and removed, after the containers. */
  readonly sandboxIDs: readonly string[];
}

function byAge(a: { readonly createdAtMs: number }, b: { readonly createdAtMs: number }): number {
  return b.createdAtMs - a.createdAtMs;
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): readonly (readonly T[])[] {
  return [...Map.groupBy(items, keyOf).values()];
}

/** Applies the global limit: an equal share per container first, then the oldest of all are removed, so that
 *  no container loses its last instance before others have lost their spare ones. */
function limitGlobally(
  groups: readonly (readonly GcContainer[])[],
  maxContainers: number,
): readonly GcContainer[] {
  const total = groups.reduce((sum, group) => sum + group.length, 0);
  if (maxContainers < 0 || total <= maxContainers) return groups.flat();
  const share = Math.max(1, Math.floor(maxContainers / groups.length));
  const retained = groups.flatMap((group) => group.slice(0, share));
  return retained.sort(byAge).slice(0, maxContainers);
}

function isOver(container: GcContainer): boolean {
  return container.state === 'CONTAINER_EXITED' || container.state === 'CONTAINER_UNKNOWN';
}

const nameKey = ({ podUID, name }: GcContainer): string => `${podUID}/${name}`;

/** Returns the last dead instance of each container of active pods: it records which containers need not run
 *  again, so it stays whatever the limits are.
 *  Deviation: upstream removes it as well, and may run the container a second time. */
function neededContainers({ containers, isPodOver }: GcObservation): ReadonlySet<GcContainer> {
  const ofPodsThatGoOn = containers.filter(({ podUID }) => !isPodOver(podUID));
  const asleep = groupBy(ofPodsThatGoOn, nameKey).filter(
    (group) => !group.some(({ state }) => state === 'CONTAINER_RUNNING'),
  );
  return new Set(asleep.flatMap((group) => group.filter(isOver).toSorted(byAge)[0] ?? []));
}

/** Returns dead containers of existing pods, retaining the newest of each container within the limits. */
function decideAged(candidates: readonly GcContainer[], policy: GcPolicy): readonly GcContainer[] {
  const groups = groupBy(candidates, nameKey).map((group) => [...group].sort(byAge));
  const withinEach =
    policy.maxPerContainer < 0 ? groups : groups.map((group) => group.slice(0, policy.maxPerContainer));
  const retained = new Set(limitGlobally(withinEach, policy.maxContainers));
  return candidates.filter((container) => !retained.has(container));
}

function decideSandboxes(
  observation: GcObservation,
  isGone: (podUID: string) => boolean,
  removedContainers: ReadonlySet<string>,
): readonly GcSandbox[] {
  const inUse = new Set(
    observation.containers
      .filter((container) => !removedContainers.has(container.containerID))
      .map((container) => container.sandboxID),
  );
  return groupBy(observation.sandboxes, (sandbox) => sandbox.podUID).flatMap((ofPod) => {
    const [newest, ...older] = [...ofPod].sort(byAge);
    // The newest sandbox provides the last IP and attempt of the pod; a removed pod needs neither.
    const candidates = newest !== undefined && isGone(newest.podUID) ? [newest, ...older] : older;
    return candidates.filter(
      (sandbox) => sandbox.state === 'SANDBOX_NOTREADY' && !inUse.has(sandbox.sandboxID),
    );
  });
}

/** Selects what to remove: never running containers or ready sandboxes; containers that were never started
 *  only when their pod is removed. */
export function decideDeadContainers(observation: GcObservation, policy: GcPolicy): GcDecision {
  const { containers, sourcesReady, nowMs } = observation;
  const isGone = (podUID: string): boolean => sourcesReady && observation.isPodGone(podUID);
  const ofGonePods = containers.filter(
    (container) => container.state !== 'CONTAINER_RUNNING' && isGone(container.podUID),
  );
  const aged = containers.filter(
    (container) =>
      isOver(container) && !isGone(container.podUID) && nowMs - container.createdAtMs >= policy.minAgeMs,
  );
  const needed = neededContainers(observation);
  const spare = decideAged(aged, policy).filter((container) => !needed.has(container));
  const removed = [...ofGonePods, ...spare].sort(byAge).reverse();
  const containerIDs = removed.map((container) => container.containerID);
  const sandboxes = decideSandboxes(observation, isGone, new Set(containerIDs));
  return { containerIDs, sandboxIDs: sandboxes.map((sandbox) => sandbox.sandboxID) };
}
