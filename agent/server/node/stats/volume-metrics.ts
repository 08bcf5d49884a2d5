/** Usage of persistent volume claims for `/metrics`, for alerts on volumes that fill up. Pure. */

import type { FsStats, Summary, VolumeStats } from '#api/gen/stats-v1alpha1.ts';
import { parseTime } from '#api/meta/time.ts';
import { type Family, formatFamilies } from './exposition.ts';

const FAMILIES = [
  ['capacity_bytes', 'Capacity in bytes of the volume', 'capacityBytes'],
  ['available_bytes', 'Number of available bytes in the volume', 'availableBytes'],
  ['used_bytes', 'Number of used bytes in the volume', 'usedBytes'],
  ['inodes', 'Maximum number of inodes in the volume', 'inodes'],
  ['inodes_free', 'Number of free inodes in the volume', 'inodesFree'],
  ['inodes_used', 'Number of used inodes in the volume', 'inodesUsed'],
] as const satisfies readonly (readonly [string, string, keyof FsStats])[];

const HEALTH = {
  name: 'health_status_abnormal',
  help: 'Abnormal volume health status. The count is either 1 or 0. 1 indicates the volume is unhealthy, 0 indicates volume is healthy',
} as const;

const claimLabels = ({ pvcRef }: VolumeStats) => ({
  namespace: pvcRef?.namespace ?? '',
  persistentvolumeclaim: pvcRef?.name ?? '',
});

/** @param prefix name prefix of the agent's own metrics */
export function volumeMetrics(summary: Summary | undefined, prefix: string): string {
  const claims = new Map<string, VolumeStats>();
  for (const volume of (summary?.pods ?? []).flatMap((pod) => pod.volume ?? [])) {
    // Several pods may use the same claim.
    if (volume.pvcRef !== undefined) claims.set(`${volume.pvcRef.namespace}/${volume.pvcRef.name}`, volume);
  }
  const volumes = [...claims.values()];
  const figures = FAMILIES.map(
    ([name, help, key]): Family => ({
      name: `${prefix}_volume_stats_${name}`,
      help: `[ALPHA] ${help}`,
      type: 'gauge',
      samples: volumes.map((volume) => ({
        labels: claimLabels(volume),
        value: volume[key],
        atMs: parseTime(volume.time),
      })),
    }),
  );
  const health: Family = {
    name: `${prefix}_volume_stats_${HEALTH.name}`,
    help: `[ALPHA] ${HEALTH.help}`,
    type: 'gauge',
    samples: volumes.map((volume) => ({
      labels: claimLabels(volume),
      value: volume.volumeHealthStats && Number(volume.volumeHealthStats.abnormal),
      atMs: parseTime(volume.time),
    })),
  };
  return formatFamilies([...figures, health]);
}
