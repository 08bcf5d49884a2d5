/** Metrics of volumes, under upstream's names (release 1.24). */
import type { Volume } from '#api/gen/core-v1.ts';
import type { GaugeSeries, MetricsRegistry } from '#api/kit/metrics.ts';
import PLUGINS from './data/volume-plugins.json' with { type: 'json' };

export interface VolumeMetrics {
  readonly operationDone: (
    volume: Volume | undefined,
    operation: 'mount' | 'unmount',
    durationMs: number,
    failed: boolean,
  ) => void;
}

export interface VolumeMetricsOptions {
  /** Domain of the names of plugins. */
  readonly domain: string;
  /** Returns the volumes of all pods. */
  readonly desired: () => readonly Volume[];
}

const BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600] as const;

const PLUGIN_BY_SOURCE: ReadonlyMap<string, string> = new Map(Object.entries(PLUGINS));

/** Returns the plugin name of a volume: the domain and `/empty-dir`. That of a claim is the claim's, whatever volume it is
 *  bound to. */
export function pluginNameOf(volume: Volume | undefined, domain: string): string {
  const source = Object.keys(volume ?? {}).find((key) => key !== 'name') ?? 'unknown';
  return `${domain}/${PLUGIN_BY_SOURCE.get(source) ?? source}`;
}

/** @param registry adds no prefix */
export function createVolumeMetrics(
  registry: MetricsRegistry,
  { domain, desired }: VolumeMetricsOptions,
): VolumeMetrics {
  const durations = registry.histogram({
    name: 'storage_operation_duration_seconds',
    help: 'Storage operation duration',
    labels: ['volume_plugin', 'operation_name', 'status', 'migrated'],
    buckets: BUCKETS,
  });
  const volumes = registry.gauge({
    name: 'volume_manager_total_volumes',
    help: 'Number of volumes in Volume Manager',
    labels: ['plugin_name', 'state'],
  });
  const actual = new Map<string, number>();
  const of = (plugin: string, state: string): GaugeSeries => volumes.with(plugin, `${state}_state_of_world`);
  registry.onCollect(() => {
    volumes.clear();
    for (const [plugin, count] of actual) of(plugin, 'actual').set(count);
    for (const volume of desired()) of(pluginNameOf(volume, domain), 'desired').add(1);
  });
  return {
    operationDone(volume, operation, durationMs, failed) {
      const plugin = pluginNameOf(volume, domain);
      const status = failed ? 'fail-unknown' : 'success';
      durations.with(plugin, `volume_${operation}`, status, 'false').observe(durationMs / 1000);
      if (failed) return;
      const change = operation === 'mount' ? 1 : -1;
      actual.set(plugin, Math.max(0, (actual.get(plugin) ?? 0) + change));
    },
  };
}
