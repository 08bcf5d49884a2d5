/** `/metrics/resource`: the summary's processor times and memory, for autoscalers and `top`. Pure.
 *  Source: upstream's resource metrics. */
import { parseTime } from '#api/meta/time.ts';
import type { Summary } from '#api/schema/gen/stats-v1alpha1.ts';

interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number | undefined;
  /** Absent: now. */
  readonly time?: string | undefined;
}

interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  readonly samples: readonly Sample[];
}

const seconds = (ns: number | undefined): number | undefined =>
  ns === undefined ? undefined : ns / 1_000_000_000;

function formatSample(name: string, { labels, value, time }: Sample): string {
  const pairs = Object.entries(labels).map(([key, text]) => `${key}=${JSON.stringify(text)}`);
  const at = time === undefined ? '' : ` ${parseTime(time)}`;
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}${at}\n`;
}

function formatFamily({ name, help, type, samples }: Family): string {
  const given = samples.filter(({ value }) => value !== undefined);
  if (given.length === 0) return '';
  const lines = given.map((sample) => formatSample(name, sample)).join('');
  return `# HELP ${name} [ALPHA] ${help}\n# TYPE ${name} ${type}\n${lines}`;
}

function containerFamilies({ pods }: Summary): readonly Family[] {
  const containers = pods.flatMap(({ podRef: { namespace, name: pod }, containers: all }) =>
    all.map((container) => ({ ...container, labels: { container: container.name, namespace, pod } })),
  );
  return [
    {
      name: 'container_cpu_usage_seconds_total',
      help: 'Cumulative cpu time consumed by the container in core-seconds',
      type: 'counter',
      samples: containers.map(({ labels, cpu }) => ({
        labels,
        value: seconds(cpu?.usageCoreNanoSeconds),
        time: cpu?.time,
      })),
    },
    {
      name: 'container_memory_working_set_bytes',
      help: 'Current working set of the container in bytes',
      type: 'gauge',
      samples: containers.map(({ labels, memory }) => ({
        labels,
        value: memory?.workingSetBytes,
        time: memory?.time,
      })),
    },
    {
      name: 'container_start_time_seconds',
      help: 'Start time of the container since unix epoch in seconds',
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
      help: `${cpu} node in core-seconds`,
      type: 'counter',
      samples: [{ labels: {}, value: seconds(node.cpu?.usageCoreNanoSeconds), time: node.cpu?.time }],
    },
    {
      name: 'node_memory_working_set_bytes',
      help: `${memory} node in bytes`,
      type: 'gauge',
      samples: [{ labels: {}, value: node.memory?.workingSetBytes, time: node.memory?.time }],
    },
    {
      name: 'pod_cpu_usage_seconds_total',
      help: `${cpu} pod in core-seconds`,
      type: 'counter',
      samples: ofPods.map((pod) => ({
        labels: pod.labels,
        value: seconds(pod.cpu?.usageCoreNanoSeconds),
        time: pod.cpu?.time,
      })),
    },
    {
      name: 'pod_memory_working_set_bytes',
      help: `${memory} pod in bytes`,
      type: 'gauge',
      samples: ofPods.map((pod) => ({
        labels: pod.labels,
        value: pod.memory?.workingSetBytes,
        time: pod.memory?.time,
      })),
    },
  ];
}

/** @param summary undefined if it could not be had */
export function resourceMetrics(summary: Summary | undefined): string {
  const error: Family = {
    name: 'scrape_error',
    help: '1 if there was an error while getting container metrics, 0 otherwise',
    type: 'gauge',
    samples: [{ labels: {}, value: summary === undefined ? 1 : 0 }],
  };
  const families = summary === undefined ? [] : [...containerFamilies(summary), ...totals(summary)];
  return [...families, error].map(formatFamily).join('');
}
