/** Metrics of an autoscaler. Source: autoscaling/v2. */

import type {
  ContainerResourceMetricSource,
  CrossVersionObjectReference,
  ExternalMetricSource,
  MetricIdentifier,
  MetricSpec,
  MetricTarget,
  ObjectMetricSource,
  PodsMetricSource,
  ResourceMetricSource,
} from '#api/gen/autoscaling-v2.ts';
import { parseQuantity } from '#api/meta/quantity.ts';
import type { Faults } from '#api/schema/validation/faults.ts';
import { validateLabelSelector } from '#api/schema/validation/label-selector.ts';
import { pathSegmentFaults } from '../names.ts';

const TARGET_TYPES = ['Utilization', 'Value', 'AverageValue'];

function validateWord(faults: Faults, text: string, path: string): void {
  if (text === '') faults.required(path);
  else faults.invalidAll(path, text, pathSegmentFaults(text));
}

/** Another object, by kind and name. */
export function validateReference(faults: Faults, ref: CrossVersionObjectReference, path: string): void {
  validateWord(faults, ref.kind, `${path}.kind`);
  validateWord(faults, ref.name, `${path}.name`);
}

function validateIdentifier(faults: Faults, { name, selector }: MetricIdentifier, path: string): void {
  validateWord(faults, name, `${path}.name`);
  if (selector !== undefined) validateLabelSelector(faults, selector, `${path}.selector`);
}

const isPositive = (amount: string): boolean => parseQuantity(amount).nanos > 0n;

function validateTarget(faults: Faults, target: MetricTarget, path: string): void {
  if (target.type === '') faults.required(`${path}.type`, 'must specify a metric target type');
  else if (!TARGET_TYPES.includes(target.type)) {
    faults.invalid(`${path}.type`, target.type, 'must be either Utilization, Value, or AverageValue');
  }
  for (const member of ['value', 'averageValue'] as const) {
    const amount = target[member];
    if (amount !== undefined && !isPositive(amount)) {
      faults.invalid(`${path}.${member}`, amount, 'must be positive');
    }
  }
  faults.positive(`${path}.averageUtilization`, target.averageUtilization);
}

function validateObjectSource(faults: Faults, source: ObjectMetricSource, path: string): void {
  validateReference(faults, source.describedObject, `${path}.describedObject`);
  validateIdentifier(faults, source.metric, `${path}.metric`);
  validateTarget(faults, source.target, `${path}.target`);
  if (source.target.value === undefined && source.target.averageValue === undefined) {
    faults.required(`${path}.target.averageValue`, 'must set either a target value or averageValue');
  }
}

function validatePodsSource(faults: Faults, source: PodsMetricSource, path: string): void {
  validateIdentifier(faults, source.metric, `${path}.metric`);
  validateTarget(faults, source.target, `${path}.target`);
  if (source.target.averageValue === undefined) {
    faults.required(`${path}.target.averageValue`, 'must specify a positive target averageValue');
  }
}

function validateExternalSource(faults: Faults, source: ExternalMetricSource, path: string): void {
  const { value, averageValue } = source.target;
  validateIdentifier(faults, source.metric, `${path}.metric`);
  validateTarget(faults, source.target, `${path}.target`);
  if (value !== undefined && averageValue !== undefined) {
    const detail = 'may not set both a target value for metric and a per-pod target';
    faults.forbidden(`${path}.target.value`, detail);
  } else if (value === undefined && averageValue === undefined) {
    const detail = 'must set either a target value for metric or a per-pod target';
    faults.required(`${path}.target.averageValue`, detail);
  }
}

function validateResourceSource(
  faults: Faults,
  source: ResourceMetricSource | ContainerResourceMetricSource,
  path: string,
): void {
  const { averageUtilization, averageValue } = source.target;
  if (source.name === '') faults.required(`${path}.name`, 'must specify a resource name');
  if ('container' in source) validateWord(faults, source.container, `${path}.container`);
  validateTarget(faults, source.target, `${path}.target`);
  if (averageUtilization === undefined && averageValue === undefined) {
    faults.required(`${path}.target.averageUtilization`, 'must set either a target raw value or utilization');
  } else if (averageUtilization !== undefined && averageValue !== undefined) {
    faults.forbidden(
      `${path}.target.averageValue`,
      'may not set both a target raw value and a target utilization',
    );
  }
}

type SourceName = Exclude<keyof MetricSpec, 'type'>;

const SOURCE_OF_TYPE: ReadonlyMap<string, SourceName> = new Map<string, SourceName>([
  ['ContainerResource', 'containerResource'],
  ['External', 'external'],
  ['Object', 'object'],
  ['Pods', 'pods'],
  ['Resource', 'resource'],
]);

function validateSources(faults: Faults, metric: MetricSpec, path: string): void {
  const { object, pods, resource, containerResource, external } = metric;
  if (object) validateObjectSource(faults, object, `${path}.object`);
  if (pods) validatePodsSource(faults, pods, `${path}.pods`);
  if (resource) validateResourceSource(faults, resource, `${path}.resource`);
  if (containerResource) validateResourceSource(faults, containerResource, `${path}.containerResource`);
  if (external) validateExternalSource(faults, external, `${path}.external`);
}

/** Reports every error of one metric, which has exactly the source that its type names. */
export function validateMetric(faults: Faults, metric: MetricSpec, path: string): void {
  const wanted = SOURCE_OF_TYPE.get(metric.type);
  if (metric.type === '') faults.required(`${path}.type`, 'must specify a metric source type');
  else if (wanted === undefined) faults.unsupported(`${path}.type`, metric.type, [...SOURCE_OF_TYPE.keys()]);
  validateSources(faults, metric, path);
  if (wanted === undefined) return;
  if (metric[wanted] === undefined) {
    faults.required(`${path}.${wanted}`, 'must populate information for the given metric source');
  }
  for (const other of SOURCE_OF_TYPE.values()) {
    if (other !== wanted && metric[other] !== undefined) {
      faults.forbidden(`${path}.${other}`, 'must populate the given metric source only');
    }
  }
}
