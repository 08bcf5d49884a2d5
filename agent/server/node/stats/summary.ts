/** The machine's and its containers' use of resources, as `/stats/summary` shows it. What the runtime and the kernel
 *  tell in one look each; nothing is walked through for it. */

import type { Clock } from '#api/kit/clock.ts';
import { createSingleFlight } from '#api/kit/single-flight.ts';
import { formatTime } from '#api/meta/time.ts';
import type {
  ContainerStats,
  CPUStats,
  FsStats,
  MemoryStats,
  NodeStats,
  PodStats,
  Summary,
} from '#api/schema/gen/stats-v1alpha1.ts';
import type {
  ContainerStats as CriStats,
  FilesystemUsage,
  ImageService,
  RuntimeService,
  UInt64Value,
} from '#cri/gen/cri-v1.ts';
import type { ObservedContainer, ObservedSandbox } from '../../../observe/types.ts';
import { parseMeminfo, parseNetDev, parseStat, parseThreads } from './proc.ts';
import { createRates, type Rates } from './rates.ts';

/** Of a file system, in bytes and inodes. */
export interface FsSpace {
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly usedBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

export interface SummaryDeps {
  readonly runtime: Pick<RuntimeService, 'listContainerStats'>;
  readonly images: Pick<ImageService, 'imageFsInfo'>;
  readonly container: (id: string) => ObservedContainer | undefined;
  readonly sandboxes: () => readonly ObservedSandbox[];
  /** Text of a file of the kernel's. */
  readonly readProc: (path: string) => Promise<string>;
  readonly spaceOf: (path: string) => Promise<FsSpace>;
  readonly clock: Clock;
}

export interface SummaryOptions {
  readonly nodeName: string;
  readonly rootDir: string;
}

export type CollectSummary = () => Promise<Summary>;

/** What was collected is good for this long. */
const FRESH_MS = 1000;
const NS_PER_MS = 1_000_000;

const num = (value: UInt64Value | undefined): number | undefined =>
  value === undefined ? undefined : Number(value.value);

/** Members that are known. */
function known<K extends string>(
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
      availableBytes: num(availableBytes),
      usageBytes: num(usageBytes),
      workingSetBytes: num(workingSetBytes),
      rssBytes: num(rssBytes),
      pageFaults: num(pageFaults),
      majorPageFaults: num(majorPageFaults),
    }),
  };
}

function layerOf(layer: FilesystemUsage | undefined): FsStats | undefined {
  if (layer === undefined) return undefined;
  const used = { usedBytes: num(layer.usedBytes), inodesUsed: num(layer.inodesUsed) };
  return { time: timeOfNs(layer.timestamp), ...known(used) };
}

function containerStats(stats: CriStats, observed: ObservedContainer, rates: Rates): ContainerStats {
  const cpu = cpuOf(observed.id, stats, rates);
  const memory = memoryOf(stats);
  const rootfs = layerOf(stats.writableLayer);
  return {
    name: observed.name,
    startTime: formatTime(observed.startedAtMs),
    ...(cpu === undefined ? {} : { cpu }),
    ...(memory === undefined ? {} : { memory }),
    ...(rootfs === undefined ? {} : { rootfs }),
  };
}

const sum = (values: readonly (number | undefined)[]): number =>
  values.reduce<number>((total, value) => total + (value ?? 0), 0);

function podStats(sandbox: ObservedSandbox, containers: readonly ContainerStats[], time: string): PodStats {
  const cpus = containers.map(({ cpu }) => cpu);
  const memories = containers.map(({ memory }) => memory);
  return {
    podRef: { name: sandbox.podName, namespace: sandbox.podNamespace, uid: sandbox.podUID },
    startTime: formatTime(sandbox.createdAtMs),
    containers,
    cpu: {
      time,
      usageNanoCores: sum(cpus.map((cpu) => cpu?.usageNanoCores)),
      usageCoreNanoSeconds: sum(cpus.map((cpu) => cpu?.usageCoreNanoSeconds)),
    },
    memory: {
      time,
      usageBytes: sum(memories.map((memory) => memory?.usageBytes)),
      workingSetBytes: sum(memories.map((memory) => memory?.workingSetBytes)),
      rssBytes: sum(memories.map((memory) => memory?.rssBytes)),
    },
    'ephemeral-storage': { time, usedBytes: sum(containers.map(({ rootfs }) => rootfs?.usedBytes)) },
  };
}

