/** Proposal of one metric of an autoscaler, with its status. Reads metrics, writes nothing.
 *  Source: upstream's autoscaler, release 1.24; reasons and messages are upstream's. */
import type {
  MetricIdentifier,
  MetricSpec,
  MetricStatus,
  MetricTarget,
  MetricValueStatus,
} from '#api/gen/autoscaling-v2.ts';
import { formatSelector } from '#api/meta/selectors.ts';
import { formatMilli, milliOf, type ScaledPod } from './facts.ts';
import {
  type PodsInput,
  type Proposal,
  type ProposalLimits,
  proposeByAverage,
  proposeByShare,
  proposeByTotal,
  proposeByUtilization,
} from './propose.ts';
import type { MetricSources, TargetPods } from './sources.ts';

/** A metric without a proposal. The message is for the autoscaler's error, `detail` for its condition. */
export class MetricFailure extends Error {
  override readonly name = 'MetricFailure';
  readonly reason: string;
  readonly detail: string;

  constructor(reason: string, prefix: string, cause: unknown) {
    const detail = cause instanceof Error ? cause.message : String(cause);
    super(`${prefix}${detail}`, { cause });
    this.reason = reason;
    this.detail = detail;
  }
}

export interface MetricContext {
  readonly sources: MetricSources;
  readonly target: TargetPods;
  readonly pods: readonly ScaledPod[];
  /** Desired and observed size of the target. */
  readonly specReplicas: number;
  readonly statusReplicas: number;
  readonly limits: ProposalLimits;
  readonly nowMs: number;
}

export interface Computed {
  readonly replicas: number;
  /** Human-readable name of the metric. */
  readonly name: string;
  readonly status: MetricStatus;
}

