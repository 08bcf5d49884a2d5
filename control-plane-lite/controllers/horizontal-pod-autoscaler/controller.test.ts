/** The controller on a server in memory: targets, statuses, conditions, events and sources of metrics. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { HorizontalPodAutoscalerBehavior, MetricSpec } from '#api/gen/autoscaling-v2.ts';
import { eventually } from '../../../testing/wait.ts';
import { AT, type AutoscalerPlane, CPU, NS, startAutoscaler } from './autoscaler-plane.fixture.ts';

let plane: AutoscalerPlane;

beforeEach(async () => {
  plane = await startAutoscaler();
});
afterEach(() => plane[Symbol.asyncDispose]());

const shrinkingAfter = (stabilizationWindowSeconds: number): HorizontalPodAutoscalerBehavior => ({
  scaleUp: {
    stabilizationWindowSeconds: 0,
    selectPolicy: 'Max',
    policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
  },
  scaleDown: {
    stabilizationWindowSeconds,
    selectPolicy: 'Max',
    policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
  },
});

describe('a target', () => {
  test('grows with its usage and shrinks after the window', async () => {
    await plane.createTarget(2);
    await plane.createPods('a', 'b');
    for (const name of ['a', 'b']) plane.usage.set(name, 100);
    await plane.createAutoscaler();
    // Each change of the specification is calculated at once, without the clock.
    await eventually(() => plane.condition('AbleToScale') === 'True SucceededRescale');
    expect(plane.replicas()).toBe(4);
    expect(plane.status()).toMatchObject({
      currentReplicas: 2,
      desiredReplicas: 4,
      lastScaleTime: expect.any(String) as string,
      currentMetrics: [
        {
          type: 'Resource',
          resource: { name: 'cpu', current: { averageUtilization: 100, averageValue: '100m' } },
        },
      ],
    });
    expect(plane.condition('ScalingActive')).toBe('True ValidMetricFound');
    await plane.untilEvent(
      'SuccessfulRescale: New size: 4; reason: cpu resource utilization (percentage of request) above target',
    );
    await plane.createPods('c', 'd');
    for (const name of ['a', 'b', 'c', 'd']) plane.usage.set(name, 1);
    await plane.changeAutoscaler({ behavior: shrinkingAfter(3600) });
    await eventually(() => plane.condition('AbleToScale') === 'True ScaleDownStabilized');
    expect(plane.replicas()).toBe(4);
    await plane.changeAutoscaler({ behavior: shrinkingAfter(0) });
    await eventually(() => plane.status()?.desiredReplicas === 1);
    expect(plane.replicas()).toBe(1);
    await plane.untilEvent('SuccessfulRescale: New size: 1; reason: All metrics below target');
  });

  test.each([
    [
      'below the minimum',
      1,
      { minReplicas: 3 },
      3,
      'New size: 3; reason: Current number of replicas below Spec.MinReplicas',
    ],
    [
      'above the maximum',
      9,
      { maxReplicas: 5 },
      5,
      'New size: 5; reason: Current number of replicas above Spec.MaxReplicas',
    ],
  ])('%s is set without metrics', async (_, current, spec, expected, text) => {
    await plane.createTarget(current);
    await plane.createAutoscaler(spec);
    await plane.until(() => plane.replicas() === expected);
    expect(plane.condition('ScalingActive')).toBeUndefined();
    await plane.untilEvent(`SuccessfulRescale: ${text}`);
  });

  test('without replicas is left alone', async () => {
    await plane.createTarget(0);
    await plane.createAutoscaler();
    await plane.until(() => plane.condition('ScalingActive') === 'False ScalingDisabled');
    expect(plane.replicas()).toBe(0);
  });

  test('without metrics keeps its size', async () => {
    await plane.createTarget(2);
    await plane.createPods('a');
    await plane.createAutoscaler();
    await plane.until(() => plane.condition('ScalingActive') === 'False FailedGetResourceMetric');
    expect(plane.message('ScalingActive')).toBe(
      'the HPA was unable to compute the replica count: failed to get cpu utilization: unable to get metrics for resource cpu: no metrics returned from resource metrics API',
    );
    expect(plane.status()).toMatchObject({ currentReplicas: 2, desiredReplicas: 0 });
    await plane.untilEvent('FailedComputeMetricsReplicas: invalid metrics (1 invalid out of 1)');
  });

  test.each([
    [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }, 'deployments.apps "web" not found'],
    [
      { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'web' },
      'the server could not find the requested resource',
    ],
    [
      { apiVersion: 'x.example/v1', kind: 'Thing', name: 'web' },
      'no matches for kind "Thing" in group "x.example"',
    ],
    [{ apiVersion: 'a/b/c', kind: 'Deployment', name: 'web' }, 'unexpected GroupVersion string: a/b/c'],
  ])('%j cannot be scaled', async (scaleTargetRef, reason) => {
    await plane.createAutoscaler({ scaleTargetRef });
    await plane.until(() => plane.condition('AbleToScale') === 'False FailedGetScale');
    expect(plane.message('AbleToScale')).toBe(
      `the HPA controller was unable to get the target's current scale: ${reason}`,
    );
    await plane.untilEvent(`FailedGetScale: ${reason}`);
  });

  test('of an aggregated server is read and set there', async () => {
    const scale = {
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata: { name: 'web', namespace: NS, resourceVersion: '7' },
      spec: { replicas: 1 },
      status: { replicas: 1, selector: 'app=web' },
    };
    plane.responses.set(`/namespaces/${NS}/fleets/web/scale`, scale);
    await plane.createAutoscaler({
      scaleTargetRef: { apiVersion: 'x.example/v1', kind: 'Fleet', name: 'web' },
      minReplicas: 2,
    });
    await plane.until(() => plane.requests.some(({ method }) => method === 'PUT'));
    expect(plane.requests.find(({ method }) => method === 'PUT')).toMatchObject({
      group: 'x.example',
      version: 'v1',
      body: { spec: { replicas: 2 }, metadata: { resourceVersion: '7' } },
    });
    await plane.until(() => plane.condition('AbleToScale') === 'True SucceededRescale');
  });
});

describe('metrics', () => {
  const items = (value: string, ...pods: readonly string[]): object => ({
    items: pods.map((name) => ({ describedObject: { kind: 'Pod', name }, timestamp: AT, value })),
  });
  const metric = { name: 'requests', selector: { matchLabels: { verb: 'GET' } } };

  test.each<[string, MetricSpec, string, object, string]>([
    [
      'of pods',
      { type: 'Pods', pods: { metric, target: { type: 'AverageValue', averageValue: '10' } } },
      `/namespaces/${NS}/pods/*/requests`,
      items('20', 'a', 'b'),
      'pods metric requests',
    ],
    [
      'of an object',
      {
        type: 'Object',
        object: {
          describedObject: { apiVersion: 'v1', kind: 'Service', name: 'web' },
          metric,
          target: { type: 'Value', value: '10' },
        },
      },
      `/namespaces/${NS}/services/web/requests`,
      items('20', 'web'),
      'Service metric requests',
    ],
    [
      'of an object by pod',
      {
        type: 'Object',
        object: {
          describedObject: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
          metric,
          target: { type: 'AverageValue', averageValue: '5' },
        },
      },
      `/namespaces/${NS}/deployments.apps/web/requests`,
      items('20', 'web'),
      'external metric requests(verb=GET)',
    ],
    [
      'of the namespace',
      {
        type: 'Object',
        object: {
          describedObject: { apiVersion: 'v1', kind: 'Namespace', name: 'elsewhere' },
          metric,
          target: { type: 'Value', value: '10' },
        },
      },
      `/namespaces/${NS}/metrics/requests`,
      items('20', NS),
      'Namespace metric requests',
    ],
    [
      'from outside',
      { type: 'External', external: { metric, target: { type: 'AverageValue', averageValue: '10' } } },
      `/namespaces/${NS}/requests`,
      items('20', 'x', 'y'),
      'external metric requests(verb=GET)',
    ],
  ])('%s scale their target', async (_, spec, path, response, name) => {
    plane.responses.set(path, response);
    await plane.createTarget(2);
    await plane.createPods('a', 'b');
    await plane.createAutoscaler({ metrics: [spec] });
    await plane.until(() => plane.replicas() === 4);
    await plane.until(() => plane.condition('ScalingActive') === 'True ValidMetricFound');
    expect(plane.message('ScalingActive')).toContain(name);
    const query = new URLSearchParams(plane.requests[0]?.path.split('?')[1]);
    expect([query.get('metricLabelSelector'), query.get('labelSelector')]).toContain('verb=GET');
  });

  test('a failing one prevents that the target shrinks, but not that it grows', async () => {
    await plane.createTarget(2);
    await plane.createPods('a', 'b');
    for (const name of ['a', 'b']) plane.usage.set(name, 1);
    const failing: MetricSpec = {
      type: 'External',
      external: { metric, target: { type: 'Value', value: '1' } },
    };
    await plane.createAutoscaler({ metrics: [failing, CPU] });
    await plane.until(() => plane.condition('ScalingActive') === 'False FailedGetExternalMetric');
    expect(plane.replicas()).toBe(2);
    for (const name of ['a', 'b']) plane.usage.set(name, 100);
    await plane.until(() => plane.replicas() === 4);
    await plane.until(() => plane.status()?.currentMetrics?.length === 2);
    expect(plane.status()?.currentMetrics?.map(({ type }) => type)).toEqual(['', 'Resource']);
  });
});

test('a changed specification applies at once', async () => {
  await plane.createTarget(1);
  await plane.createAutoscaler();
  await eventually(() => plane.condition('AbleToScale') !== undefined);
  await plane.changeAutoscaler({ minReplicas: 3 });
  await eventually(() => plane.status()?.desiredReplicas === 3);
  expect(plane.replicas()).toBe(3);
});
