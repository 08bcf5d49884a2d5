/** Statistics of the node and of its system containers. */

import type { ContainerStats, FsStats, NodeStats } from '#api/gen/stats-v1alpha1.ts';
import type { ImageService } from '#cri/gen/cri-v1.ts';
import type { FsSpace } from '#volumes/usage/fs-space.ts';
import type { Cgroups } from './cgroups/cgroups.ts';
import type { CgroupUsage } from './cgroups/usage.ts';
import { networkStats } from './pod-network.ts';
import { known, num, spaceFields } from './pod-stats.ts';
import { parseMeminfo, parseNetDev, parseStat, parseThreads, parseVmstat } from './proc.ts';
import type { Rates } from './rates.ts';
import { sampleTime } from './sample-time.ts';

/** Resource usage of the agent itself. */
export interface OwnUsage {
  readonly cpuNs: number;
  readonly rssBytes: number;
  /** In ms since the epoch. */
  readonly startMs: number;
}

export interface NodeStatsDeps {
  readonly images: Pick<ImageService, 'imageFsInfo'>;
  /** Returns the text of a file in /proc. */
  readonly readProc: (path: string) => Promise<string>;
  readonly spaceOf: (path: string) => Promise<FsSpace>;
  readonly own: () => OwnUsage;
  readonly cgroups: Pick<Cgroups, 'at'>;
  readonly usageOf: (place: NonNullable<Awaited<ReturnType<Cgroups['at']>>>) => Promise<CgroupUsage>;
}

/** A system component with its own cgroup. */
export interface SystemCgroup {
  readonly name: string;
  readonly path: string;
}

export interface NodeStatsOptions {
  readonly nodeName: string;
  readonly rootDir: string;
  /** Name of the agent among the system containers. */
  readonly agentName: string;
  /** Configured system cgroups; one with the name of the agent replaces the statistics of its process. */
  readonly systemCgroups: readonly SystemCgroup[];
}

const NS_PER_MS = 1_000_000;

export async function imageFsStats(
  { images, spaceOf }: Pick<NodeStatsDeps, 'images' | 'spaceOf'>,
  time: string,
): Promise<FsStats | undefined> {
  const { imageFilesystems } = await images.imageFsInfo({});
  const [first] = imageFilesystems;
  const path = first?.fsId?.mountpoint ?? '';
  if (first === undefined || path === '') return undefined;
  const used = { usedBytes: num(first.usedBytes), inodesUsed: num(first.inodesUsed) };
  return { time, ...spaceFields(await spaceOf(path)), ...known(used) };
}

function ownStats(
  { cpuNs, rssBytes, startMs }: OwnUsage,
  name: string,
  nowMs: number,
  rates: Rates,
): ContainerStats {
  const time = sampleTime(nowMs);
  return {
    name,
    startTime: sampleTime(startMs),
    cpu: {
      time,
      ...known({ usageNanoCores: rates.rate(`system/${name}`, cpuNs, nowMs * NS_PER_MS) }),
      usageCoreNanoSeconds: cpuNs,
    },
    memory: { time, usageBytes: rssBytes, workingSetBytes: rssBytes, rssBytes },
  };
}

async function cgroupStats(
  { cgroups, usageOf }: NodeStatsDeps,
  { name, path }: SystemCgroup,
  rates: Rates,
  { nowMs, bootMs }: { readonly nowMs: number; readonly bootMs: number },
): Promise<ContainerStats | undefined> {
  const place = await cgroups.at(path);
  if (place === undefined) return undefined;
  const { cpu, memory } = await usageOf(place);
  const { usageNs } = cpu;
  const { usageBytes, workingSetBytes, rssBytes, limitBytes, pageFaults, majorPageFaults } = memory;
  // The cgroup does not exist.
  if (usageNs === undefined && usageBytes === undefined) return undefined;
  const time = sampleTime(nowMs);
  const rate = usageNs === undefined ? undefined : rates.rate(`system/${name}`, usageNs, nowMs * NS_PER_MS);
  const availableBytes =
    limitBytes === undefined || workingSetBytes === undefined ? undefined : limitBytes - workingSetBytes;
  return {
    name,
    startTime: sampleTime(bootMs),
    cpu: { time, ...known({ usageNanoCores: rate, usageCoreNanoSeconds: usageNs }) },
    memory: {
      time,
      ...known({ availableBytes, usageBytes, workingSetBytes, rssBytes, pageFaults, majorPageFaults }),
    },
  };
}

/** Returns the keys of all rates to retain. */
export const nodeRateKeys = ({ agentName, systemCgroups }: NodeStatsOptions): readonly string[] => [
  'node',
  `system/${agentName}`,
  ...systemCgroups.map(({ name }) => `system/${name}`),
];

export interface NodeInput {
  readonly nowMs: number;
  readonly imageFs: FsStats | undefined;
  readonly space: FsSpace;
}

export async function nodeStats(
  deps: NodeStatsDeps,
  options: NodeStatsOptions,
  rates: Rates,
  { nowMs, imageFs, space }: NodeInput,
): Promise<NodeStats> {
  const [stat, meminfo, vmstat, netDev, loadavg, pidMax] = await Promise.all([
    deps.readProc('/proc/stat'),
    deps.readProc('/proc/meminfo'),
    deps.readProc('/proc/vmstat'),
    deps.readProc('/proc/net/dev'),
    deps.readProc('/proc/loadavg'),
    deps.readProc('/proc/sys/kernel/pid_max'),
  ]);
  const time = sampleTime(nowMs);
  const { busyNs, bootMs } = parseStat(stat);
  const memory = parseMeminfo(meminfo);
  const network = networkStats(parseNetDev(netDev), time);
  const { systemCgroups, agentName } = options;
  const configured = await Promise.all(
    systemCgroups.map((one) => cgroupStats(deps, one, rates, { nowMs, bootMs }).catch(() => undefined)),
  );
  const parts = configured.filter((one) => one !== undefined);
  const hasAgent = parts.some(({ name }) => name === agentName);
  return {
    nodeName: options.nodeName,
    systemContainers: [...(hasAgent ? [] : [ownStats(deps.own(), agentName, nowMs, rates)]), ...parts],
    startTime: sampleTime(bootMs),
    cpu: {
      time,
      ...known({ usageNanoCores: rates.rate('node', busyNs, nowMs * NS_PER_MS) }),
      usageCoreNanoSeconds: busyNs,
    },
    memory: {
      time,
      availableBytes: memory.availableBytes,
      usageBytes: memory.totalBytes - memory.freeBytes,
      workingSetBytes: memory.totalBytes - memory.availableBytes,
      rssBytes: memory.anonBytes,
      ...parseVmstat(vmstat),
    },
    swap: {
      time,
      swapAvailableBytes: memory.swapFreeBytes,
      swapUsageBytes: memory.swapBytes - memory.swapFreeBytes,
    },
    ...(network === undefined ? {} : { network }),
    fs: {
      time,
      ...spaceFields(space),
      usedBytes: space.usedBytes,
      inodesUsed: space.inodes - space.inodesFree,
    },
    ...(imageFs === undefined ? {} : { runtime: { imageFs } }),
    rlimit: { time, maxpid: Number(pidMax.trim()), curproc: parseThreads(loadavg) },
  };
}
