/** What pods and their containers use, of what the runtime and the kernel tell. Pure. */
import { formatTime } from '#api/meta/time.ts';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import type {
  ContainerStats,
  CPUStats,
  FsStats,
  MemoryStats,
  PodStats,
  VolumeStats,
} from '#api/schema/gen/stats-v1alpha1.ts';
import type { ContainerStats as CriStats, FilesystemUsage, UInt64Value } from '#cri/gen/cri-v1.ts';
import type { UsageFigures } from '#volumes/usage/disk-usage.ts';
import type { FsSpace } from '#volumes/usage/fs-space.ts';
import type { ObservedContainer, ObservedSandbox } from '../../../observe/types.ts';
import { networkStats } from './pod-network.ts';
import type { InterfaceCounts } from './proc.ts';
import type { Rates } from './rates.ts';

const NS_PER_MS = 1_000_000;

export const num = (value: UInt64Value | undefined): number | undefined =>
  value === undefined ? undefined : Number(value.value);

/** Members that are known. */
export function known<K extends string>(
  values: Readonly<Record<K, number | undefined>>,
): { readonly [P in K]?: number } {
  const result: { [P in K]?: number } = {};
  for (const key in values) if (values[key] !== undefined) result[key] = values[key];
  return result;
}

const timeOfNs = (ns: bigint): string => formatTime(Number(ns / BigInt(NS_PER_MS)));

function cpuOf(key: string, { cpu }: CriStats, rates: Rates): CPUStats | undefined {
  if (cpu === undefined) return undefined;
  const used = num(cpu.usageCoreNanoSeconds);
  const told = num(cpu.usageNanoCores);
  const rate = used === undefined ? undefined : rates.rate(key, used, Number(cpu.timestamp));
  return {
    time: timeOfNs(cpu.timestamp),
    // Runtimes without a rate of their own tell zero.
    ...known({ usageNanoCores: told === undefined || told === 0 ? rate : told, usageCoreNanoSeconds: used }),
  };
}

function memoryOf({ memory }: CriStats): MemoryStats | undefined {
  if (memory === undefined) return undefined;
  const { timestamp, workingSetBytes, availableBytes, usageBytes, rssBytes, pageFaults, majorPageFaults } =
    memory;
  return {
    time: timeOfNs(timestamp),
    ...known({
      // Nothing is left, or there is no limit: runtimes tell both in this way.
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

/** What is known of it. */
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
    // A runtime that has not measured it yet tells no time.
    time: layer.timestamp === 0n ? time : timeOfNs(layer.timestamp),
    ...(space === undefined ? {} : spaceFields(space)),
    ...known(used),
  };
}

const measured = ({ atMs, space, usedBytes, inodesUsed }: UsageFigures): FsStats => ({
  time: formatTime(atMs),
  ...spaceFields(space),
  ...known({ usedBytes, inodesUsed }),
});

export interface ContainerParts {
  readonly stats: CriStats;
  readonly observed: ObservedContainer;
  /** Of its logs. */
  readonly log: UsageFigures | undefined;
  /** Where writable layers lie. */
  readonly layers: Space | undefined;
  /** Of the look. */
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
    startTime: formatTime(observed.startedAtMs === 0 ? observed.createdAtMs : observed.startedAtMs),
    ...(cpu === undefined ? {} : { cpu }),
    ...(memory === undefined ? {} : { memory }),
    ...(rootfs === undefined ? {} : { rootfs }),
    ...(log === undefined ? {} : { logs: measured(log) }),
  };
}

/** The claim behind a volume: its own, or one that was made for it. */
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

/** Nothing, if nothing is known. */
function sum(values: readonly (number | undefined)[]): number | undefined {
  const numbers = values.filter((value) => value !== undefined);
  return numbers.length === 0 ? undefined : numbers.reduce((total, value) => total + value, 0);
}

const MEMORY_SUMS = ['usageBytes', 'workingSetBytes', 'rssBytes', 'pageFaults', 'majorPageFaults'] as const;

/** What several use together. */
export function together(
  parts: readonly Pick<ContainerStats, 'cpu' | 'memory'>[],
  time: string,
): { readonly cpu: CPUStats; readonly memory: MemoryStats } {
  const sumOf = (key: (typeof MEMORY_SUMS)[number]) => sum(parts.map(({ memory }) => memory?.[key]));
  const [usageBytes, workingSetBytes, rssBytes, pageFaults, majorPageFaults] = MEMORY_SUMS.map(sumOf);
  const left = parts.map(({ memory }) => memory?.availableBytes);
  // What one without a limit may take, all may.
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
  /** Where the pod's folders lie. */
  readonly space: Space;
}

/** @param time of the look */
export function podStats(parts: PodParts, time: string): PodStats {
  const { sandbox, pod, containers, figures, interfaces, processes, space } = parts;
  const volumes = figures.filter((one) => one.of === 'volume');
  // Those of other file systems take nothing of the node's.
  const local = figures.filter(({ isOwnFs }) => !isOwnFs);
  const layers = containers.map(({ rootfs }) => rootfs);
  const network = networkStats(interfaces ?? [], time);
  const swapUsageBytes = sum(containers.map(({ swap }) => swap?.swapUsageBytes));
  return {
    podRef: { name: sandbox.podName, namespace: sandbox.podNamespace, uid: sandbox.podUID },
    startTime: formatTime(sandbox.createdAtMs),
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
