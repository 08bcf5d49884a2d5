/** `nodes` and `pods` of the metrics API: their resource usage, from scrapes of the nodes.
 *  Source: upstream's metrics server. */
import { notFound } from '#api/meta/status-errors.ts';
import type { CachedObject } from '../cache/contract.ts';
import { decideList } from '../cache/list/list-semantics.ts';
import type { ApiRequest, ApiResponse } from '../http/contract.ts';
import { yieldToEventLoop } from '../kit/yield.ts';
import type { Collector } from '../resource-metrics/collector.ts';
import { nodeMetricsOf, podMetricsOf, type ShowOptions } from '../resource-metrics/objects.ts';
import { podKey } from '../resource-metrics/points.ts';
import type { Resource } from '../resources/contract.ts';
import type { EndpointDeps } from './deps.ts';
import { cacheOf, checkFields, stateRequest } from './read.ts';
import { parseSelectors } from './read-request.ts';

export type UsageDeps = EndpointDeps & { readonly collector: Collector };

/** The subject of a kind of metrics. */
interface Measured {
  /** Resource of the core group. */
  readonly plural: string;
  /** Name in messages about missing metrics. */
  readonly subject: string;
  /** Name in messages about a missing object. */
  readonly missing: string;
  readonly nodeOf: (object: CachedObject) => string;
  readonly isMeasured: (object: CachedObject) => boolean;
  readonly show: (
    object: CachedObject,
    collector: Collector,
    options: ShowOptions,
  ) => CachedObject | undefined;
}

const ENDED: ReadonlySet<string> = new Set(['Succeeded', 'Failed']);

const NODES: Measured = {
  plural: 'nodes',
  subject: 'nodemetrics',
  // Upstream's lister of nodes uses the singular.
  missing: 'node',
  nodeOf: ({ name }) => name,
  isMeasured: () => true,
  show: (node, collector, options) => nodeMetricsOf(node, collector.seriesOf(node.name)?.node, options),
};

const nodeOfPod = ({ fields }: CachedObject): string => fields['spec.nodeName'] ?? '';

const PODS: Measured = {
  plural: 'pods',
  subject: 'podmetrics',
  missing: 'pods',
  nodeOf: nodeOfPod,
  isMeasured: (pod) => nodeOfPod(pod) !== '' && !ENDED.has(pod.fields['status.phase'] ?? ''),
  show(pod, collector, options) {
    // Only the pod's own node is trusted.
    const series = collector.seriesOf(nodeOfPod(pod))?.pods.get(podKey(pod.namespace, pod.name));
    return podMetricsOf(pod, series, options);
  },
};

const measuredBy = ({ info }: Resource): Measured => (info.namespaced ? PODS : NODES);

/** Objects processed between two turns of the event loop. */
const TURN_MS = 8;

const shownAs = (deps: UsageDeps, resource: Resource): ShowOptions => ({
  resource,
  nowMs: deps.clock.now(),
});

/** @throws StatusError NotFound, with upstream's names for the metrics instead of the resource */
export async function getUsage(
  deps: UsageDeps,
  request: ApiRequest,
  resource: Resource,
): Promise<ApiResponse> {
  deps.content.checkAccept(request, resource);
  const { namespace, name } = request.info;
  const measured = measuredBy(resource);
  const of = deps.registry.find('', 'v1', measured.plural);
  const key = resource.info.namespaced ? podKey(namespace, name) : name;
  const found = of === undefined ? undefined : cacheOf(deps, of).get(key);
  if (found === undefined) throw notFound({ group: '', name: measured.missing }, name);
  if (measured.isMeasured(found)) await deps.collector.prepare([measured.nodeOf(found)], request.signal);
  const shown = measured.isMeasured(found)
    ? measured.show(found, deps.collector, shownAs(deps, resource))
    : undefined;
  if (shown === undefined) throw notFound({ group: resource.info.group, name: measured.subject }, key);
  return deps.content.cached(request, resource, shown);
}

async function select(
  deps: UsageDeps,
  { info, query }: ApiRequest,
  resource: Resource,
): Promise<readonly CachedObject[]> {
  const measured = measuredBy(resource);
  const selectors = parseSelectors(query);
  checkFields(resource, selectors.fields);
  const of = deps.registry.find('', 'v1', measured.plural);
  if (of === undefined) return [];
  const { items } = await cacheOf(deps, of).list({
    ...selectors,
    ...(info.namespace === '' ? {} : { namespace: info.namespace }),
  });
  return items.filter(measured.isMeasured);
}

/** Returns everything that is selected and has metrics, on one page whatever the limit: upstream's behaviour. */
export async function listUsage(
  deps: UsageDeps,
  request: ApiRequest,
  resource: Resource,
): Promise<ApiResponse> {
  deps.content.checkAccept(request, resource);
  decideList(stateRequest(request.query), deps.vocabulary.apiGroupDomain);
  const measured = measuredBy(resource);
  const { revision } = deps.cache;
  const selected = await select(deps, request, resource);
  await deps.collector.prepare(new Set(selected.map(measured.nodeOf)), request.signal);
  const options = shownAs(deps, resource);
  const items: CachedObject[] = [];
  let turnStart = performance.now();
  for (const object of selected) {
    const shown = measured.show(object, deps.collector, options);
    if (shown !== undefined) items.push(shown);
    if (performance.now() - turnStart < TURN_MS) continue;
    await yieldToEventLoop();
    turnStart = performance.now();
  }
  return deps.content.list(request, resource, { items, revision, continue: '' });
}
