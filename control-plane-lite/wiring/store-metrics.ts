/** Metrics of the store under upstream's names: numbers of stored objects by resource, and durations of its calls, which
 *  upstream has of etcd. */
import type { Clock } from '#api/kit/clock.ts';
import type { MetricsRegistry } from '#api/kit/metrics.ts';
import type { Store } from '../store/contract.ts';
import type { Core } from './core.ts';

/** Objects are counted when the metrics are read. */
export function addObjectMetrics({ metrics, registry, cache }: Core): void {
  const objects = metrics.gauge({
    name: 'apiserver_storage_objects',
    help: 'Stored objects by resource.',
    labels: ['resource'],
  });
  metrics.onCollect(() => {
    objects.clear();
    for (const { info, storage, stored } of registry.all()) {
      if (stored !== undefined || !info.verbs.includes('watch')) continue;
      const name = info.group === '' ? info.plural : `${info.plural}.${info.group}`;
      objects.with(name).set(cache.resource(storage).size);
    }
  });
}

const SECONDS = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];

export interface CallMetricsDeps {
  readonly registry: MetricsRegistry;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** `/registry/apps/deployments/default/web` is of the type deployments.apps. */
export function typeOfKey(key: string): string {
  const [, root, first = '', second = ''] = key.split('/');
  if (root !== 'registry') return root ?? '';
  // Resources of the core group have no group in their keys.
  return first.includes('.') || GROUPS.has(first) ? `${second}.${first}` : first;
}

/** Groups whose names have no dot. */
const GROUPS: ReadonlySet<string> = new Set(['apps', 'autoscaling', 'batch', 'policy', 'extensions']);

/** The same store, whose calls are measured. */
export function withCallMetrics(store: Store, { registry, clock }: CallMetricsDeps): Store {
  const durations = registry.histogram({
    name: 'etcd_request_duration_seconds',
    help: 'Time of the calls of the store, by operation and type of object.',
    labels: ['operation', 'type'],
    buckets: SECONDS,
    maxSeries: 2000,
  });

  async function measured<R>(operation: string, key: string, run: () => Promise<R>): Promise<R> {
    const begunMs = clock.monotonic();
    try {
      return await run();
    } finally {
      durations.with(operation, typeOfKey(key)).observe((clock.monotonic() - begunMs) / 1000);
    }
  }

  return {
    ...(store.isStale === undefined ? {} : { isStale: store.isStale }),
    isShared: store.isShared,
    revisionStep: store.revisionStep,
    currentRevision: () => store.currentRevision(),
    get: (key) => measured('get', key, () => store.get(key)),
    range: (prefix, options) => measured('list', prefix, () => store.range(prefix, options)),
    put: (key, value, expected) =>
      measured(expected === 'absent' ? 'create' : 'update', key, () => store.put(key, value, expected)),
    delete: (key, expected) => measured('delete', key, () => store.delete(key, expected)),
    watch: (prefix, afterRevision, sink) => store.watch(prefix, afterRevision, sink),
    compact: (revision) => store.compact(revision),
    close: () => store.close(),
  };
}
