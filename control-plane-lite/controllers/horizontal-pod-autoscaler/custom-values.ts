/** Values of the custom and the external metrics API. Pure. Source: upstream's metrics types, custom.metrics v1beta1 and
 *  v1beta2, external.metrics v1beta1. */
import { isMutableObject } from '#api/kit/object.ts';
import { milliOf, type PodMetric, type PodMetrics } from './facts.ts';
import { itemsOf, MetricsError, readMember, readTime } from './usage.ts';

/** Window of a value that names none. */
const WINDOW_MS = 60_000;

function windowOf(item: Readonly<Record<string, unknown>>): number {
  const seconds = item['windowSeconds'] ?? item['window'];
  return typeof seconds === 'number' && seconds >= 0 ? seconds * 1000 : WINDOW_MS;
}

/** Parses a MetricValueList of pods. @throws MetricsError */
export function readPodValues(list: unknown): PodMetrics {
  const items = itemsOf(list);
  if (items.length === 0) throw new MetricsError('no metrics returned from custom metrics API');
  return new Map(
    items.map((item): readonly [string, PodMetric] => {
      const described = isMutableObject(item['describedObject']) ? item['describedObject'] : {};
      const metric = {
        value: readMember(item, 'value', milliOf),
        atMs: readMember(item, 'timestamp', readTime),
        windowMs: windowOf(item),
      };
      return [readMember(described, 'name', String), metric];
    }),
  );
}

/** Parses a MetricValueList of one object. Returns the value in thousandths. @throws MetricsError */
export function readObjectValue(list: unknown): bigint {
  const [item, ...others] = itemsOf(list);
  if (item === undefined || others.length > 0) {
    const count = item === undefined ? 0 : others.length + 1;
    throw new MetricsError(
      `the custom metrics API server returned ${count} results when we asked for exactly one`,
    );
  }
  return readMember(item, 'value', milliOf);
}

/** Parses an ExternalMetricValueList. Returns the sum of its values in thousandths. @throws MetricsError */
export function readExternalValue(list: unknown): bigint {
  const items = itemsOf(list);
  if (items.length === 0) throw new MetricsError('no metrics returned from external metrics API');
  return items.reduce((total, item) => total + readMember(item, 'value', milliOf), 0n);
}
