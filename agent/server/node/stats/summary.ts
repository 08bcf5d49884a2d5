/** Resource usage of the node and its containers for `/stats/summary`. Runtime and kernel are read once per
 *  collection; volume usage is measured separately and reported with its own time. */

import type { Pod } from '#api/gen/core-v1.ts';
import type { ContainerStats, FsStats, NodeStats, PodStats, Summary } from '#api/gen/stats-v1alpha1.ts';
import { type Clock, sleep } from '#api/kit/clock.ts';
import { createSingleFlight } from '#api/kit/single-flight.ts';
import type { RuntimeService } from '#cri/gen/cri-v1.ts';
import type { DiskUsage } from '#volumes/usage/disk-usage.ts';
import type { FsSpace } from '#volumes/usage/fs-space.ts';
import type { ObservedContainer, ObservedSandbox } from '../../../observe/types.ts';
import type { Cgroups } from './cgroups/cgroups.ts';
import type { CgroupPlace } from './cgroups/places.ts';
import {
  imageFsStats,
  type NodeStatsDeps,
  type NodeStatsOptions,
  nodeRateKeys,
  nodeStats,
} from './node-stats.ts';
import type { PodNetworks } from './pod-network.ts';
import { containerStats, podStats, together } from './pod-stats.ts';
import { parseMeminfo } from './proc.ts';
import { createRates, LEAST_RATE_MS, type Rates } from './rates.ts';
import { sampleTime } from './sample-time.ts';

export interface SummaryDeps extends Omit<NodeStatsDeps, 'cgroups'> {
  readonly runtime: Pick<RuntimeService, 'listContainerStats'>;
  readonly container: (id: string) => ObservedContainer | undefined;
  readonly sandboxes: () => readonly ObservedSandbox[];
  readonly pod: (uid: string) => Pod | undefined;
  readonly disk: Pick<DiskUsage, 'of' | 'refresh'>;
  readonly networks: PodNetworks;
  readonly cgroups: Cgroups;
  /** Returns the number of processes in a cgroup. */
  readonly processesIn: (place: CgroupPlace) => Promise<number | undefined>;
  /** Drops cached processes of all other containers and sandboxes. */
  readonly keepProcesses: (ids: ReadonlySet<string>) => void;
  readonly clock: Clock;
}

/** @param needs whether rates are required at once, or only if a previous sample exists */
export type CollectSummary = (needs?: 'rates' | 'totals') => Promise<Summary>;

/** Time for which a collected summary is reused. */
const FRESH_MS = 1000;

interface Snapshot {
  readonly time: string;
  readonly imageFs: FsStats | undefined;
  readonly space: FsSpace;
  /** Whether the machine has swap; without swap, no swap file is read. */
  readonly hasSwap: boolean;
}

type Container = readonly [ObservedContainer, ContainerStats];

/** Collects statistics of running containers of this agent; ignores all others. */
async function containersStats(
  { runtime, container, disk }: SummaryDeps,
  rates: Rates,
  { imageFs, time }: Snapshot,
): Promise<readonly Container[]> {
  const { stats } = await runtime.listContainerStats({});
  const layers =
    imageFs === undefined
      ? undefined
      : {
          capacityBytes: Number(imageFs.capacityBytes ?? 0),
          availableBytes: Number(imageFs.availableBytes ?? 0),
          inodes: Number(imageFs.inodes ?? 0),
          inodesFree: Number(imageFs.inodesFree ?? 0),
        };
  return stats.flatMap((each): readonly Container[] => {
    const observed = container(each.attributes?.id ?? '');
    if (observed?.state !== 'running') return [];
    const log = disk.of(observed.podUID).find(({ of, name }) => of === 'log' && name === observed.name);
    return [[observed, containerStats({ stats: each, observed, log, layers, time }, rates)]];
  });
}

/** Adds the swap usage of the container. */
async function withSwap(
  deps: SummaryDeps,
  [{ id }, stats]: Container,
  time: string,
): Promise<ContainerStats> {
  const place = await deps.cgroups.ofContainer(id);
  const swapBytes = place === undefined ? undefined : (await deps.usageOf(place)).memory.swapBytes;
  return swapBytes === undefined ? stats : { ...stats, swap: { time, swapUsageBytes: swapBytes } };
}

