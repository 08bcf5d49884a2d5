/** Autoscaling with nothing added: real load in a container of a joined node grows its Deployment by way of the metrics
 *  API, and the Deployment shrinks again without it. By upstream's client. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Deployment } from '#api/gen/apps-v1.ts';
import type { HorizontalPodAutoscaler } from '#api/gen/autoscaling-v2.ts';
import { isReady } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import { sh, WAIT } from '../lifecycle/support.ts';
import { useKubectl } from '../plane-clients/kubectl.ts';
import { type Cluster, startCluster } from './support.ts';

const SERVER_FLAGS = [
  '--horizontal-pod-autoscaler-sync-period=1s',
  '--horizontal-pod-autoscaler-cpu-initialization-period=0s',
  '--horizontal-pod-autoscaler-initial-readiness-delay=0s',
];
const MOST = 3;

/** A small request: on the busiest machine, a loop uses more than half of it. */
const DEPLOYMENT: Deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [sh('main', WAIT, { resources: { requests: { cpu: '20m' } } })],
      },
    },
  },
};
const START = 'while :; do :; done </dev/null >/dev/null 2>&1 & echo $! >/load';
const STOP = 'kill $(cat /load)';
const SHRINK_AT_ONCE = JSON.stringify({
  spec: { behavior: { scaleDown: { stabilizationWindowSeconds: 0 } } },
});
const PATIENCE = { timeoutMs: 120_000, intervalMs: 250 };

describe('kubectl autoscale', { timeout: 300_000 }, () => {
  let cluster: Cluster;
  const { ok } = useKubectl(() => cluster.configFile);
  beforeAll(async () => {
    cluster = await startCluster(1, SERVER_FLAGS);
  }, 240_000);
  afterAll(() => cluster[Symbol.asyncDispose](), 120_000);

  const readyPods = async (): Promise<readonly string[]> =>
    (await cluster.pods('app=web')).filter(isReady).map(({ metadata }) => metadata?.name ?? '');
  async function status(): Promise<HorizontalPodAutoscaler['status']> {
    const { body } = await cluster
      .server()
      .call('GET', '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/web');
    return (body as HorizontalPodAutoscaler).status;
  }

  test('grows a Deployment under load, and shrinks it afterwards', async () => {
    const created = await cluster
      .server()
      .call('POST', '/apis/apps/v1/namespaces/default/deployments', DEPLOYMENT);
    expect(created.status).toBe(201);
    const loaded = await eventually(async () => (await readyPods())[0], PATIENCE);
    // The agent's serving certificate is issued a moment after it joined.
    await eventually(
      async () => (await ok(['exec', loaded, '--', 'echo', 'reached'])) === 'reached',
      PATIENCE,
    );
    await ok(['exec', loaded, '--', 'sh', '-c', START]);
    await ok(['autoscale', 'deployment', 'web', '--cpu-percent=50', '--min=1', `--max=${MOST}`]);
    await ok(['patch', 'hpa', 'web', '--type=merge', '-p', SHRINK_AT_ONCE]);
    await eventually(async () => (await readyPods()).length === MOST, {
      ...PATIENCE,
      what: 'all pods are ready',
    });
    expect(await ok(['get', 'events', '--field-selector=reason=SuccessfulRescale', '-o=wide'])).toContain(
      'cpu resource utilization (percentage of request) above target',
    );

    await ok(['exec', loaded, '--', 'sh', '-c', STOP]);
    await eventually(async () => (await cluster.pods('app=web')).length === 1, {
      ...PATIENCE,
      what: 'a single pod is left',
    });
    await eventually(async () => (await status())?.currentReplicas === 1, PATIENCE);
    const { conditions = [], lastScaleTime } = (await status()) ?? {};
    expect(conditions.map(({ type }) => type)).toEqual(['AbleToScale', 'ScalingActive', 'ScalingLimited']);
    expect(lastScaleTime).toBeDefined();
  });

  test('top shows the pods and their containers', async () => {
    const rows = await eventually(() => ok(['top', 'pods', '--containers', '--no-headers']), PATIENCE);
    const pods = rows.split('\n');
    expect(pods.map((row) => row.split(/\s+/)[1])).toEqual(['main']);
    expect(await ok(['top', 'nodes', '--no-headers'])).toContain(cluster.nodes[0]?.name);
  });
});
