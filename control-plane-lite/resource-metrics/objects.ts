/** API objects of resource usage. Pure. */
import { formatDurationMs } from '#api/meta/duration.ts';
import { formatQuantity } from '#api/meta/quantity.ts';
import { formatTime } from '#api/meta/time.ts';
import type { CachedObject } from '../cache/contract.ts';
import type { ApiObject, Resource } from '../resources/contract.ts';
import { apiVersionOf } from '../resources/facts.ts';
import { type PodSeries, podUsage, type Series, type Usage, usageOf } from './series.ts';

/** An object that is nowhere stored: it has no revision. */
class ShownObject implements CachedObject {
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly revision = 0;
  readonly madeHere = true;
  readonly json: Buffer;
  readonly labels: Readonly<Record<string, string>>;
  readonly fields: Readonly<Record<string, string>>;
  readonly #object: ApiObject;

  constructor(subject: CachedObject, object: ApiObject) {
    this.key = subject.key;
    this.namespace = subject.namespace;
    this.name = subject.name;
    this.labels = subject.labels;
    this.fields = {};
    this.#object = object;
    this.json = Buffer.from(JSON.stringify(object));
  }

  object(): ApiObject {
    return this.#object;
  }

  form(_name: string, make: () => Buffer): Buffer {
    return make();
  }
}

const NANOS = 1_000_000_000n;

const amounts = ({ nanocores, memoryBytes }: Usage): object => ({
  cpu: formatQuantity({ nanos: BigInt(nanocores), format: 'decimalSI' }),
  memory: formatQuantity({ nanos: BigInt(memoryBytes) * NANOS, format: 'binarySI' }),
});

const times = ({ atMs, windowMs }: Usage): object => ({
  timestamp: formatTime(atMs),
  window: formatDurationMs(windowMs),
});

export interface ShowOptions {
  /** NodeMetrics or PodMetrics. */
  readonly resource: Resource;
  readonly nowMs: number;
}

/** With the name and the labels of what was measured. */
function shown(subject: CachedObject, { resource, nowMs }: ShowOptions, body: object): CachedObject {
  const { key, namespace, name, labels } = subject;
  const metadata = {
    name,
    ...(key === name ? {} : { namespace }),
    creationTimestamp: formatTime(nowMs),
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
  };
  const { info } = resource;
  return new ShownObject(subject, { kind: info.kind, apiVersion: apiVersionOf(info), metadata, ...body });
}

/** `undefined`: there are no metrics. */
export function nodeMetricsOf(
  node: CachedObject,
  series: Series | undefined,
  options: ShowOptions,
): CachedObject | undefined {
  const usage = series === undefined ? undefined : usageOf(series);
  if (usage === undefined) return undefined;
  return shown(node, options, { ...times(usage), usage: amounts(usage) });
}

/** `undefined`: there are no metrics, or not of all containers. */
export function podMetricsOf(
  pod: CachedObject,
  series: PodSeries | undefined,
  options: ShowOptions,
): CachedObject | undefined {
  const usages = series === undefined ? undefined : podUsage(series);
  if (usages === undefined) return undefined;
  const [first, ...others] = usages.values();
  if (first === undefined) return undefined;
  const earliest = others.reduce((found, usage) => (usage.atMs < found.atMs ? usage : found), first);
  const containers = [...usages].map(([name, usage]) => ({ name, usage: amounts(usage) }));
  return shown(pod, options, { ...times(earliest), containers });
}
