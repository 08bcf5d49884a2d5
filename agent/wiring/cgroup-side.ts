/** Cgroups, wired: of pods, of what amounts are kept for, and of the agent itself. */
import { readFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import { type CgroupMaker, createCgroupfsMaker } from '../cgroups/cgroupfs-driver.ts';
import { decideDriver, readRuntimeDriver } from '../cgroups/driver.ts';
import { parseHierarchies } from '../cgroups/hierarchies.ts';
import type { PodLimitOptions } from '../cgroups/limits.ts';
import { type CgroupName, parseCgroupName, sliceName } from '../cgroups/names.ts';
import {
  allPodsLimits,
  type NodeCapacity,
  parseMostPids,
  reservedLimits,
} from '../cgroups/node-allocatable.ts';
import { type ReservedPart, runNodeCgroups } from '../cgroups/node-cgroups.ts';
import { createPodCgroups, type KnownPods, type PodCgroups } from '../cgroups/pod-cgroups.ts';
import { notePodsCgroup } from '../cgroups/pods-note.ts';
import { createCgroupRecords } from '../cgroups/records.ts';
import { type CgroupFault, createCgroupTree } from '../cgroups/tree.ts';
import { featureEnabled } from '../config/feature-gates.ts';
import type { AgentConfig } from '../config/gen/config.ts';
import type { PodEvent } from '../pods/operations/deps.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import { createNodeEventSink } from '../registration/node-events.ts';
import { resourceRules } from '../registration/settings.ts';
import type { Base } from './base.ts';
import { runOomWatcher } from './oom-side.ts';
import type { RuntimeSide } from './runtime-side.ts';

const readText = (path: string): Promise<string | undefined> => readFile(path, 'utf8').catch(() => undefined);

async function nodeCapacity({ settings }: Base): Promise<NodeCapacity> {
  const pids = await Promise.all(
    ['pid_max', 'threads-max'].map((name) => readText(`/proc/sys/kernel/${name}`)),
  );
  return { cores: settings.cores, memoryBytes: totalmem(), pids: parseMostPids(...pids) };
}

const podLimitOptions = (config: AgentConfig, version: 1 | 2 | undefined): PodLimitOptions => ({
  cpuCFSQuota: config.cpuCFSQuota,
  cpuPeriodUs: BigInt(Math.round(config.cpuCFSQuotaPeriod * 1000)),
  podPidsLimit: config.podPidsLimit,
  memoryQoS: version === 2 && featureEnabled(config, 'MemoryQoS'),
});

/** The cgroup of all pods: below the one that is configured, unless there are none for classes. */
const rootOf = ({ config, vocabulary }: Base): CgroupName => [
  ...parseCgroupName(config.cgroupRoot),
  ...(config.cgroupsPerQOS ? [vocabulary.podsCgroup] : []),
];

/** Opens the hierarchies with the driver that the runtime has too. */
function createOpen(base: Base, { connection }: RuntimeSide): () => Promise<CgroupMaker | undefined> {
  const { config, clock, origins } = base;
  return async () => {
    const chosen = (origins.get('cgroupDriver')?.kind ?? 'default') !== 'default';
    const driver = decideDriver(
      { driver: config.cgroupDriver === 'systemd' ? 'systemd' : 'cgroupfs', chosen },
      await readRuntimeDriver(connection.runtime),
    );
    const hierarchies = parseHierarchies((await readText('/proc/self/mountinfo')) ?? '');
    if (hierarchies === undefined) return undefined;
    const tree = createCgroupTree({ hierarchies, clock });
    if (driver === 'cgroupfs') return createCgroupfsMaker(tree);
    // Of machines that have systemd alone.
    const [{ createSliceMaker }, { createSystemdManager }] = await Promise.all([
      import('../cgroups/systemd/slices.ts'),
      import('../cgroups/systemd/manager.ts'),
    ]);
    return createSliceMaker({ tree, manager: createSystemdManager(), clock });
  };
}

function tellEnforced({ events, node, log }: Base, faults: readonly CgroupFault[]): void {
  const tell = createNodeEventSink(events, node);
  if (faults.length === 0) {
    tell({
      type: 'Normal',
      reason: 'NodeAllocatableEnforced',
      message: 'Updated Node Allocatable limit across pods',
    });
    return;
  }
  const message = faults
    .map(({ write, error }) => `${write.file} = ${write.text}: ${error.message}`)
    .join('; ');
  log.warn({ message }, 'Limits of all pods together were refused');
  tell({ type: 'Warning', reason: 'FailedNodeAllocatableEnforcement', message });
}

/** The parts of the node that amounts are kept for, as far as that is enforced. */
function reservedParts(config: AgentConfig, memoryQoS: boolean): readonly ReservedPart[] {
  const parts = [
    ['system-reserved', config.systemReservedCgroup, config.systemReserved],
    ['plat-reserved', config.platReservedCgroup, config.platReserved],
  ] as const;
  return parts
    .filter(([group]) => config.enforceNodeAllocatable.includes(group))
    .map(([group, cgroup, amounts]) => ({ group, cgroup, limits: reservedLimits(amounts, memoryQoS) }));
}

/** The same result for all who ask, unless it failed. */
function once<T>(task: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => {
    if (result !== undefined) return result;
    const asked = task();
    result = asked;
    asked.catch(() => {
      result = undefined;
    });
    return asked;
  };
}

export interface CgroupSide {
  readonly cgroups: PodCgroups;
  /** Keeps cgroups as they should be until the signal fires. Never rejects. */
  run(manager: PodManager, stop: AbortSignal): Promise<void>;
}

export async function createCgroupSide(
  base: Base,
  runtimeSide: RuntimeSide,
  event: PodEvent,
): Promise<CgroupSide> {
  const { config, clock, log, events, node } = base;
  const openAny = createOpen(base, runtimeSide);
  const open = once(async () => {
    const maker = await openAny();
    // Without cgroups of classes, that of all pods is none of ours.
    if (maker !== undefined && config.cgroupsPerQOS) {
      await notePodsCgroup(config.rootDir, maker.path(rootOf(base))).catch((err: unknown) => {
        log.warn({ err }, 'Where cgroups of pods are was not noted');
      });
    }
    return maker;
  });
  const hierarchies = parseHierarchies((await readText('/proc/self/mountinfo')) ?? '');
  const pod = podLimitOptions(config, hierarchies?.version);
  const cgroups = await createPodCgroupsOf(base, { open, pod, event });
  const deps = { open, clock, log, event: createNodeEventSink(events, node), pid: process.pid };
  const options = {
    reserved: reservedParts(config, pod.memoryQoS),
    agentCgroup: config.nodeAgentCgroups,
    systemCgroup: config.systemCgroups,
  };
  return {
    cgroups,
    run: async (manager, stop) =>
      void (await Promise.all([
        cgroups.run(knownPods(manager), stop),
        runNodeCgroups(deps, options, stop),
        runOomWatcher(base, { view: runtimeSide.view, manager, cgroups, open, event }, stop),
      ])),
  };
}

interface PodCgroupParts {
  readonly open: () => Promise<CgroupMaker | undefined>;
  readonly pod: PodLimitOptions;
  readonly event: PodEvent;
}

async function createPodCgroupsOf(base: Base, { open, pod, event }: PodCgroupParts): Promise<PodCgroups> {
  const { config, clock, log } = base;
  const root = rootOf(base);
  const capacity = await nodeCapacity(base);
  const rules = resourceRules(config);
  const enforced = config.enforceNodeAllocatable.includes('pods');
  const all = allPodsLimits(capacity, rules, true);
  return createPodCgroups(
    {
      open,
      records: createCgroupRecords(join(config.rootDir, 'cgroups')),
      clock,
      log,
      event: (of: Pod, type, reason, message) => event(of, type, reason, message),
      ...(enforced ? { enforced: (faults) => tellEnforced(base, faults) } : {}),
    },
    {
      perQos: config.cgroupsPerQOS,
      root,
      fallback: fallbackOf(config, root),
      pod,
      hugePageSizesBytes: base.settings.resources.hugePageSizesBytes,
      reservedPercent: featureEnabled(config, 'QOSReserved')
        ? Number.parseInt(config.qosReserved['memory'] ?? '0', 10)
        : 0,
      allocatableMemoryBytes: Number(all.memoryBytes ?? 0n),
      rootLimits: allPodsLimits(capacity, rules, enforced),
    },
  );
}

/** systemd makes slices by itself where nobody made them, but must be given their names. */
const fallbackOf = ({ cgroupRoot, cgroupDriver }: AgentConfig, root: CgroupName): string =>
  cgroupDriver === 'systemd' ? sliceName(root) : cgroupRoot;

const knownPods = (manager: PodManager): KnownPods => ({
  active: () =>
    manager
      .entries()
      .filter(({ end }) => end === undefined)
      .map(({ pod }) => pod),
  knows: (podUID) => manager.knows(podUID),
});