/** Rejects with the text in front of the reason. */
async function after<V>(prefix: string, work: () => Promise<V>): Promise<V> {
  try {
    return await work();
  } catch (cause) {
    throw new Error(`${prefix}${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

const shown = ({ name, selector }: MetricIdentifier): string =>
  `${name}(${selector === undefined ? 'nil' : formatSelector(selector)})`;

function podsInput(context: MetricContext, metrics: PodsInput['metrics']): PodsInput {
  const { pods, specReplicas: current, limits, nowMs } = context;
  return { pods, metrics, current, limits, nowMs };
}

interface ResourceComputed {
  readonly replicas: number;
  readonly name: string;
  readonly current: MetricValueStatus;
}

async function computeResource(
  context: MetricContext,
  resource: string,
  { averageValue, averageUtilization }: MetricTarget,
  container?: string,
): Promise<ResourceComputed> {
  const read = (): ReturnType<MetricSources['resource']> =>
    after(`unable to get metrics for resource ${resource}: `, () =>
      context.sources.resource(context.target, resource, container),
    );
  if (averageValue !== undefined) {
    const { replicas, value } = await after(`failed to get ${resource} usage: `, async () =>
      proposeByAverage({ ...podsInput(context, await read()), resource }, milliOf(averageValue)),
    );
    return { replicas, name: `${resource} resource`, current: { averageValue: formatMilli(value) } };
  }
  if (averageUtilization === undefined) {
    throw new Error(
      'invalid resource metric source: neither a utilization target nor a value target was set',
    );
  }
  const {
    replicas,
    value,
    utilization = 0,
  } = await after(`failed to get ${resource} utilization: `, async () =>
    proposeByUtilization({ ...podsInput(context, await read()), resource, container }, averageUtilization),
  );
  return {
    replicas,
    name: `${resource} resource utilization (percentage of request)`,
    current: { averageUtilization: utilization, averageValue: formatMilli(value) },
  };
}

const byShare = (context: MetricContext, value: bigint, target: string): Proposal =>
  proposeByShare(value, milliOf(target), context.statusReplicas, context.limits.tolerance);

const byTotal = (context: MetricContext, value: bigint, target: string): Proposal =>
  proposeByTotal(
    { pods: context.pods, value, current: context.specReplicas, tolerance: context.limits.tolerance },
    milliOf(target),
  );

async function computeObject(
  context: MetricContext,
  source: NonNullable<MetricSpec['object']>,
): Promise<Computed> {
  const { describedObject, metric, target } = source;
  const { namespace } = context.target;
  const place = `${describedObject.kind} on ${namespace} ${describedObject.name}`;
  const value = await after(`unable to get metric ${metric.name}: ${place}/`, () =>
    context.sources.object(namespace, describedObject, metric),
  );
  const status = (current: MetricValueStatus): MetricStatus => ({
    type: 'Object',
    object: { describedObject, metric, current },
  });
  if (target.type === 'Value' && target.value !== undefined) {
    const proposal = byTotal(context, value, target.value);
    const name = `${describedObject.kind} metric ${metric.name}`;
    return { replicas: proposal.replicas, name, status: status({ value: formatMilli(proposal.value) }) };
  }
  if (target.type === 'AverageValue' && target.averageValue !== undefined) {
    const proposal = byShare(context, value, target.averageValue);
    const current = { averageValue: formatMilli(proposal.value) };
    return { replicas: proposal.replicas, name: `external metric ${shown(metric)}`, status: status(current) };
  }
  throw new Error('invalid object metric source: neither a value target nor an average value target was set');
}

async function computePods(
  context: MetricContext,
  { metric, target }: NonNullable<MetricSpec['pods']>,
): Promise<Computed> {
  const metrics = await after(`unable to get metric ${metric.name}: `, () =>
    context.sources.pods(context.target, metric),
  );
  const { replicas, value } = proposeByAverage(
    podsInput(context, metrics),
    milliOf(target.averageValue ?? '0'),
  );
  const current = { averageValue: formatMilli(value) };
  return {
    replicas,
    name: `pods metric ${metric.name}`,
    status: { type: 'Pods', pods: { metric, current } },
  };
}

async function computeExternal(
  context: MetricContext,
  { metric, target }: NonNullable<MetricSpec['external']>,
): Promise<Computed> {
  if (target.averageValue === undefined && target.value === undefined) {
    throw new Error(
      'invalid external metric source: neither a value target nor an average value target was set',
    );
  }
  const { namespace } = context.target;
  const value = await after(`unable to get external metric ${namespace}/${shown(metric)}: `, () =>
    context.sources.external(namespace, metric),
  );
  const proposal =
    target.averageValue === undefined
      ? byTotal(context, value, target.value ?? '0')
      : byShare(context, value, target.averageValue);
  const text = formatMilli(proposal.value);
  const current = target.averageValue === undefined ? { value: text } : { averageValue: text };
  const status = { type: 'External', external: { metric, current } };
  return { replicas: proposal.replicas, name: `external metric ${shown(metric)}`, status };
}

/** @throws MetricFailure */
async function failingAs(reason: string, prefix: string, work: () => Promise<Computed>): Promise<Computed> {
  try {
    return await work();
  } catch (cause) {
    throw new MetricFailure(reason, prefix, cause);
  }
}

/** @throws MetricFailure */
export async function computeMetric(context: MetricContext, spec: MetricSpec): Promise<Computed> {
  const { type, resource, containerResource, object, pods, external } = spec;
  if (type === 'Resource' && resource !== undefined) {
    const prefix = `failed to get ${resource.name} resource metric value: `;
    return failingAs('FailedGetResourceMetric', prefix, async () => {
      const { current, ...rest } = await computeResource(context, resource.name, resource.target);
      return { ...rest, status: { type, resource: { name: resource.name, current } } };
    });
  }
  if (type === 'ContainerResource' && containerResource !== undefined) {
    const { name, container, target } = containerResource;
    const prefix = `failed to get ${container} container metric value: `;
    return failingAs('FailedGetContainerResourceMetric', prefix, async () => {
      const { current, ...rest } = await computeResource(context, name, target, container);
      return { ...rest, status: { type, containerResource: { name, container, current } } };
    });
  }
  if (type === 'Object' && object !== undefined) {
    return failingAs('FailedGetObjectMetric', 'failed to get object metric value: ', () =>
      computeObject(context, object),
    );
  }
  if (type === 'Pods' && pods !== undefined) {
    return failingAs('FailedGetPodsMetric', 'failed to get pods metric value: ', () =>
      computePods(context, pods),
    );
  }
  if (type === 'External' && external !== undefined) {
    const prefix = `failed to get ${external.metric.name} external metric value: `;
    return failingAs('FailedGetExternalMetric', prefix, () => computeExternal(context, external));
  }
  throw new MetricFailure('InvalidMetricSourceType', '', new Error(`unknown metric source type "${type}"`));
}
