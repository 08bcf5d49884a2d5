/** Disk usage of container logs for `/metrics`. Pure. Source: upstream's metric of the same name. */
import type { Summary } from '#api/gen/stats-v1alpha1.ts';
import { formatFamilies } from './exposition.ts';

/** @param prefix name prefix of the agent's own metrics */
export function logMetrics(summary: Summary | undefined, prefix: string): string {
  const samples = (summary?.pods ?? []).flatMap(({ podRef: { uid, namespace, name: pod }, containers }) =>
    containers.map(({ name: container, logs }) => ({
      labels: { uid, namespace, pod, container },
      value: logs?.usedBytes,
    })),
  );
  const help = "Bytes used by the container's logs on the filesystem.";
  return formatFamilies([
    { name: `${prefix}_container_log_filesystem_used_bytes`, help, type: 'gauge', samples },
  ]);
}
