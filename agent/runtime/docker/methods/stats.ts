/** Methods of statistics. */
import type {
  ContainerStats,
  ContainerStatsRequest,
  ContainerStatsResponse,
  CpuUsage,
  ListContainerStatsRequest,
  ListContainerStatsResponse,
  ListPodSandboxStatsRequest,
  ListPodSandboxStatsResponse,
  MemoryUsage,
  PodSandboxStats,
  PodSandboxStatsRequest,
  PodSandboxStatsResponse,
} from '#cri/gen/cri-v1.ts';
import type { MessageInput } from '#cri/message.ts';
import { cgroupPathOf } from '../config/cgroup-parent.ts';
import { type DockerContext, nowNs, requireContainer, requireSandbox } from '../context.ts';
import type { ContainerRecord, SandboxRecord } from '../state/records.ts';
import { type CgroupUsage, cgroupPathOfProcess, readCgroupUsage } from '../stats/cgroup-usage.ts';
import { createLayerSizes, type LayerSize } from '../stats/layers.ts';
import { matchesContainer, matchesSandbox } from './views.ts';

const cpuOf = (usage: CgroupUsage, timestamp: bigint): MessageInput<CpuUsage> => ({
  timestamp,
  usageCoreNanoSeconds: { value: usage.cpuNs },
});

const memoryOf = (usage: CgroupUsage, timestamp: bigint): MessageInput<MemoryUsage> => ({
  timestamp,
  workingSetBytes: { value: usage.workingSetBytes },
  usageBytes: { value: usage.memoryBytes },
  rssBytes: { value: usage.rssBytes },
  pageFaults: { value: usage.pageFaults },
  majorPageFaults: { value: usage.majorPageFaults },
});

export interface StatMethods {
  containerStats(request: ContainerStatsRequest): Promise<MessageInput<ContainerStatsResponse>>;
  listContainerStats(request: ListContainerStatsRequest): Promise<MessageInput<ListContainerStatsResponse>>;
  podSandboxStats(request: PodSandboxStatsRequest): Promise<MessageInput<PodSandboxStatsResponse>>;
  listPodSandboxStats(
    request: ListPodSandboxStatsRequest,
  ): Promise<MessageInput<ListPodSandboxStatsResponse>>;
}

interface UsageReader {
  statsOf(records: readonly ContainerRecord[]): Promise<readonly MessageInput<ContainerStats>[]>;
  usageOf(id: string, sandbox: SandboxRecord | undefined): Promise<CgroupUsage | undefined>;
}

function viewLayer(layer: LayerSize | undefined, mountpoint: string): MessageInput<ContainerStats> {
  if (layer === undefined) return {};
  const timestamp = BigInt(Math.trunc(layer.measuredAtMs)) * 1_000_000n;
  const usedBytes = { value: BigInt(layer.bytes) };
  return { writableLayer: { timestamp, fsId: { mountpoint }, usedBytes } };
}

function createUsageReader(context: DockerContext): UsageReader {
  const { client, clock, mirror } = context;
  const layers = createLayerSizes(clock, client);

  async function usageOf(id: string, sandbox: SandboxRecord | undefined): Promise<CgroupUsage | undefined> {
    const { cgroupDriver, cgroupVersion } = context.daemon();
    const parent = sandbox?.note.config.linux?.cgroupParent ?? '';
    if (parent !== '') return readCgroupUsage(cgroupVersion, cgroupPathOf(id, parent, cgroupDriver));
    // Docker's default parent depends on its configuration, which it does not report.
    const { pid } = await client.inspect(id);
    const path = pid > 0 ? await cgroupPathOfProcess(pid, cgroupVersion) : undefined;
    return path === undefined ? undefined : readCgroupUsage(cgroupVersion, path);
  }

  async function viewOne(
    record: ContainerRecord,
    layer: LayerSize | undefined,
  ): Promise<MessageInput<ContainerStats>> {
    const timestamp = nowNs(clock);
    const sandbox = mirror.get(record.note.sandboxId);
    const usage =
      record.phase === 'running'
        ? await usageOf(record.id, sandbox?.kind === 'sandbox' ? sandbox : undefined)
        : undefined;
    return {
      attributes: { id: record.id, ...identity(record.note.config) },
      ...(usage === undefined ? {} : { cpu: cpuOf(usage, timestamp), memory: memoryOf(usage, timestamp) }),
      ...viewLayer(layer, context.daemon().rootDir),
    };
  }

  return {
    usageOf,
    async statsOf(records) {
      const sizes = await layers.sizesOf(records.map(({ id }) => id));
      return Promise.all(records.map((record) => viewOne(record, sizes.get(record.id))));
    },
  };
}

export function statMethods(context: DockerContext): StatMethods {
  const { clock, mirror } = context;
  const usages = createUsageReader(context);

  async function sandboxStats(record: SandboxRecord): Promise<MessageInput<PodSandboxStats>> {
    const timestamp = nowNs(clock);
    const own = mirror
      .containers()
      .filter(({ note, phase }) => note.sandboxId === record.id && phase === 'running');
    const found = await Promise.all([record, ...own].map(({ id }) => usages.usageOf(id, record)));
    const total = found.reduce<CgroupUsage>((sum, one) => (one === undefined ? sum : add(sum, one)), NOTHING);
    const containers = await usages.statsOf(own);
    return {
      attributes: { id: record.id, ...identity(record.note.config) },
      linux: { cpu: cpuOf(total, timestamp), memory: memoryOf(total, timestamp), containers },
    };
  }

  return {
    async containerStats({ containerId }) {
      const [stats] = await usages.statsOf([requireContainer(context, containerId)]);
      return { stats };
    },
    async listContainerStats({ filter }) {
      const running = mirror
        .containers()
        .filter((record) => record.phase === 'running' && matchesContainer(record, filter));
      return { stats: await usages.statsOf(running) };
    },
    podSandboxStats: async ({ podSandboxId }) => ({
      stats: await sandboxStats(requireSandbox(context, podSandboxId)),
    }),
    async listPodSandboxStats({ filter }) {
      const wanted = filter === undefined ? undefined : { ...filter, state: undefined };
      const ready = mirror.sandboxes().filter((record) => record.isReady && matchesSandbox(record, wanted));
      return { stats: await Promise.all(ready.map(sandboxStats)) };
    },
  };
}

const NOTHING: CgroupUsage = {
  cpuNs: 0n,
  memoryBytes: 0n,
  workingSetBytes: 0n,
  rssBytes: 0n,
  pageFaults: 0n,
  majorPageFaults: 0n,
};

const add = (a: CgroupUsage, b: CgroupUsage): CgroupUsage => ({
  cpuNs: a.cpuNs + b.cpuNs,
  memoryBytes: a.memoryBytes + b.memoryBytes,
  workingSetBytes: a.workingSetBytes + b.workingSetBytes,
  rssBytes: a.rssBytes + b.rssBytes,
  pageFaults: a.pageFaults + b.pageFaults,
  majorPageFaults: a.majorPageFaults + b.majorPageFaults,
});

/** What identifies a container or sandbox to the client. */
const identity = <Metadata>({
  metadata,
  labels,
  annotations,
}: Identified<Metadata>): Identified<Metadata> => ({
  metadata,
  labels,
  annotations,
});

interface Identified<Metadata> {
  readonly metadata: Metadata;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}
