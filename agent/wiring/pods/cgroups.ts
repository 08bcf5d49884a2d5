/** Wires cgroups of pods, of reserved resources, and of the agent itself. */
import { readFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import type { Pod } from '#api/gen/core-v1.ts';
import { type CgroupMaker, createCgroupfsMaker } from '../../cgroups/cgroupfs-driver.ts';
import { decideDriver, readRuntimeDriver } from '../../cgroups/driver.ts';
import { parseHierarchies } from '../../cgroups/hierarchies.ts';
import type { PodLimitOptions } from '../../cgroups/limits.ts';
import { type CgroupName, parseCgroupName, sliceName } from '../../cgroups/names.ts';
import {
  allPodsLimits,
  type NodeCapacity,
  parseMostPids,
  reservedLimits,
} from '../../cgroups/node-allocatable.ts';
import { type ReservedPart, runNodeCgroups } from '../../cgroups/node-cgroups.ts';
import { createPodCgroups, type KnownPods, type PodCgroups } from '../../cgroups/pod-cgroups.ts';
import { savePodsCgroupPath } from '../../cgroups/pods-note.ts';
import { createCgroupRecords } from '../../cgroups/records.ts';
import { type CgroupError, createCgroupTree } from '../../cgroups/tree.ts';
import { featureEnabled } from '../../config/feature-gates.ts';
import type { AgentConfig } from '../../config/gen/config.ts';
import type { PodEvent } from '../../pods/pod-event.ts';
import type { PodManager } from '../../pods/pod-manager.ts';
import { createNodeEventSink } from '../../registration/node-events.ts';
import { resourceRules } from '../../registration/settings.ts';
import type { Base } from '../base.ts';
import type { RuntimeSubsystem } from '../runtime.ts';
import { runOomWatcher } from './oom.ts';

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

/** Returns the cgroup of all pods: below the configured root, unless QoS cgroups are disabled. */
const rootOf = ({ config, vocabulary }: Base): CgroupName => [
  ...parseCgroupName(config.cgroupRoot),
  ...(config.cgroupsPerQOS ? [vocabulary.podsCgroup] : []),
];

/** Opens the hierarchies with the cgroup driver of the runtime. */
function createOpen(base: Base, { connection }: RuntimeSubsystem): () => Promise<CgroupMaker | undefined> {
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
    // Loaded only with the systemd driver.
    const [{ createSliceMaker }, { createSystemdManager }] = await Promise.all([
      import('../../cgroups/systemd/slices.ts'),
      import('../../cgroups/systemd/manager.ts'),
    ]);
    return createSliceMaker({ tree, manager: createSystemdManager(), clock });
  };
}

function reportEnforced({ events, node, log }: Base, errors: readonly CgroupError[]): void {
  const emit = createNodeEventSink(events, node);
  if (errors.length === 0) {
    emit({
      type: 'Normal',
      reason: 'NodeAllocatableEnforced',
      message: 'Updated Node Allocatable limit across pods',
    });
    return;
  }
  const message = errors
    .map(({ write, error }) => `${write.file} = ${write.text}: ${error.message}`)
    .join('; ');
  log.warn({ message }, 'Failed to enforce node allocatable limits');
  emit({ type: 'Warning', reason: 'FailedNodeAllocatableEnforcement', message });
}

/** Returns the groups whose reserved resources are enforced. */
function reservedParts(config: AgentConfig, memoryQoS: boolean): readonly ReservedPart[] {
  const parts = [
    ['system-reserved', config.systemReservedCgroup, config.systemReserved],
    ['plat-reserved', config.platReservedCgroup, config.platReserved],
  ] as const;
  return parts
    .filter(([group]) => config.enforceNodeAllocatable.includes(group))
    .map(([group, cgroup, amounts]) => ({ group, cgroup, limits: reservedLimits(amounts, memoryQoS) }));
}

/** Shares one result among all callers, unless it failed. */
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

export interface CgroupSubsystem {
  readonly cgroups: PodCgroups;
  /** Reconciles cgroups until the signal fires. Never rejects. */
  run(manager: PodManager, stop: AbortSignal): Promise<void>;
}

export async function createCgroupSubsystem(
  base: Base,
  runtimeSubsystem: RuntimeSubsystem,
  event: PodEvent,
): Promise<CgroupSubsystem> {
  const { config, clock, log, events, node } = base;
  const openAny = createOpen(base, runtimeSubsystem);
  const open = once(async () => {
    const maker = await openAny();
    // Without QoS cgroups, the agent does not own the cgroup of all pods.
    if (maker !== undefined && config.cgroupsPerQOS) {
      await savePodsCgroupPath(config.rootDir, maker.path(rootOf(base))).catch((err: unknown) => {
        log.warn({ err }, 'Failed to record pod cgroup path');
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
        runOomWatcher(base, { view: runtimeSubsystem.view, manager, cgroups, open, event }, stop),
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
      ...(enforced ? { enforced: (errors) => reportEnforced(base, errors) } : {}),
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

/** systemd creates slices implicitly, but must be given their names. */
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
