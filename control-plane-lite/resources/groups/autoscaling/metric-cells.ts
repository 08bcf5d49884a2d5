/** Table cells of an autoscaler's current and target metrics. Source: autoscaling/v2. */
import type {
  HorizontalPodAutoscaler,
  MetricSpec,
  MetricStatus,
  MetricTarget,
  MetricValueStatus,
} from '#api/gen/autoscaling-v2.ts';
import { NONE, UNKNOWN } from '../../rows.ts';

const MOST_SHOWN = 2;

const average = (current: MetricValueStatus | undefined, target: MetricTarget): string =>
  `${current?.averageValue ?? UNKNOWN}/${target.averageValue ?? UNKNOWN}`;

/** A value of a whole, or an average over the pods. */
function valueText(current: MetricValueStatus | undefined, target: MetricTarget): string {
  if (target.averageValue !== undefined) return `${average(current, target)} (avg)`;
  return `${current?.value ?? UNKNOWN}/${target.value ?? UNKNOWN}`;
}

function resourceText(current: MetricValueStatus | undefined, target: MetricTarget): string {
  if (target.averageValue !== undefined) return average(current, target);
  const is = current?.averageUtilization === undefined ? UNKNOWN : `${current.averageUtilization}%`;
  return `${is}/${target.averageUtilization === undefined ? '<auto>' : `${target.averageUtilization}%`}`;
}

function metricText(metric: MetricSpec, status: MetricStatus | undefined): string {
  const { external, pods, object, resource, containerResource } = metric;
  if (external) return valueText(status?.external?.current, external.target);
  if (pods) return average(status?.pods?.current, pods.target);
  if (object) return valueText(status?.object?.current, object.target);
  if (resource) return resourceText(status?.resource?.current, resource.target);
  if (containerResource) return resourceText(status?.containerResource?.current, containerResource.target);
  return '<unknown type>';
}

/** `50%/80%, 1/10 + 1 more...`: at most two metrics are shown. */
export function targetsCell({ spec, status }: HorizontalPodAutoscaler): string {
  const metrics = spec?.metrics ?? [];
  if (metrics.length === 0) return NONE;
  const texts = metrics.map((metric, index) => metricText(metric, status?.currentMetrics?.[index]));
  const more = texts.length - MOST_SHOWN;
  return more > 0 ? `${texts.slice(0, MOST_SHOWN).join(', ')} + ${more} more...` : texts.join(', ');
}
