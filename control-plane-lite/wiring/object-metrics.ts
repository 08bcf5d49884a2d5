/** Numbers of stored objects by resource, under upstream's name. */
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
