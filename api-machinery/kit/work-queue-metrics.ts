/** Metrics of work queues, under upstream's names. Source: upstream's workqueue metrics, release 1.24. */
import type { Clock } from './clock.ts';
import type { MetricsRegistry } from './metrics.ts';
import type { QueueObserver } from './work-queue.ts';

const SECONDS = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10];

export interface QueueMetricsDeps {
  readonly registry: MetricsRegistry;
  readonly clock: Pick<Clock, 'monotonic'>;
}

function createFamilies(registry: MetricsRegistry) {
  const labels = ['name'];
  return {
    depth: registry.gauge({ name: 'workqueue_depth', help: 'Keys that are due.', labels }),
    adds: registry.counter({ name: 'workqueue_adds_total', help: 'Keys that became due.', labels }),
    retries: registry.counter({ name: 'workqueue_retries_total', help: 'Keys whose work failed.', labels }),
    waited: registry.histogram({
      name: 'workqueue_queue_duration_seconds',
      help: 'Time from when a key became due to the start of its work.',
      labels,
      buckets: SECONDS,
    }),
    worked: registry.histogram({
      name: 'workqueue_work_duration_seconds',
      help: 'Time that the work of a key took.',
      labels,
      buckets: SECONDS,
    }),
    unfinished: registry.gauge({
      name: 'workqueue_unfinished_work_seconds',
      help: 'Sum of the times of the work in flight.',
      labels,
    }),
    longest: registry.gauge({
      name: 'workqueue_longest_running_processor_seconds',
      help: 'Time of the oldest work in flight.',
      labels,
    }),
  };
}

/** Returns the observer of the queue of a name; a new queue of the name replaces the one before. */
export function createQueueMetrics({ registry, clock }: QueueMetricsDeps): (name: string) => QueueObserver {
  const families = createFamilies(registry);
  /** By name of the queue, then by key: when its work began, in ms. */
  const running = new Map<string, ReadonlyMap<string, number>>();
  registry.onCollect(() => {
    const nowMs = clock.monotonic();
    for (const [name, started] of running) {
      const times = [...started.values()].map((atMs) => (nowMs - atMs) / 1000);
      families.unfinished.with(name).set(times.reduce((sum, seconds) => sum + seconds, 0));
      families.longest.with(name).set(Math.max(0, ...times));
    }
  });

  return (name) => {
    const [depth, adds, retries] = [
      families.depth.with(name),
      families.adds.with(name),
      families.retries.with(name),
    ];
    const [waited, worked] = [families.waited.with(name), families.worked.with(name)];
    const dueSince = new Map<string, number>();
    const startedAt = new Map<string, number>();
    running.set(name, startedAt);
    depth.set(0);
    return {
      added(key) {
        adds.inc();
        dueSince.set(key, clock.monotonic());
        depth.set(dueSince.size);
      },
      started(key) {
        const nowMs = clock.monotonic();
        waited.observe((nowMs - (dueSince.get(key) ?? nowMs)) / 1000);
        dueSince.delete(key);
        depth.set(dueSince.size);
        startedAt.set(key, nowMs);
      },
      finished(key, failed) {
        const nowMs = clock.monotonic();
        worked.observe((nowMs - (startedAt.get(key) ?? nowMs)) / 1000);
        startedAt.delete(key);
        if (failed) retries.inc();
      },
    };
  };
}
