/** Wires the local disk usage of pods: measurement on request, and enforcement of limits. */
import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod } from '#api/gen/core-v1.ts';
import { createLocalLimits } from '#eviction/local-limits.ts';
import type { ContainerUse, PodUse } from '#eviction/local-storage.ts';
import { podDir, VOLUME_DEVICES, VOLUMES } from '#volumes/files/layout.ts';
import { createApartMeasure } from '#volumes/usage/apart.ts';
import type { MeasureVolume } from '#volumes/usage/contract.ts';
import { createDiskUsage, type DiskUsage } from '#volumes/usage/disk-usage.ts';
import { spaceIn } from '#volumes/usage/fs-space.ts';
import type { PodFolders } from '#volumes/usage/protocol.ts';
import { createQuotaMeasure } from '#volumes/usage/quota-measure.ts';
import { isCritical } from '../../admission/resource-fit.ts';
import { featureEnabled } from '../../config/feature-gates.ts';
import type { AgentConfig } from '../../config/gen/config.ts';
import type { VolumeHealthDeps } from '../../csi/volume-health.ts';
import { podLogDir } from '../../logs/paths.ts';
import type { PodEvent } from '../../pods/pod-event.ts';
import type { PodManager } from '../../pods/pod-manager.ts';
import type { Base } from '../base.ts';
import type { PodSubsystem } from '../pods/pods.ts';
import type { RuntimeSubsystem } from '../runtime.ts';
import { createLayerUse, type LayerUse } from './writable-layers.ts';

export interface DiskSubsystem {
  readonly usage: DiskUsage;
  /** Enforces the limits of pods. */
  readonly run: (stop: AbortSignal) => Promise<void>;
}

/** As upstream: the local data of the pod is lost anyway, and it keeps writing. */
const EVICTION_GRACE_SECONDS = 1;

function podFolders({ rootDir, podLogsDir }: AgentConfig, { metadata }: Pod): readonly PodFolders[] {
  const { uid = '', name = '', namespace = '' } = metadata ?? {};
  if (uid === '') return [];
  const logsDir = podLogDir(podLogsDir, { namespace, name, uid });
  const dir = podDir(rootDir, uid);
  return [{ uid, volumesDir: join(dir, VOLUMES), devicesDir: join(dir, VOLUME_DEVICES), logsDir }];
}

/** Returns pods that may be evicted for their disk usage, including static ones: most standalone nodes have
 *  no others.
 *  Deviation: upstream spares static pods. */
const endable = (manager: PodManager): readonly Pod[] =>
  manager
    .entries()
    .filter(({ pod, end, deletion }) => deletion === undefined && end === undefined && !isCritical(pod))
    .map(({ pod }) => pod);

/** Dependencies of volume health reports. */
const healthDeps = (
  { clock, log }: Base,
  { manager, csi, event }: Pick<DiskParts, 'manager' | 'csi' | 'event'>,
  usage: DiskUsage,
): VolumeHealthDeps => ({
  clock,
  log,
  event,
  drivers: csi.volumes.drivers,
  pods: () => manager.entries().map(({ pod }) => pod),
  measure: () => usage.measure(),
  figuresOf: (podUID) => usage.of(podUID),
});

/** Returns the used bytes of the file systems that pods write to, each counted once. Missing directories
 *  count as empty. */
async function usedIn(folders: readonly string[]): Promise<number> {
  const devices = new Map<number, number>();
  for (const folder of folders) {
    const found = await stat(folder).catch(() => undefined);
    if (found === undefined || devices.has(found.dev)) continue;
    devices.set(found.dev, spaceIn(await statfs(folder)).usedBytes);
  }
  return [...devices.values()].reduce((sum, bytes) => sum + bytes, 0);
}

/** Combines all measurements to the disk usage of pods. */
function createPodUse({ rootDir }: AgentConfig, usage: DiskUsage, layers: LayerUse) {
  const files = new Map<string, number>();
  return {
    of(podUID: string): PodUse {
      const containers = new Map<string, ContainerUse>();
      for (const [name, layerBytes] of layers.of(podUID)) {
        containers.set(name, layers.apart() ? {} : { layerBytes });
      }
      const volumes = new Map<string, number>();
      for (const { of, name, usedBytes } of usage.of(podUID)) {
        if (usedBytes === undefined) continue;
        if (of === 'volume') volumes.set(name, usedBytes);
        else containers.set(name, { ...containers.get(name), logBytes: usedBytes });
      }
      const layersBytes = [...layers.of(podUID).values()].reduce((sum, bytes) => sum + bytes, 0);
      return { volumes, containers, layersBytes, filesBytes: files.get(podUID) ?? 0 };
    },
    async measure(pods: readonly Pod[], containers: boolean): Promise<void> {
      await Promise.all([usage.measure(), containers ? layers.refresh() : undefined]);
      files.clear();
      if (!containers) return;
      for (const { metadata } of pods) {
        const podUID = metadata?.uid ?? '';
        const found = await stat(join(podDir(rootDir, podUID), 'etc-hosts')).catch(() => undefined);
        if (found !== undefined) files.set(podUID, found.size);
      }
    },
  };
}

export function createDiskSubsystem(
  base: Base,
  runtimeSubsystem: RuntimeSubsystem,
  parts: DiskParts,
): DiskSubsystem {
  const { config, clock, log, changes, counts } = base;
  const { manager, run, quotas, drivers } = parts;
  const { volumeStatsAggPeriod: periodMs, rootDir, podLogsDir } = config;
  const usage = createDiskUsage(
    {
      clock,
      log,
      pods: () => manager.entries().flatMap(({ pod }) => podFolders(config, pod)),
      apart: createApartMeasure({ clock, log, run, drivers }),
      ...(quotas === undefined ? {} : { quotas: createQuotaMeasure({ quotas }) }),
    },
    { periodMs },
  );
  const layers = createLayerUse(runtimeSubsystem, config);
  const use = createPodUse(config, usage, layers);
  const limits = createLocalLimits(
    {
      clock,
      log,
      pods: () => endable(manager),
      useOf: (podUID) => use.of(podUID),
      measure: (containers) => use.measure(endable(manager), containers),
      usedBytes: () => usedIn([rootDir, podLogsDir, layers.folder() ?? rootDir]),
      async evict({ metadata }, message, broken) {
        await manager.evict(metadata?.uid ?? '', message, EVICTION_GRACE_SECONDS);
        counts.evicted(broken);
      },
      random: Math.random,
    },
    { periodMs },
  );

  async function keepLimits(stop: AbortSignal): Promise<void> {
    if (!featureEnabled(config, 'LocalStorageCapacityIsolation')) return;
    const unsubscribe = changes.add(limits.wake);
    limits.wake();
    await limits.run(stop);
    unsubscribe();
  }

  async function reportHealth(stop: AbortSignal): Promise<void> {
    if (!featureEnabled(config, 'CSIVolumeHealth')) return;
    const { runVolumeHealth } = await import('../../csi/volume-health.ts');
    await runVolumeHealth(healthDeps(base, parts, usage), { periodMs }, stop);
  }

  return {
    usage,
    async run(stop) {
      if (periodMs > 0) await Promise.all([keepLimits(stop), reportHealth(stop)]);
    },
  };
}

type DiskParts = Pick<PodSubsystem, 'manager' | 'run' | 'quotas' | 'csi'> & {
  readonly drivers: ReadonlyMap<string, MeasureVolume>;
  readonly event: PodEvent;
};
