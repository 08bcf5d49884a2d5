/** Calculations of features that gates enable: a target without replicas, and metrics of one container. */
import { expect, test } from 'vitest';
import type { HorizontalPodAutoscalerSpec, MetricSpec } from '#api/gen/autoscaling-v2.ts';
import { metric, NOW, pod } from './autoscaler.fixture.ts';
import { type AutoscalerResult, runAutoscaler } from './autoscaler.ts';
import type { MetricSources } from './sources.ts';

const unused = (): never => {
  throw new Error('not available in this test');
};

interface Given {
  readonly replicas: number;
  readonly metric: MetricSpec;
  readonly sources: Partial<MetricSources>;
  readonly spec?: Partial<HorizontalPodAutoscalerSpec>;
}

async function calculate({ replicas, metric: only, sources, spec = {} }: Given): Promise<AutoscalerResult> {
  const scaleTargetRef = { kind: 'Deployment', name: 'web', apiVersion: 'apps/v1' };
  const limits = {
    syncPeriodMs: 15_000,
    downscaleWindowMs: 0,
    tolerance: 0.1,
    cpuInitializationMs: 0,
    initialReadinessMs: 0,
  };
  return runAutoscaler(
    {
      limits,
      sources: { resource: unused, pods: unused, object: unused, external: unused, ...sources },
      findTarget: () =>
        Promise.resolve({
          specReplicas: replicas,
          statusReplicas: replicas,
          selector: 'app=web',
          setReplicas: () => Promise.resolve(),
        }),
      podsOf: () => Promise.resolve(Array.from({ length: replicas }, (_, index) => pod(`p${index}`, 100))),
      record: () => undefined,
      now: () => NOW,
    },
    {
      namespace: 'default',
      spec: { scaleTargetRef, maxReplicas: 10, metrics: [only], ...spec },
      status: undefined,
      history: { recommendations: [], ups: [], downs: [] },
    },
  );
}

const QUEUE: MetricSpec = {
  type: 'External',
  external: { metric: { name: 'queue' }, target: { type: 'Value', value: '10' } },
};

test.each<[string, number, bigint, number]>([
  ['starts with work', 0, 25_000n, 3],
  ['stays at zero without work', 0, 0n, 0],
  ['ends without work', 2, 0n, 0],
])('a target whose minimum is zero %s', async (_, replicas, length, desiredReplicas) => {
  const sources = { external: () => Promise.resolve(length) };
  const { status, error } = await calculate({ replicas, metric: QUEUE, sources, spec: { minReplicas: 0 } });
  expect({ error, desiredReplicas: status.desiredReplicas }).toEqual({ error: undefined, desiredReplicas });
});

test('a metric of one container', async () => {
  const { status } = await calculate({
    replicas: 2,
    metric: {
      type: 'ContainerResource',
      containerResource: {
        name: 'cpu',
        container: 'main',
        target: { type: 'Utilization', averageUtilization: 50 },
      },
    },
    sources: {
      resource(_, resource, container) {
        expect([resource, container]).toEqual(['cpu', 'main']);
        return Promise.resolve(new Map(['p0', 'p1'].map((name) => [name, metric(100n)])));
      },
    },
  });
  expect(status).toMatchObject({
    desiredReplicas: 4,
    currentMetrics: [
      {
        type: 'ContainerResource',
        containerResource: {
          name: 'cpu',
          container: 'main',
          current: { averageUtilization: 100, averageValue: '100m' },
        },
      },
    ],
  });
});

test('the conditions of a limited rescale are in upstream’s order', async () => {
  const sources = { external: () => Promise.resolve(90_000n) };
  const { status } = await calculate({ replicas: 1, metric: QUEUE, sources, spec: { maxReplicas: 3 } });
  expect(status.conditions?.map(({ type, reason }) => `${type} ${reason}`)).toEqual([
    'AbleToScale SucceededRescale',
    'ScalingActive ValidMetricFound',
    'ScalingLimited TooManyReplicas',
  ]);
});
