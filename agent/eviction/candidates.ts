/** Eviction candidates: running pods with their usage of the scarce resource. Pure.
 *  Source: upstream's eviction manager, release 1.24. */
import type { Container, Pod } from '#api/gen/core-v1.ts';
import type { ContainerStats, FsStats, PodStats } from '#api/gen/stats-v1alpha1.ts';
import type { Candidate, ContainerUse } from '#eviction/ranking.ts';
import { SIGNAL_FACTS, type Signal } from '#eviction/signals.ts';
import { parseAmounts, podRequests, priorityOf } from '../admission/resource-fit.ts';

/** Bytes by container name; undefined where the measurement failed. */
export type ContainerMemory = ReadonlyMap<string, number | undefined>;

export interface CandidateRules {
  /** Whether the pod is protected from eviction. */
  readonly isCritical: (pod: Pod) => boolean;
}

const containersOf = ({ spec }: Pod): readonly Container[] => [
  ...(spec?.initContainers ?? []),
  ...(spec?.containers ?? []),
];

function requestOf(pod: Pod, name: string, resource: string): number {
  const container = containersOf(pod).find((one) => one.name === name);
  return Number(parseAmounts(container?.resources?.requests ?? {})[resource] ?? 0);
}

/** Returns the sum; undefined as soon as one operand is, since the total is unknown then. */
const sum = (amounts: readonly (number | undefined)[]): number | undefined =>
  amounts.reduce<number | undefined>(
    (total, amount) => (total === undefined || amount === undefined ? undefined : total + amount),
    0,
  );

const base = (pod: Pod, { isCritical }: CandidateRules) => ({
  pod,
  priority: priorityOf(pod),
  critical: isCritical(pod),
});

/** @param memory of the pod's running containers; a pod without any uses nothing */
export function memoryCandidate(
  pod: Pod,
  memory: ContainerMemory | undefined,
  rules: CandidateRules,
): Candidate<Pod> {
  const containers = [...(memory ?? [])].map(
    ([name, used]): ContainerUse => ({ name, used, requested: requestOf(pod, name, 'memory') }),
  );
  return {
    ...base(pod, rules),
    used: sum(containers.map(({ used }) => used)),
    requested: Number(podRequests(pod)['memory'] ?? 0),
    containers,
  };
}

/** Parts of a pod on the file system under pressure. */
export interface Lies {
  readonly layers: boolean;
  /** Logs and volumes. */
  readonly local: boolean;
}

/** With a separate image file system, container layers are on it, and everything else is not. */
export function liesOn(signal: Signal, imagesApart: boolean): Lies {
  if (!imagesApart) return { layers: true, local: true };
  const isImages = signal.startsWith('imagefs');
  return { layers: isImages, local: !isImages };
}

/** Returns the usage of the pod on the file system.
 *  @param stats undefined for a pod without running containers */
export function diskCandidate(
  pod: Pod,
  stats: PodStats | undefined,
  lies: Lies,
  signal: Signal,
  rules: CandidateRules,
): Candidate<Pod> {
  const isBytes = SIGNAL_FACTS[signal].scarce === 'disk';
  const amount = (fs: FsStats | undefined): number => Number((isBytes ? fs?.usedBytes : fs?.inodesUsed) ?? 0);
  const ofContainer = ({ rootfs, logs }: ContainerStats): number =>
    (lies.layers ? amount(rootfs) : 0) + (lies.local ? amount(logs) : 0);
  const { containers = [] } = stats ?? {};
  const layers = containers.reduce((total, { rootfs }) => total + amount(rootfs), 0);
  const all = amount(stats?.['ephemeral-storage']);
  const used = (lies.layers ? layers : 0) + (lies.local ? Math.max(0, all - layers) : 0);
  return {
    ...base(pod, rules),
    used,
    requested: Number(podRequests(pod)['ephemeral-storage'] ?? 0),
    containers: containers.map((container) => ({
      name: container.name,
      used: ofContainer(container),
      requested: requestOf(pod, container.name, 'ephemeral-storage'),
    })),
  };
}

export function processCandidate(
  pod: Pod,
  stats: PodStats | undefined,
  rules: CandidateRules,
): Candidate<Pod> {
  const used = Number(stats?.process_stats?.process_count ?? 0);
  return { ...base(pod, rules), used, requested: 0, containers: [] };
}