async function processesOf(deps: SummaryDeps, containers: readonly Container[]): Promise<number | undefined> {
  const counts = await Promise.all(
    containers.map(async ([{ id }]) => {
      const place = await deps.cgroups.ofContainer(id);
      return place === undefined ? undefined : deps.processesIn(place);
    }),
  );
  const given = counts.filter((count) => count !== undefined);
  return given.length === 0 ? undefined : given.reduce((total, count) => total + count, 0);
}

function forget(deps: SummaryDeps, ids: readonly string[], sandboxes: readonly string[]): void {
  deps.cgroups.keep(new Set(ids));
  deps.networks.keep(new Set(sandboxes));
  deps.keepProcesses(new Set([...ids, ...sandboxes]));
}

async function podsStats(
  deps: SummaryDeps,
  rates: Rates,
  snapshot: Snapshot,
  nodeKeys: readonly string[],
): Promise<readonly PodStats[]> {
  const containers = await containersStats(deps, rates, snapshot);
  const ids = containers.map(([{ id }]) => id);
  rates.keep(new Set([...nodeKeys, ...ids]));
  const ofPods = Map.groupBy(containers, ([{ podUID }]) => podUID);
  const sandboxes = deps.sandboxes().filter(({ ready }) => ready);
  forget(
    deps,
    ids,
    sandboxes.map(({ id }) => id),
  );
  return Promise.all(
    sandboxes.map(async (sandbox) => {
      const { id, podUID } = sandbox;
      const its = ofPods.get(podUID) ?? [];
      const [interfaces, processes] = await Promise.all([deps.networks.of(id), processesOf(deps, its)]);
      const parts = {
        sandbox,
        pod: deps.pod(podUID),
        containers: snapshot.hasSwap
          ? await Promise.all(its.map((one) => withSwap(deps, one, snapshot.time)))
          : its.map(([, stats]) => stats),
        figures: deps.disk.of(podUID),
        interfaces,
        processes,
        space: snapshot.space,
      };
      return podStats(parts, snapshot.time);
    }),
  );
}

/** Adds the total of all pods as a system container. */
const withPods = (node: NodeStats, pods: readonly PodStats[], time: string): NodeStats => ({
  ...node,
  systemContainers: [
    ...(node.systemContainers ?? []),
    { name: 'pods', startTime: node.startTime, ...together(pods, time) },
  ],
});

/** Coalesces concurrent and subsequent requests within a moment. */
export function createSummary(deps: SummaryDeps, options: NodeStatsOptions): CollectSummary {
  const { clock } = deps;
  const rates = createRates();
  const flights = createSingleFlight<Summary>();
  let last: { readonly summary: Summary; readonly atMs: number } | undefined;

  async function collect(): Promise<Summary> {
    await deps.disk.refresh();
    const nowMs = clock.now();
    const time = sampleTime(nowMs);
    const [imageFs, space, meminfo] = await Promise.all([
      imageFsStats(deps, time).catch(() => undefined),
      deps.spaceOf(options.rootDir),
      deps.readProc('/proc/meminfo'),
    ]);
    const snapshot = { time, imageFs, space, hasSwap: parseMeminfo(meminfo).swapBytes > 0 };
    const pods = await podsStats(deps, rates, snapshot, nodeRateKeys(options));
    const node = await nodeStats(deps, options, rates, { nowMs, imageFs, space });
    const summary: Summary = { node: withPods(node, pods, time), pods };
    last = { summary, atMs: clock.monotonic() };
    return summary;
  }

  async function fresh(): Promise<Summary> {
    if (last !== undefined && clock.monotonic() - last.atMs < FRESH_MS) return last.summary;
    return flights.run('summary', collect);
  }

  return async (needs = 'rates') => {
    const first = await fresh();
    if (needs === 'totals' || first.node.cpu?.usageNanoCores !== undefined) return first;
    // The previous sample is too old: two samples are required for a rate.
    await sleep(clock, LEAST_RATE_MS + 10);
    return flights.run('summary', collect);
  };
}