async function podsStats(deps: SummaryDeps, rates: Rates, time: string): Promise<readonly PodStats[]> {
  const { stats } = await deps.runtime.listContainerStats({});
  const ofPods = new Map<string, ContainerStats[]>();
  const seen = new Set(['node']);
  for (const each of stats) {
    const observed = deps.container(each.attributes?.id ?? '');
    // Others than this agent's pods are none of its business.
    if (observed?.state !== 'running') continue;
    seen.add(observed.id);
    const list = ofPods.get(observed.podUID) ?? [];
    list.push(containerStats(each, observed, rates));
    ofPods.set(observed.podUID, list);
  }
  rates.keep(seen);
  return deps
    .sandboxes()
    .filter(({ ready }) => ready)
    .map((sandbox) => podStats(sandbox, ofPods.get(sandbox.podUID) ?? [], time));
}

async function imageFs({ images, spaceOf }: SummaryDeps, time: string): Promise<FsStats | undefined> {
  const { imageFilesystems } = await images.imageFsInfo({});
  const [first] = imageFilesystems;
  const path = first?.fsId?.mountpoint ?? '';
  if (first === undefined || path === '') return undefined;
  const { availableBytes, capacityBytes, inodes, inodesFree } = await spaceOf(path);
  const used = { usedBytes: num(first.usedBytes), inodesUsed: num(first.inodesUsed) };
  return { time, availableBytes, capacityBytes, inodes, inodesFree, ...known(used) };
}

async function nodeStats(
  deps: SummaryDeps,
  { nodeName, rootDir }: SummaryOptions,
  rates: Rates,
): Promise<NodeStats> {
  const [stat, meminfo, netDev, loadavg, pidMax, space] = await Promise.all([
    deps.readProc('/proc/stat'),
    deps.readProc('/proc/meminfo'),
    deps.readProc('/proc/net/dev'),
    deps.readProc('/proc/loadavg'),
    deps.readProc('/proc/sys/kernel/pid_max'),
    deps.spaceOf(rootDir),
  ]);
  const nowMs = deps.clock.now();
  const time = formatTime(nowMs);
  const { busyNs, bootMs } = parseStat(stat);
  const memory = parseMeminfo(meminfo);
  const interfaces = parseNetDev(netDev);
  const [main] = interfaces;
  const images = await imageFs(deps, time).catch(() => undefined);
  return {
    nodeName,
    startTime: formatTime(bootMs),
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
    },
    ...(main === undefined ? {} : { network: { time, ...main, interfaces } }),
    fs: { time, ...space, inodesUsed: space.inodes - space.inodesFree },
    ...(images === undefined ? {} : { runtime: { imageFs: images } }),
    rlimit: { time, maxpid: Number(pidMax.trim()), curproc: parseThreads(loadavg) },
  };
}

/** Everyone who asks within a moment gets the same. */
export function createSummary(deps: SummaryDeps, options: SummaryOptions): CollectSummary {
  const rates = createRates();
  const flights = createSingleFlight<Summary>();
  let last: { readonly summary: Summary; readonly atMs: number } | undefined;

  async function collect(): Promise<Summary> {
    const time = formatTime(deps.clock.now());
    const pods = await podsStats(deps, rates, time);
    const summary: Summary = { node: await nodeStats(deps, options, rates), pods };
    last = { summary, atMs: deps.clock.monotonic() };
    return summary;
  }

  return () => {
    if (last !== undefined && deps.clock.monotonic() - last.atMs < FRESH_MS)
      return Promise.resolve(last.summary);
    return flights.run('summary', collect);
  };
}
