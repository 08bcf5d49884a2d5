/** `/metrics/resource`: CPU times and memory of the summary, for autoscalers and `top`. Pure.
 *  Source: upstream's resource metrics. */

import type { Summary } from '#api/gen/stats-v1alpha1.ts';
import type { Int64 } from '#api/kit/int64.ts';
import { parseTime } from '#api/meta/time.ts';
import { type Family, formatFamilies } from './exposition.ts';

const msOf = (time: string | undefined): number | undefined =>
  time === undefined ? undefined : parseTime(time);

const seconds = (ns: Int64 | undefined): number | undefined =>
  ns === undefined ? undefined : Number(ns) / 1_000_000_000;

function containerFamilies({ pods }: Summary): readonly Family[] {
  const containers = pods.flatMap(({ podRef: { namespace, name: pod }, containers: all }) =>
    all.map((container) => ({ ...container, labels: { container: container.name, namespace, pod } })),
  );
  return [
    {
      name: 'container_cpu_usage_seconds_total',
      help: '[ALPHA] Cumulative cpu time consumed by the container in core-seconds',
      type: 'counter',
      samples: containers.map(({ labels, cpu }) => ({
        labels,
        value: seconds(cpu?.usageCoreNanoSeconds),
        atMs: msOf(cpu?.time),
      })),
    },
    {
      name: 'container_memory_working_set_bytes',
      help: '[ALPHA] Current working set of the container in bytes',
      type: 'gauge',
      samples: containers.map(({ labels, memory }) => ({
        labels,
        value: memory?.workingSetBytes,
        atMs: msOf(memory?.time),
      })),
    },
    {
      name: 'container_swap_usage_bytes',
      help: '[ALPHA] Current amount of the container swap usage in bytes',
      type: 'gauge',
      samples: containers.map(({ labels, swap }) => ({
        labels,
        value: swap?.swapUsageBytes,
        atMs: msOf(swap?.time),
      })),
    },
    {
      name: 'container_start_time_seconds',
      help: '[ALPHA] Start time of the container since unix epoch in seconds',
      type: 'gauge',
      samples: containers.map(({ labels, startTime }) => ({ labels, value: parseTime(startTime) / 1000 })),
    },
  ];
}

function totals({ node, pods }: Summary): readonly Family[] {
  const cpu = 'Cumulative cpu time consumed by the';
  const memory = 'Current working set of the';
  const ofPods = pods.map((pod) => ({
    ...pod,
    labels: { namespace: pod.podRef.namespace, pod: pod.podRef.name },
  }));
  return [
    {
      name: 'node_cpu_usage_seconds_total',
      help: `[ALPHA] ${cpu} node in core-seconds`,
      type: 'counter',
      samples: [{ labels: {}, value: seconds(node.cpu?.usageCoreNanoSeconds), atMs: msOf(node.cpu?.time) }],
    },
    {
      name: 'node_memory_working_set_bytes',
      help: `[ALPHA] ${memory} node in bytes`,
      type: 'gauge',
      samples: [{ labels: {}, value: node.memory?.workingSetBytes, atMs: msOf(node.memory?.time) }],
    },
    {
      name: 'node_swap_usage_bytes',
      help: '[ALPHA] Current swap usage of the node in bytes',
      type: 'gauge',
      samples: [{ labels: {}, value: node.swap?.swapUsageBytes, atMs: msOf(node.swap?.time) }],
    },
    {
      name: 'pod_cpu_usage_seconds_total',
      help: `[ALPHA] ${cpu} pod in core-seconds`,
      type: 'counter',
      samples: ofPods.map((pod) => ({
        labels: pod.labels,
        value: seconds(pod.cpu?.usageCoreNanoSeconds),
        atMs: msOf(pod.cpu?.time),
      })),
    },
    {
      name: 'pod_memory_working_set_bytes',
      help: `[ALPHA] ${memory} pod in bytes`,
      type: 'gauge',
      samples: ofPods.map((pod) => ({
        labels: pod.labels,
        value: pod.memory?.workingSetBytes,
        atMs: msOf(pod.memory?.time),
      })),
    },
    {
      name: 'pod_swap_usage_bytes',
      help: '[ALPHA] Current amount of the pod swap usage in bytes',
      type: 'gauge',
      samples: ofPods.map((pod) => ({
        labels: pod.labels,
        value: pod.swap?.swapUsageBytes,
        atMs: msOf(pod.swap?.time),
      })),
    },
  ];
}

/** @param summary undefined if it is not available */
export function resourceMetrics(summary: Summary | undefined): string {
  const error: Family = {
    name: 'scrape_error',
    help: '[ALPHA] 1 if there was an error while getting container metrics, 0 otherwise',
    type: 'gauge',
    samples: [{ labels: {}, value: summary === undefined ? 1 : 0 }],
  };
  const families = summary === undefined ? [] : [...containerFamilies(summary), ...totals(summary)];
  return formatFamilies([...families, error]);
}
