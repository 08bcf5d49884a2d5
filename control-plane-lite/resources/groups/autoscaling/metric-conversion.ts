/** Conversion of metrics between versions: version 1 stores what it has no field for as text in annotations.
 *  Source: autoscaling/v1, autoscaling/v2. */
import type * as v1 from '#api/gen/autoscaling-v1.ts';
import type * as v2 from '#api/gen/autoscaling-v2.ts';
import type { LabelSelector } from '#api/gen/meta-v1.ts';

type V2Type = v1.MetricSpec['type'];

/** `{[name]: value}`, or nothing for a value that isn't there. */
const optional = <Name extends string, Value>(
  name: Name,
  value: Value | undefined,
): { readonly [Key in Name]?: Value } | object => (value === undefined ? {} : { [name]: value });

const identifier = (name: string, selector: LabelSelector | undefined): v2.MetricIdentifier => ({
  name,
  ...optional('selector', selector),
});

const isZero = (amount: string): boolean => amount === '0' || amount === '';

function objectToV2(source: v1.ObjectMetricSource): v2.ObjectMetricSource {
  const { target, metricName, selector, targetValue, averageValue } = source;
  // Version 1 cannot omit the value and writes zero if there is only an average.
  const value = averageValue !== undefined && isZero(targetValue) ? undefined : targetValue;
  const type = averageValue === undefined ? 'Value' : 'AverageValue';
  return {
    describedObject: target,
    metric: identifier(metricName, selector),
    target: { type, ...optional('value', value), ...optional('averageValue', averageValue) },
  };
}

function externalToV2(source: v1.ExternalMetricSource): v2.ExternalMetricSource {
  const { metricName, metricSelector, targetValue, targetAverageValue } = source;
  return {
    metric: identifier(metricName, metricSelector),
    target: {
      type: targetValue === undefined ? 'AverageValue' : 'Value',
      ...optional('value', targetValue),
      ...optional('averageValue', targetAverageValue),
    },
  };
}

function resourceTargetToV2(source: v1.ResourceMetricSource): v2.MetricTarget {
  const { targetAverageUtilization, targetAverageValue } = source;
  return {
    type: targetAverageUtilization === undefined ? 'AverageValue' : 'Utilization',
    ...optional('averageUtilization', targetAverageUtilization),
    ...optional('averageValue', targetAverageValue),
  };
}

export function metricToV2(metric: v1.MetricSpec): v2.MetricSpec {
  const { type, object, pods, resource, containerResource, external } = metric;
  return {
    type,
    ...(object && { object: objectToV2(object) }),
    ...(pods && {
      pods: {
        metric: identifier(pods.metricName, pods.selector),
        target: { type: 'AverageValue', averageValue: pods.targetAverageValue },
      },
    }),
    ...(resource && { resource: { name: resource.name, target: resourceTargetToV2(resource) } }),
    ...(containerResource && {
      containerResource: {
        name: containerResource.name,
        container: containerResource.container,
        target: resourceTargetToV2(containerResource),
      },
    }),
    ...(external && { external: externalToV2(external) }),
  };
}

/** A type that version 1 doesn't have is refused by validation before it is ever shown. */
const v1Type = (type: string): V2Type =>
  type === 'Object' || type === 'Pods' || type === 'ContainerResource' || type === 'External'
    ? type
    : 'Resource';

const resourceTargetToV1 = ({ averageUtilization, averageValue }: v2.MetricTarget): object => ({
  ...optional('targetAverageUtilization', averageUtilization),
  ...optional('targetAverageValue', averageValue),
});

function externalToV1({ metric, target }: v2.ExternalMetricSource): v1.ExternalMetricSource {
  return {
    metricName: metric.name,
    ...optional('metricSelector', metric.selector),
    ...optional('targetValue', target.value),
    ...optional('targetAverageValue', target.averageValue),
  };
}

function objectToV1({ describedObject, metric, target }: v2.ObjectMetricSource): v1.ObjectMetricSource {
  return {
    target: describedObject,
    metricName: metric.name,
    targetValue: target.value ?? '0',
    ...optional('selector', metric.selector),
    ...optional('averageValue', target.averageValue),
  };
}

export function metricToV1(spec: v2.MetricSpec): v1.MetricSpec {
  const { type, object, pods, resource, containerResource, external } = spec;
  return {
    type: v1Type(type),
    ...(object && { object: objectToV1(object) }),
    ...(pods && {
      pods: {
        metricName: pods.metric.name,
        targetAverageValue: pods.target.averageValue ?? '0',
        ...optional('selector', pods.metric.selector),
      },
    }),
    ...(resource && { resource: { name: resource.name, ...resourceTargetToV1(resource.target) } }),
    ...(containerResource && {
      containerResource: {
        name: containerResource.name,
        container: containerResource.container,
        ...resourceTargetToV1(containerResource.target),
      },
    }),
    ...(external && { external: externalToV1(external) }),
  };
}

const currentToV2 = (current: {
  readonly currentAverageUtilization?: number;
  readonly currentAverageValue: string;
}): v2.MetricValueStatus => ({
  ...optional('averageUtilization', current.currentAverageUtilization),
  averageValue: current.currentAverageValue,
});

export function metricStatusToV2(status: v1.MetricStatus): v2.MetricStatus {
  const { type, object, pods, resource, containerResource, external } = status;
  return {
    type,
    ...(object && {
      object: {
        describedObject: object.target,
        metric: identifier(object.metricName, object.selector),
        current: { value: object.currentValue, ...optional('averageValue', object.averageValue) },
      },
    }),
    ...(pods && {
      pods: {
        metric: identifier(pods.metricName, pods.selector),
        current: { averageValue: pods.currentAverageValue },
      },
    }),
    ...(resource && { resource: { name: resource.name, current: currentToV2(resource) } }),
    ...(containerResource && {
      containerResource: {
        name: containerResource.name,
        container: containerResource.container,
        current: currentToV2(containerResource),
      },
    }),
    ...(external && {
      external: {
        metric: identifier(external.metricName, external.metricSelector),
        current: { value: external.currentValue, ...optional('averageValue', external.currentAverageValue) },
      },
    }),
  };
}

const currentToV1 = ({
  averageUtilization,
  averageValue = '0',
}: v2.MetricValueStatus): {
  readonly currentAverageValue: string;
} => ({ ...optional('currentAverageUtilization', averageUtilization), currentAverageValue: averageValue });

export function metricStatusToV1(status: v2.MetricStatus): v1.MetricStatus {
  const { type, object, pods, resource, containerResource, external } = status;
  return {
    type: v1Type(type),
    ...(object && {
      object: {
        target: object.describedObject,
        metricName: object.metric.name,
        currentValue: object.current.value ?? '0',
        ...optional('selector', object.metric.selector),
        ...optional('averageValue', object.current.averageValue),
      },
    }),
    ...(pods && {
      pods: {
        metricName: pods.metric.name,
        currentAverageValue: pods.current.averageValue ?? '0',
        ...optional('selector', pods.metric.selector),
      },
    }),
    ...(resource && { resource: { name: resource.name, ...currentToV1(resource.current) } }),
    ...(containerResource && {
      containerResource: {
        name: containerResource.name,
        container: containerResource.container,
        ...currentToV1(containerResource.current),
      },
    }),
    ...(external && {
      external: {
        metricName: external.metric.name,
        currentValue: external.current.value ?? '0',
        ...optional('metricSelector', external.metric.selector),
        ...optional('currentAverageValue', external.current.averageValue),
      },
    }),
  };
}
