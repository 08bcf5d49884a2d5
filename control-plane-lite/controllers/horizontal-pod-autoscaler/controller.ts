/** HorizontalPodAutoscaler controller: calculates each autoscaler in regular intervals and after changes of its
 *  specification. Its history lives in memory, as upstream's. */
import { isDeepStrictEqual } from 'node:util';
import type { HorizontalPodAutoscaler } from '#api/gen/autoscaling-v2.ts';
import type { ResourceCache } from '../../cache/contract.ts';
import { createBuiltinSchema } from '../../resources/builtin-schema.ts';
import type { Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { type Controller, type ControllerContext, defineController } from '../skeleton/declaration.ts';
import { refOf } from '../workloads-kit/controller-base.ts';
import { sameStatus } from '../workloads-kit/same-status.ts';
import { writeStatus } from '../workloads-kit/write-status.ts';
import { type AutoscalerDeps, runAutoscaler } from './autoscaler.ts';
import { scaledPod } from './facts.ts';
import type { History } from './history.ts';
import { createSources } from './sources.ts';
import { findTarget, groupOf, localResource } from './target.ts';

type Context = ControllerContext<'horizontalpodautoscalers' | 'pods'>;

interface Parts {
  readonly context: Context;
  /** In the stored version. */
  readonly resource: Resource;
  readonly autoscalers: ResourceCache;
  readonly deps: Omit<AutoscalerDeps, 'record'>;
  readonly histories: Map<string, History>;
}

function createDeps(context: Context): Omit<AutoscalerDeps, 'record'> {
  const { settings, client, vocabulary, gates, signal, clock, cache } = context;
  const { limits, collector, aggregated } = settings.autoscaler;
  const registry = context.allKinds();
  const podCache = context.cacheOf('pods');
  const group = `metrics.${vocabulary.apiGroupDomain}`;
  const targets = {
    registry,
    cache,
    client,
    scaleSchema: createBuiltinSchema('autoscaling/v1.Scale', { vocabulary, gates }),
    aggregated,
    signal,
  };
  return {
    limits,
    now: () => clock.now(),
    findTarget: (namespace, ref) => findTarget(targets, namespace, ref),
    async podsOf({ namespace, requirements }) {
      const { items } = await podCache.list({ namespace, labels: requirements, fields: [] });
      return items.map((pod) => scaledPod(pod.object()));
    },
    sources: createSources({
      podCache,
      collector,
      servesMetrics: () => registry.find(group, 'v1beta1', 'pods') !== undefined,
      aggregated,
      domain: vocabulary.apiGroupDomain,
      signal,
      resourceOf({ apiVersion, kind }) {
        const own = groupOf(apiVersion);
        const plural =
          localResource(registry, own, kind)?.info.plural ?? aggregated?.findKind(own, kind)?.plural;
        return plural === undefined || own === '' ? plural : `${plural}.${own}`;
      },
    }),
  };
}

async function reconcile(
  { context, resource, autoscalers, deps, histories }: Parts,
  key: string,
): Promise<number | undefined> {
  const { client, log, queue } = context;
  const cached = autoscalers.get(key);
  if (cached === undefined) {
    histories.delete(key);
    return undefined;
  }
  const object = cached.object();
  const { metadata, spec, status } = typed<HorizontalPodAutoscaler>(object);
  if (spec === undefined) return undefined;
  const result = await runAutoscaler(
    { ...deps, record: ({ type, reason, message }) => client.events.record(object, type, reason, message) },
    { namespace: cached.namespace, spec, status, history: histories.get(key) },
  );
  if (result.history !== undefined) histories.set(key, result.history);
  if (result.error !== undefined) log.debug({ key, reason: result.error }, 'Failed to calculate autoscaler');
  if (!sameStatus('autoscaling/v2.HorizontalPodAutoscalerStatus', result.status, status)) {
    queue.expect(key);
    await writeStatus(client, refOf(resource, cached), metadata?.uid ?? '', result.status);
  }
  return deps.limits.syncPeriodMs;
}

export const horizontalPodAutoscalerController: Controller = defineController({
  name: 'horizontalpodautoscaling',
  identity: 'horizontal-pod-autoscaler',
  watches: ['horizontalpodautoscalers', 'pods'],
  everyKind: {
    reason: 'reads and sets the size of every kind with a scale subresource, custom resources included',
    writes: { scale: ['spec.replicas'] },
  },
  writes: { horizontalpodautoscalers: { status: ['status'] } },
  recordsEvents: true,
  start(context) {
    const { queue } = context;
    const served = context.resourceOf('horizontalpodautoscalers');
    const autoscalers = context.cacheOf('horizontalpodautoscalers');
    const parts: Parts = {
      context,
      resource: served.stored ?? served,
      autoscalers,
      deps: createDeps(context),
      histories: new Map(),
    };
    const following = autoscalers.follow(({ type, current, previous }) => {
      // The status is this controller's own.
      const isOwn =
        type === 'MODIFIED' && isDeepStrictEqual(previous?.object()['spec'], current.object()['spec']);
      if (!isOwn) queue.add(current.key);
    });
    return { reconcile: (key) => reconcile(parts, key), follows: [following] };
  },
});
