/** Statistics of pods and their containers, from runtime and kernel data. Pure. */

import type { Pod } from '#api/gen/core-v1.ts';
import type {
  ContainerStats,
  CPUStats,
  FsStats,
  MemoryStats,
  PodStats,
  VolumeStats,
} from '#api/gen/stats-v1alpha1.ts';
import type { Int64 } from '#api/kit/int64.ts';
import { addInt64, int64Of } from '#api/kit/int64.ts';
import type { ContainerStats as CriStats, FilesystemUsage, UInt64Value } from '#cri/gen/cri-v1.ts';
import type { UsageFigures } from '#volumes/usage/disk-usage.ts';
import type { FsSpace } from '#volumes/usage/fs-space.ts';
import type { ObservedContainer, ObservedSandbox } from '../../../observe/types.ts';
import { networkStats } from './pod-network.ts';
import type { InterfaceCounts } from './proc.ts';
import type { Rates } from './rates.ts';
import { sampleTime } from './sample-time.ts';

const NS_PER_MS = 1_000_000;

export const num = (value: UInt64Value | undefined): Int64 | undefined =>
  value === undefined ? undefined : int64Of(value.value);

/** Returns the members with known values. */
export function known<K extends string, T extends Int64>(
  values: Readonly<Record<K, T | undefined>>,
): { readonly [P in K]?: T } {
  const result: { [P in K]?: T } = {};
  for (const key in values) if (values[key] !== undefined) result[key] = values[key];
  return result;
}

const timeOfNs = (ns: bigint): string => sampleTime(Number(ns / BigInt(NS_PER_MS)));

function cpuOf(key: string, { cpu }: CriStats, rates: Rates): CPUStats | undefined {
  if (cpu === undefined) return undefined;
  const used = num(cpu.usageCoreNanoSeconds);
  const reported = num(cpu.usageNanoCores);
  const rate = used === undefined ? undefined : rates.rate(key, Number(used), Number(cpu.timestamp));
  return {
    time: timeOfNs(cpu.timestamp),
    // Runtimes that compute no rate report zero.
    ...known({
      usageNanoCores: reported === undefined || reported === 0 ? rate : reported,
      usageCoreNanoSeconds: used,
    }),
  };
}

function memoryOf({ memory }: CriStats): MemoryStats | undefined {
  if (memory === undefined) return undefined;
  const { timestamp, workingSetBytes, availableBytes, usageBytes, rssBytes, pageFaults, majorPageFaults } =
    memory;
  return {
    time: timeOfNs(timestamp),
    ...known({
      // Runtimes report zero both for exhausted memory and for a missing limit.
      availableBytes: num(availableBytes) || undefined,
      usageBytes: num(usageBytes),
      workingSetBytes: num(workingSetBytes),
      rssBytes: num(rssBytes),
      pageFaults: num(pageFaults),
      majorPageFaults: num(majorPageFaults),
    }),
  };
}

type Space = Partial<Pick<FsSpace, 'capacityBytes' | 'availableBytes' | 'inodes' | 'inodesFree'>>;

/** Returns the known members. */
export const spaceFields = ({ capacityBytes, availableBytes, inodes, inodesFree }: Space): Space =>
  known({ availableBytes, capacityBytes, inodes, inodesFree });

function layerOf(
  layer: FilesystemUsage | undefined,
  space: Space | undefined,
  time: string,
): FsStats | undefined {
  if (layer === undefined) return undefined;
  const used = { usedBytes: num(layer.usedBytes), inodesUsed: num(layer.inodesUsed) };
  return {
    // The timestamp is zero if the runtime has not measured the layer yet.
    time: layer.timestamp === 0n ? time : timeOfNs(layer.timestamp),
    ...(space === undefined ? {} : spaceFields(space)),
    ...known(used),
  };
}

const measured = ({ atMs, space, usedBytes, inodesUsed }: UsageFigures): FsStats => ({
  time: sampleTime(atMs),
  ...spaceFields(space),
  ...known({ usedBytes, inodesUsed }),
});

export interface ContainerParts {
  readonly stats: CriStats;
  readonly observed: ObservedContainer;
  /** Disk usage of its logs. */
  readonly log: UsageFigures | undefined;
  /** Space of the file system with the writable layers. */
  readonly layers: Space | undefined;
  /** Time of collection. */
  readonly time: string;
}

export function containerStats(
  { stats, observed, log, layers, time }: ContainerParts,
  rates: Rates,
): ContainerStats {
  const cpu = cpuOf(observed.id, stats, rates);
  const memory = memoryOf(stats);
  const rootfs = layerOf(stats.writableLayer, layers, time);
  return {
    name: observed.name,
    startTime: sampleTime(observed.startedAtMs === 0 ? observed.createdAtMs : observed.startedAtMs),
    ...(cpu === undefined ? {} : { cpu }),
    ...(memory === undefined ? {} : { memory }),
    ...(rootfs === undefined ? {} : { rootfs }),
    ...(log === undefined ? {} : { logs: measured(log) }),
  };
}

