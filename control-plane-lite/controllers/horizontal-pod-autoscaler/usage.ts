/** Resource usage of pods, from this server's metrics API or another one's. Pure.
 *  Source: upstream's client of the metrics API, release 1.24. */
import { isMutableObject } from '#api/kit/object.ts';
import { parseDurationMs } from '#api/meta/duration.ts';
import { milliOf, type PodMetric, type PodMetrics } from './facts.ts';

/** Usage of a pod's containers in thousandths, by resource. */
export interface PodUsage {
  readonly namespace: string;
  readonly name: string;
  readonly atMs: number;
  readonly windowMs: number;
  readonly containers: readonly { readonly name: string; readonly usage: ReadonlyMap<string, bigint> }[];
}

/** A metrics API has no usable value. */
export class MetricsError extends Error {
  override readonly name = 'MetricsError';
}

function ofContainer(
  { namespace, name, containers }: PodUsage,
  container: string,
  resource: string,
): bigint | undefined {
  const found = containers.find((each) => each.name === container);
  if (found === undefined) {
    throw new MetricsError(
      `failed to get container metrics: container ${container} not present in metrics for pod ${namespace}/${name}`,
    );
  }
  return found.usage.get(resource);
}

/** `undefined`: a container does not report the resource. */
function ofPod({ containers }: PodUsage, resource: string): bigint | undefined {
  const values = containers.map(({ usage }) => usage.get(resource));
  if (values.length === 0 || values.includes(undefined)) return undefined;
  return values.reduce((total: bigint, value) => total + (value ?? 0n), 0n);
}

/** Returns the usage of a resource by pods, or by one container of each. @throws MetricsError */
export function podMetrics(usages: readonly PodUsage[], resource: string, container?: string): PodMetrics {
  if (usages.length === 0) throw new MetricsError('no metrics returned from resource metrics API');
  const found = usages.flatMap((pod): readonly (readonly [string, PodMetric])[] => {
    const value = container === undefined ? ofPod(pod, resource) : ofContainer(pod, container, resource);
    const { name, atMs, windowMs } = pod;
    return value === undefined ? [] : [[name, { value, atMs, windowMs }]];
  });
  return new Map(found);
}

/** Returns the items of a list. @throws MetricsError */
export function itemsOf(list: unknown): readonly Readonly<Record<string, unknown>>[] {
  const items = isMutableObject(list) ? list['items'] : undefined;
  if (!Array.isArray(items)) throw new MetricsError('the response is not a list');
  return items.map((item: unknown) => {
    if (!isMutableObject(item)) throw new MetricsError('an item of the list is not an object');
    return item;
  });
}

/** Calls the function. @throws MetricsError that names the member whose value it rejects */
export function readMember<V>(
  item: Readonly<Record<string, unknown>>,
  member: string,
  read: (text: string) => V,
): V {
  const given = item[member];
  const text = typeof given === 'number' ? String(given) : given;
  if (typeof text !== 'string') throw new MetricsError(`${member} is missing`);
  try {
    return read(text);
  } catch (cause) {
    throw new MetricsError(`${member}: ${JSON.stringify(text)} is invalid`, { cause });
  }
}

export function readTime(text: string): number {
  const atMs = Date.parse(text);
  if (Number.isNaN(atMs)) throw new MetricsError('not a time');
  return atMs;
}

const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  isMutableObject(value) ? value : {};

function readContainer(value: unknown): PodUsage['containers'][number] {
  const container = membersOf(value);
  const usage = membersOf(container['usage']);
  return {
    name: readMember(container, 'name', String),
    usage: new Map(Object.keys(usage).map((resource) => [resource, readMember(usage, resource, milliOf)])),
  };
}

/** Parses a PodMetricsList. @throws MetricsError */
export function readPodUsages(list: unknown): readonly PodUsage[] {
  return itemsOf(list).map((item) => {
    const metadata = membersOf(item['metadata']);
    const { containers } = item;
    return {
      namespace: readMember(metadata, 'namespace', String),
      name: readMember(metadata, 'name', String),
      atMs: readMember(item, 'timestamp', readTime),
      windowMs: readMember(item, 'window', parseDurationMs),
      containers: (Array.isArray(containers) ? containers : []).map(readContainer),
    };
  });
}
