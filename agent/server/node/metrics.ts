/** `/metrics`, `/metrics/resource`, `/metrics/cadvisor` and `/metrics/probes` with upstream's metric names. */

import type { Summary } from '#api/gen/stats-v1alpha1.ts';
import {
  type CounterSeries,
  createMetricsRegistry,
  METRICS_CONTENT_TYPE,
  type MetricsRegistry,
} from '#api/kit/metrics.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { CollectedImages } from '../../gc/image-remover.ts';
import type { ObservedContainer, ObservedSandbox } from '../../observe/types.ts';
import type { ProbeCount } from '../../probes/counts.ts';
import type { ProbeKind } from '../../probes/probe-state.ts';
import type { NodeEndpoint, NodeResponse } from './endpoint.ts';
import { logMetrics } from './stats/log-metrics.ts';
import { resourceMetrics } from './stats/resource-metrics.ts';
import type { CollectSummary } from './stats/summary.ts';
import { volumeMetrics } from './stats/volume-metrics.ts';

export interface MetricsDeps {
  readonly collect: CollectSummary;
  /** Text of `/metrics/cadvisor`. */
  readonly cadvisor: () => Promise<string>;
  readonly sandboxes: () => readonly ObservedSandbox[];
  readonly containers: () => readonly ObservedContainer[];
  readonly probes: () => readonly ProbeCount[];
  /** Images removed since the start of the agent. */
  readonly collectedImages: () => readonly CollectedImages[];
  /** Metrics of other parts of the agent, as text. */
  readonly counted: () => string;
}

export interface MetricsOptions {
  readonly nodeName: string;
  /** Name prefix of the agent's own metrics. */
  readonly prefix: string;
}

const raise = (series: CounterSeries, total: number): void => series.inc(total - series.value);

/** Registers the agent metrics, which the read-only port also serves. */
function addAgentMetrics(
  registry: MetricsRegistry,
  { sandboxes, containers, collectedImages }: MetricsDeps,
  { nodeName, prefix }: MetricsOptions,
): void {
  const pods = registry.gauge({
    name: `${prefix}_running_pods`,
    help: 'Number of pods that have a running pod sandbox',
  });
  const running = registry.gauge({
    name: `${prefix}_running_containers`,
    help: 'Number of containers currently running',
    labels: ['container_state'],
  });
  registry
    .gauge({ name: `${prefix}_node_name`, help: "The node's name. The count is always 1.", labels: ['node'] })
    .with(nodeName)
    .set(1);
  const images = registry.counter({
    name: `${prefix}_image_garbage_collected_total`,
    help: 'Total number of images garbage collected, because their disk filled up or under pressure',
    labels: ['reason'],
  });
  const freed = registry.counter({
    name: `${prefix}_image_garbage_collected_bytes_total`,
    help: 'Total size of images garbage collected in bytes, as reported by the runtime',
    labels: ['reason'],
  });
  registry.onCollect(() => {
    for (const { reason, images: count, bytes } of collectedImages()) {
      raise(images.with(reason), count);
      raise(freed.with(reason), bytes);
    }
    pods.with().set(sandboxes().filter(({ ready }) => ready).length);
    const all = containers();
    for (const state of ['created', 'running', 'exited', 'unknown']) {
      running.with(state).set(all.filter((container) => container.state === state).length);
    }
  });
}

function addProcessMetrics(registry: MetricsRegistry): void {
  const cpu = registry.counter({
    name: 'process_cpu_seconds_total',
    help: 'Total user and system CPU time spent in seconds.',
  });
  const memory = registry.gauge({
    name: 'process_resident_memory_bytes',
    help: 'Resident memory size in bytes.',
  });
  const start = registry.gauge({
    name: 'process_start_time_seconds',
    help: 'Start time of the process since unix epoch in seconds.',
  });
  start.with().set(Math.round(Date.now() / 1000 - process.uptime()));
  registry.onCollect(() => {
    const { user, system } = process.cpuUsage();
    raise(cpu.with(), (user + system) / 1_000_000);
    memory.with().set(process.memoryUsage.rss());
  });
}

const PROBE_TYPES: Readonly<Record<ProbeKind, string>> = {
  startup: 'Startup',
  liveness: 'Liveness',
  readiness: 'Readiness',
};

/** Builds a new registry for each scrape, so that ended containers disappear. */
function probeMetrics(counts: readonly ProbeCount[]): string {
  const registry = createMetricsRegistry();
  const total = registry.counter({
    name: 'prober_probe_total',
    help: 'Cumulative number of a liveness, readiness or startup probe for a container by result.',
    labels: ['probe_type', 'result', 'container', 'pod', 'namespace', 'pod_uid'],
  });
  for (const { pod, container, kind, result, count } of counts) {
    const { name = '', namespace = '', uid = '' } = pod.metadata ?? {};
    total.with(PROBE_TYPES[kind], result, container, name, namespace, uid).inc(count);
  }
  return registry.text();
}

async function summaryOf({ collect }: MetricsDeps): Promise<Summary | undefined> {
  try {
    return await collect('totals');
  } catch {
    return undefined; // the remaining metrics are still valid
  }
}

export function metricsEndpoint(deps: MetricsDeps, options: MetricsOptions): NodeEndpoint {
  const registry = createMetricsRegistry();
  addProcessMetrics(registry);
  addAgentMetrics(registry, deps, options);
  const metricsResponse = (text: string): NodeResponse => ({
    kind: 'text',
    text,
    contentType: METRICS_CONTENT_TYPE,
  });
  return {
    name: 'metrics',
    methods: ['GET'],
    async handle({ rest }) {
      switch (rest.join('/')) {
        case '': {
          const summary = await summaryOf(deps);
          const { prefix } = options;
          const ofNode = registry.text() + deps.counted();
          return metricsResponse(ofNode + volumeMetrics(summary, prefix) + logMetrics(summary, prefix));
        }
        case 'resource':
          return metricsResponse(resourceMetrics(await summaryOf(deps)));
        case 'cadvisor':
          return metricsResponse(await deps.cadvisor());
        case 'probes':
          return metricsResponse(probeMetrics(deps.probes()));
        default:
          throw new StatusError('NotFound', '404 page not found');
      }
    },
  };
}
