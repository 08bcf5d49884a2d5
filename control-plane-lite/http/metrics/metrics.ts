/** `/metrics` and the metrics of the process itself. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { METRICS_CONTENT_TYPE, type MetricsRegistry } from '#api/kit/metrics.ts';
import type { PathRoute } from '../contract.ts';

export function metricsRoute(registry: MetricsRegistry): PathRoute {
  return {
    path: '/metrics',
    methods: ['GET'],
    handler: () => ({
      kind: 'bytes',
      status: 200,
      contentType: METRICS_CONTENT_TYPE,
      body: Buffer.from(registry.text()),
    }),
  };
}

const NANOSECONDS = 1e9;
/** Interval at which the delay of the event loop is sampled, in ms. */
const LOOK_MS = 20;

/** Converts Node's measurement in ns to seconds of delay: Node measures the time between two samples, which
 *  equals the interval when nothing is late. */
export const lagSeconds = (betweenLooks: number): number =>
  Math.max(0, betweenLooks / NANOSECONDS - LOOK_MS / 1000);

/** Registers metrics of the process. Returns the function that stops sampling. */
export function addProcessMetrics(registry: MetricsRegistry): () => void {
  const gauge = (name: string, help: string, labels: readonly string[] = []) =>
    registry.gauge({ name, help, labels });
  const cpu = registry.counter({ name: 'process_cpu_seconds_total', help: 'Time on processors.' });
  const resident = gauge('process_resident_memory_bytes', 'Resident memory.');
  const start = gauge('process_start_time_seconds', 'Start of the process since the epoch.');
  const lag = gauge('nodejs_eventloop_lag_seconds', 'Delay of the event loop since the last look.', [
    'value',
  ]);
  const heapTotal = gauge('nodejs_heap_size_total_bytes', 'Heap taken from the system.');
  const heapUsed = gauge('nodejs_heap_size_used_bytes', 'Heap in use.');
  const external = gauge('nodejs_external_memory_bytes', 'Memory outside of the heap.');
  const version = gauge('nodejs_version_info', 'Version of the runtime.', ['version']);
  version.with(process.version).set(1);
  start.with().set(Date.now() / 1000 - process.uptime());
  const delays = monitorEventLoopDelay({ resolution: LOOK_MS });
  delays.enable();
  registry.onCollect(() => {
    const { user, system } = process.cpuUsage();
    cpu.with().inc((user + system) / 1e6 - cpu.with().value);
    const memory = process.memoryUsage();
    resident.with().set(memory.rss);
    heapTotal.with().set(memory.heapTotal);
    heapUsed.with().set(memory.heapUsed);
    external.with().set(memory.external);
    lag.with('max').set(lagSeconds(delays.max));
    lag.with('p50').set(lagSeconds(delays.percentile(50)));
    lag.with('p99').set(lagSeconds(delays.percentile(99)));
    delays.reset();
  });
  return () => void delays.disable();
}