/** Returns the claim of a volume: a referenced one, or that of a generic ephemeral volume. */
function claimOf({ metadata, spec }: Pod, name: string): VolumeStats['pvcRef'] {
  const volume = spec?.volumes?.find((each) => each.name === name);
  const namespace = metadata?.namespace ?? '';
  const claim = volume?.persistentVolumeClaim?.claimName;
  if (claim !== undefined) return { name: claim, namespace };
  return volume?.ephemeral === undefined ? undefined : { name: `${metadata?.name}-${name}`, namespace };
}

function volumeStats(figures: UsageFigures, pod: Pod | undefined): VolumeStats {
  const { name, condition } = figures;
  const pvcRef = pod === undefined ? undefined : claimOf(pod, name);
  return {
    name,
    ...measured(figures),
    ...(pvcRef === undefined ? {} : { pvcRef }),
    ...(condition === undefined ? {} : { volumeHealthStats: { abnormal: condition.abnormal } }),
  };
}

/** Returns undefined if no value is known. */
function sum(values: readonly (Int64 | undefined)[]): Int64 | undefined {
  const numbers = values.filter((value) => value !== undefined);
  return numbers.length === 0 ? undefined : numbers.reduce(addInt64, 0);
}

const MEMORY_SUMS = ['usageBytes', 'workingSetBytes', 'rssBytes', 'pageFaults', 'majorPageFaults'] as const;

/** Returns the total of several containers. */
export function together(
  parts: readonly Pick<ContainerStats, 'cpu' | 'memory'>[],
  time: string,
): { readonly cpu: CPUStats; readonly memory: MemoryStats } {
  const sumOf = (key: (typeof MEMORY_SUMS)[number]) => sum(parts.map(({ memory }) => memory?.[key]));
  const [usageBytes, workingSetBytes, rssBytes, pageFaults, majorPageFaults] = MEMORY_SUMS.map(sumOf);
  const left = parts.map(({ memory }) => memory?.availableBytes);
  // Without a limit on every part, the total has no limit.
  const availableBytes = left.includes(undefined) ? undefined : sum(left);
  return {
    cpu: {
      time,
      ...known({
        usageNanoCores: sum(parts.map(({ cpu }) => cpu?.usageNanoCores)),
        usageCoreNanoSeconds: sum(parts.map(({ cpu }) => cpu?.usageCoreNanoSeconds)),
      }),
    },
    memory: {
      time,
      ...known({ availableBytes, usageBytes, workingSetBytes, rssBytes, pageFaults, majorPageFaults }),
    },
  };
}

export interface PodParts {
  readonly sandbox: ObservedSandbox;
  readonly pod: Pod | undefined;
  readonly containers: readonly ContainerStats[];
  readonly figures: readonly UsageFigures[];
  readonly interfaces: readonly InterfaceCounts[] | undefined;
  readonly processes: number | undefined;
  /** Space of the file system with the pod directories. */
  readonly space: Space;
}

/** @param time time of collection */
export function podStats(parts: PodParts, time: string): PodStats {
  const { sandbox, pod, containers, figures, interfaces, processes, space } = parts;
  const volumes = figures.filter((one) => one.of === 'volume');
  // Volumes with their own file systems use no space of the node.
  const local = figures.filter(({ isOwnFs }) => !isOwnFs);
  const layers = containers.map(({ rootfs }) => rootfs);
  const network = networkStats(interfaces ?? [], time);
  const swapUsageBytes = sum(containers.map(({ swap }) => swap?.swapUsageBytes));
  return {
    podRef: { name: sandbox.podName, namespace: sandbox.podNamespace, uid: sandbox.podUID },
    startTime: sampleTime(sandbox.createdAtMs),
    containers,
    ...together(containers, time),
    ...(swapUsageBytes === undefined ? {} : { swap: { time, swapUsageBytes } }),
    ...(network === undefined ? {} : { network }),
    ...(volumes.length === 0 ? {} : { volume: volumes.map((one) => volumeStats(one, pod)) }),
    'ephemeral-storage': {
      time,
      ...spaceFields(space),
      usedBytes: sum([...layers, ...local].map((one) => one?.usedBytes)) ?? 0,
      inodesUsed: sum([...layers, ...local].map((one) => one?.inodesUsed)) ?? 0,
    },
    ...(processes === undefined ? {} : { process_stats: { process_count: processes } }),
  };
}
