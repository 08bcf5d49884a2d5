/** Sources of metrics: this server's own metrics API, or the aggregated servers of the metrics APIs. */

import type { CrossVersionObjectReference, MetricIdentifier } from '#api/gen/autoscaling-v2.ts';
import { formatSelector, type Requirement, selectorRequirements } from '#api/meta/selectors.ts';
import type { CachedObject, ResourceCache } from '../../cache/contract.ts';
import type { Collector } from '../../resource-metrics/collector.ts';
import { podKey } from '../../resource-metrics/points.ts';
import { podUsage } from '../../resource-metrics/series.ts';
import type { AggregatedApis } from '../skeleton/settings.ts';
import { readExternalValue, readObjectValue, readPodValues } from './custom-values.ts';
import type { PodMetrics } from './facts.ts';
import { MetricsError, type PodUsage, podMetrics, readPodUsages } from './usage.ts';

export interface TargetPods {
  readonly namespace: string;
  readonly selector: string;
  readonly requirements: readonly Requirement[];
}

/** Every function rejects with MetricsError or another Error with the reason. */
export interface MetricSources {
  resource(pods: TargetPods, resource: string, container: string | undefined): Promise<PodMetrics>;
  pods(pods: TargetPods, metric: MetricIdentifier): Promise<PodMetrics>;
  /** In thousandths. */
  object(namespace: string, ref: CrossVersionObjectReference, metric: MetricIdentifier): Promise<bigint>;
  /** Sum in thousandths. */
  external(namespace: string, metric: MetricIdentifier): Promise<bigint>;
}

export interface SourcesDeps {
  readonly podCache: Pick<ResourceCache, 'list'>;
  readonly collector: Pick<Collector, 'prepare' | 'seriesOf'>;
  /** Reports whether this server serves the metrics API. */
  readonly servesMetrics: () => boolean;
  readonly aggregated: AggregatedApis | undefined;
  /** Returns the resource of a kind with its group, such as `deployments.apps`; `undefined`: the kind is unknown. */
  readonly resourceOf: (ref: CrossVersionObjectReference) => string | undefined;
  /** Domain of the API groups. */
  readonly domain: string;
  readonly signal: AbortSignal;
}

const NOT_FOUND = 'the server could not find the requested resource';
const NANOS_PER_MILLI = 1_000_000n;
const MILLIS = 1000n;

const nodeOf = ({ fields }: CachedObject): string => fields['spec.nodeName'] ?? '';

const isMeasured = (pod: CachedObject): boolean =>
  nodeOf(pod) !== '' && !['Succeeded', 'Failed'].includes(pod.fields['status.phase'] ?? '');

/** `undefined`: the pod has no usage yet. */
function localUsage(pod: CachedObject, collector: SourcesDeps['collector']): PodUsage | undefined {
  const { namespace, name } = pod;
  const series = collector.seriesOf(nodeOf(pod))?.pods.get(podKey(namespace, name));
  const usages = series === undefined ? undefined : podUsage(series);
  if (usages === undefined) return undefined;
  const earliest = [...usages.values()].reduce((found, each) => (each.atMs < found.atMs ? each : found));
  const containers = [...usages].map(([container, { nanocores, memoryBytes }]) => ({
    name: container,
    usage: new Map([
      ['cpu', (BigInt(nanocores) + NANOS_PER_MILLI - 1n) / NANOS_PER_MILLI],
      ['memory', BigInt(memoryBytes) * MILLIS],
    ]),
  }));
  return { namespace, name, atMs: earliest.atMs, windowMs: earliest.windowMs, containers };
}

function queryOf(parameters: Readonly<Record<string, string>>): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== '');
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}

/** @throws SelectorError */
function selectorText({ selector }: MetricIdentifier): string {
  if (selector === undefined) return '';
  selectorRequirements(selector);
  return formatSelector(selector);
}

/** Rejects with the reason, after the name of the API. */
async function from<V>(api: string, work: () => Promise<V>): Promise<V> {
  try {
    return await work();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new MetricsError(`unable to fetch metrics from ${api} metrics API: ${reason}`, { cause });
  }
}

export function createSources(deps: SourcesDeps): MetricSources {
  const { domain, signal } = deps;

  async function request(group: string, version: string, path: string): Promise<unknown> {
    if (deps.aggregated === undefined) throw new MetricsError(NOT_FOUND);
    const response = await deps.aggregated.send({ group, version, method: 'GET', path }, signal);
    return response;
  }

  async function localUsages({ namespace, requirements }: TargetPods): Promise<readonly PodUsage[]> {
    if (!deps.servesMetrics()) throw new MetricsError(NOT_FOUND);
    const { items } = await deps.podCache.list({ namespace, labels: requirements, fields: [] });
    const measured = items.filter(isMeasured);
    await deps.collector.prepare(new Set(measured.map(nodeOf)), signal);
    return measured.flatMap((pod) => localUsage(pod, deps.collector) ?? []);
  }

  /** An aggregated server takes precedence over this one. */
  function usages(pods: TargetPods): Promise<readonly PodUsage[]> {
    const group = `metrics.${domain}`;
    const [version] = deps.aggregated?.versionsOf(group) ?? [];
    return from('resource', async () => {
      if (version === undefined) return localUsages(pods);
      const query = queryOf({ labelSelector: pods.selector });
      const path = `/namespaces/${pods.namespace}/pods${query}`;
      return readPodUsages(await request(group, version, path));
    });
  }

  function fetchCustom(path: string): Promise<unknown> {
    const group = `custom.metrics.${domain}`;
    const [version] = deps.aggregated?.versionsOf(group) ?? [];
    if (version === undefined) throw new MetricsError(`no custom metrics API (${group}) registered`);
    return request(group, version, path);
  }

  return {
    resource: async (pods, resource, container) => podMetrics(await usages(pods), resource, container),
    pods: async (pods, metric) =>
      readPodValues(
        await from('custom', async () => {
          const query = queryOf({ labelSelector: pods.selector, metricLabelSelector: selectorText(metric) });
          return fetchCustom(
            `/namespaces/${pods.namespace}/pods/*/${encodeURIComponent(metric.name)}${query}`,
          );
        }),
      ),
    object: (namespace, ref, metric) =>
      from('custom', async () => {
        const query = queryOf({ metricLabelSelector: selectorText(metric) });
        const name = encodeURIComponent(metric.name);
        const isNamespace = ref.kind === 'Namespace' && !(ref.apiVersion ?? '').includes('/');
        // A reference never leaves the namespace of the autoscaler.
        if (isNamespace)
          return readObjectValue(await fetchCustom(`/namespaces/${namespace}/metrics/${name}${query}`));
        const resource = deps.resourceOf(ref);
        if (resource === undefined) throw new MetricsError(`no matches for kind ${JSON.stringify(ref.kind)}`);
        const object = `${resource}/${encodeURIComponent(ref.name)}`;
        return readObjectValue(await fetchCustom(`/namespaces/${namespace}/${object}/${name}${query}`));
      }),
    external: async (namespace, metric) =>
      readExternalValue(
        await from('external', async () => {
          const group = `external.metrics.${domain}`;
          const [version] = deps.aggregated?.versionsOf(group) ?? [];
          if (version === undefined) throw new MetricsError(NOT_FOUND);
          const query = queryOf({ labelSelector: selectorText(metric) });
          return request(
            group,
            version,
            `/namespaces/${namespace}/${encodeURIComponent(metric.name)}${query}`,
          );
        }),
      ),
  };
}
