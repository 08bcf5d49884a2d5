/** What pods take of the node's disk: measured for whoever asks, and kept within what they may take. */
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import { createLocalLimits } from '#eviction/local-limits.ts';
import { podDir, VOLUME_DEVICES, VOLUMES } from '#volumes/layout.ts';
import { createApartMeasure } from '#volumes/usage/apart.ts';
import type { MeasureVolume } from '#volumes/usage/contract.ts';
import { createDiskUsage, type DiskUsage } from '#volumes/usage/disk-usage.ts';
import { spaceIn } from '#volumes/usage/fs-space.ts';
import type { PodFolders } from '#volumes/usage/protocol.ts';
import { createQuotaMeasure } from '#volumes/usage/quota-measure.ts';
import { isCritical } from '../admission/resource-fit.ts';
import { featureEnabled } from '../config/feature-gates.ts';
import type { AgentConfig } from '../config/gen/config.ts';
import { podLogDir } from '../logs/paths.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import type { Base } from './base.ts';
import type { PodSide } from './pod-side.ts';

export interface DiskSide {
  readonly usage: DiskUsage;
  /** Keeps pods within their limits. */
  readonly run: (stop: AbortSignal) => Promise<void>;
}

/** As upstream: what a pod has is lost anyway, and every second it takes more. */
const EVICTION_GRACE_SECONDS = 1;

function podFolders({ rootDir, podLogsDir }: AgentConfig, { metadata }: Pod): readonly PodFolders[] {
  const { uid = '', name = '', namespace = '' } = metadata ?? {};
  if (uid === '') return [];
  const logsDir = podLogDir(podLogsDir, { namespace, name, podUID: uid });
  const dir = podDir(rootDir, uid);
  return [{ uid, volumesDir: join(dir, VOLUMES), devicesDir: join(dir, VOLUME_DEVICES), logsDir }];
}

/** Pods that may be ended for what they take. Static ones are not spared, as most nodes without a server have no others.
 *  Deviation: upstream spares them. */
const endable = (manager: PodManager): readonly Pod[] =>
  manager
    .entries()
    .filter(
      ({ pod, status: { phase }, deletion }) =>
        deletion === undefined && phase !== 'Failed' && phase !== 'Succeeded' && !isCritical(pod),
    )
    .map(({ pod }) => pod);

export function createDiskSide(base: Base, { manager, run, quotas, drivers }: DiskParts): DiskSide {
  const { config, clock, log, changes } = base;
  const { volumeStatsAggPeriod: periodMs, rootDir } = config;
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
  const limits = createLocalLimits(
    {
      clock,
      log,
      pods: () => endable(manager),
      useOf: (podUID) => volumeUse(usage, podUID),
      measure: () => usage.measure(),
      usedBytes: async () => spaceIn(await statfs(rootDir)).usedBytes,
      evict: ({ metadata }, message) => manager.evict(metadata?.uid ?? '', message, EVICTION_GRACE_SECONDS),
      random: Math.random,
    },
    { periodMs },
  );
  return {
    usage,
    async run(stop) {
      if (periodMs <= 0 || !featureEnabled(config, 'LocalStorageCapacityIsolation')) return;
      const unsubscribe = changes.subscribe(limits.wake);
      limits.wake();
      await limits.run(stop);
      unsubscribe();
    },
  };
}

type DiskParts = Pick<PodSide, 'manager' | 'run' | 'quotas'> & {
  readonly drivers: ReadonlyMap<string, MeasureVolume>;
};

const volumeUse = (usage: DiskUsage, podUID: string): ReadonlyMap<string, number> =>
  new Map(
    usage
      .of(podUID)
      .flatMap(({ of, name, usedBytes }) =>
        of === 'volume' && usedBytes !== undefined ? [[name, usedBytes]] : [],
      ),
  );
