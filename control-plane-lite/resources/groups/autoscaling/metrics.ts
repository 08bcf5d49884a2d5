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
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import { validateLabelSelector } from '#api/schema/validation/label-selector.ts';
import { pathSegmentErrors } from '../names.ts';

const TARGET_TYPES = ['Utilization', 'Value', 'AverageValue'];

function validateWord(errors: FieldErrors, text: string, path: string): void {
  if (text === '') errors.required(path);
  else errors.invalidAll(path, text, pathSegmentErrors(text));
}

/** Another object, by kind and name. */
export function validateReference(errors: FieldErrors, ref: CrossVersionObjectReference, path: string): void {
  validateWord(errors, ref.kind, `${path}.kind`);
  validateWord(errors, ref.name, `${path}.name`);
}

function validateIdentifier(errors: FieldErrors, { name, selector }: MetricIdentifier, path: string): void {
  validateWord(errors, name, `${path}.name`);
  if (selector !== undefined) validateLabelSelector(errors, selector, `${path}.selector`);
}

const isPositive = (amount: string): boolean => parseQuantity(amount).nanos > 0n;

function validateTarget(errors: FieldErrors, target: MetricTarget, path: string): void {
  if (target.type === '') errors.required(`${path}.type`, 'must specify a metric target type');
  else if (!TARGET_TYPES.includes(target.type)) {
    errors.invalid(`${path}.type`, target.type, 'must be either Utilization, Value, or AverageValue');
  }
  for (const member of ['value', 'averageValue'] as const) {
    const amount = target[member];
    if (amount !== undefined && !isPositive(amount)) {
      errors.invalid(`${path}.${member}`, amount, 'must be positive');
    }
  }
  errors.positive(`${path}.averageUtilization`, target.averageUtilization);
}

function validateObjectSource(errors: FieldErrors, source: ObjectMetricSource, path: string): void {
  validateReference(errors, source.describedObject, `${path}.describedObject`);
  validateIdentifier(errors, source.metric, `${path}.metric`);
  validateTarget(errors, source.target, `${path}.target`);
  if (source.target.value === undefined && source.target.averageValue === undefined) {
    errors.required(`${path}.target.averageValue`, 'must set either a target value or averageValue');
  }
}

function validatePodsSource(errors: FieldErrors, source: PodsMetricSource, path: string): void {
  validateIdentifier(errors, source.metric, `${path}.metric`);
  validateTarget(errors, source.target, `${path}.target`);
  if (source.target.averageValue === undefined) {
    errors.required(`${path}.target.averageValue`, 'must specify a positive target averageValue');
  }
}

function validateExternalSource(errors: FieldErrors, source: ExternalMetricSource, path: string): void {
  const { value, averageValue } = source.target;
  validateIdentifier(errors, source.metric, `${path}.metric`);
  validateTarget(errors, source.target, `${path}.target`);
  if (value !== undefined && averageValue !== undefined) {
    const detail = 'may not set both a target value for metric and a per-pod target';
    errors.forbidden(`${path}.target.value`, detail);
  } else if (value === undefined && averageValue === undefined) {
    const detail = 'must set either a target value for metric or a per-pod target';
    errors.required(`${path}.target.averageValue`, detail);
  }
}

function validateResourceSource(
  errors: FieldErrors,
  source: ResourceMetricSource | ContainerResourceMetricSource,
  path: string,
): void {
  const { averageUtilization, averageValue } = source.target;
  if (source.name === '') errors.required(`${path}.name`, 'must specify a resource name');
  if ('container' in source) validateWord(errors, source.container, `${path}.container`);
  validateTarget(errors, source.target, `${path}.target`);
  if (averageUtilization === undefined && averageValue === undefined) {
    errors.required(`${path}.target.averageUtilization`, 'must set either a target raw value or utilization');
  } else if (averageUtilization !== undefined && averageValue !== undefined) {
    errors.forbidden(
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

function validateSources(errors: FieldErrors, metric: MetricSpec, path: string): void {
  const { object, pods, resource, containerResource, external } = metric;
  if (object) validateObjectSource(errors, object, `${path}.object`);
  if (pods) validatePodsSource(errors, pods, `${path}.pods`);
  if (resource) validateResourceSource(errors, resource, `${path}.resource`);
  if (containerResource) validateResourceSource(errors, containerResource, `${path}.containerResource`);
  if (external) validateExternalSource(errors, external, `${path}.external`);
}

/** Reports every error of one metric, which has exactly the source that its type names. */
export function validateMetric(errors: FieldErrors, metric: MetricSpec, path: string): void {
  const wanted = SOURCE_OF_TYPE.get(metric.type);
  if (metric.type === '') errors.required(`${path}.type`, 'must specify a metric source type');
  else if (wanted === undefined) errors.unsupported(`${path}.type`, metric.type, [...SOURCE_OF_TYPE.keys()]);
  validateSources(errors, metric, path);
  if (wanted === undefined) return;
  if (metric[wanted] === undefined) {
    errors.required(`${path}.${wanted}`, 'must populate information for the given metric source');
  }
  for (const other of SOURCE_OF_TYPE.values()) {
    if (other !== wanted && metric[other] !== undefined) {
      errors.forbidden(`${path}.${other}`, 'must populate the given metric source only');
    }
  }
}
