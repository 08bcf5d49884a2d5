/** The autoscaler's controller on a server in memory. The clock, the usage of pods and the aggregated servers are the
 *  test's. */
import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerSpec,
  MetricSpec,
} from '#api/gen/autoscaling-v2.ts';
import { eventually } from '../../../testing/wait.ts';
import type { NodeSeries } from '../../resource-metrics/series.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { controllerCaller } from '../../verbs/controller-caller.ts';
import { createUpdateCheck } from '../skeleton/changed-fields.fixture.ts';
import { createMemoryPlane } from '../skeleton/memory-plane.fixture.ts';
import { runController } from '../skeleton/run.ts';
import type { AggregatedApis, AggregatedRequest } from '../skeleton/settings.ts';
import { horizontalPodAutoscalerController } from './controller.ts';

const SYNC_MS = 15_000;
export const NS = 'default';
/** Time of every start and sample. */
export const AT = '2020-01-01T00:00:00Z';
const LABELS = { app: 'web' };
const TEMPLATE = { metadata: { labels: LABELS }, spec: { containers: [{ name: 'main', image: 'i' }] } };

/** A utilization of 50 % of the requested CPU. */
export const CPU: MetricSpec = {
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } },
};

/** Everything is named `web`, but for the pods. */
export interface AutoscalerPlane extends AsyncDisposable {
  /** Usage of each pod in millicores. */
  readonly usage: Map<string, number>;
  /** To aggregated servers. */
  readonly requests: AggregatedRequest[];
  /** By path without the query. */
  readonly responses: Map<string, unknown>;
  createPods(...names: readonly string[]): Promise<void>;
  createTarget(replicas: number): Promise<void>;
  createAutoscaler(spec?: Partial<HorizontalPodAutoscalerSpec>): Promise<void>;
  changeAutoscaler(change: Partial<HorizontalPodAutoscalerSpec>): Promise<void>;
  replicas(): number | undefined;
  status(): HorizontalPodAutoscaler['status'];
  /** Status and reason. */
  condition(type: string): string | undefined;
  message(type: string): string | undefined;
  events(): Promise<readonly string[]>;
  /** Waits until it holds; the clock advances by the interval of the controller before each check. */
  until(holds: () => boolean): Promise<unknown>;
  untilEvent(text: string): Promise<unknown>;
}

export async function startAutoscaler(): Promise<AutoscalerPlane> {
  const { host: base, stop } = await createMemoryPlane();
  const check = createUpdateCheck();
  const usage = new Map<string, number>();
  const requests: AggregatedRequest[] = [];
  const responses = new Map<string, unknown>();
  const caller = controllerCaller('test', stop.signal);
  const common = { dryRun: false, fieldManager: 'test', caller } as const;

  function find(group: string, plural: string): Resource {
    const found = base.registry.find(group, 'v1', plural);
    if (found === undefined) throw new Error(`${plural} are not served`);
    return found.stored ?? found;
  }
  function objectOf(group: string, plural: string): ApiObject | undefined {
    return base.cache.resource(find(group, plural).storage).get(`${NS}/web`)?.object();
  }
  async function create(group: string, plural: string, given: object): Promise<void> {
    const resource = find(group, plural);
    const { kind, version } = resource.info;
    const apiVersion = group === '' ? version : `${group}/${version}`;
    const { object } = resource.schema.decode({ apiVersion, kind, ...given });
    await base.verbs.create({ ref: { resource, namespace: NS, name: '' }, object, ...common });
    await base.cache.waitForNewest();
  }
  async function createPod(name: string): Promise<void> {
    const containers = [{ name: 'main', image: 'i', resources: { requests: { cpu: '100m' } } }];
    await create('', 'pods', { metadata: { name, labels: LABELS }, spec: { containers, nodeName: 'n1' } });
    const ready = { type: 'Ready', status: 'True', lastTransitionTime: AT };
    await base.verbs.update({
      ...common,
      ref: { resource: find('', 'pods'), namespace: NS, name },
      subresource: 'status',
      change: (live) => ({ ...live, status: { phase: 'Running', startTime: AT, conditions: [ready] } }),
    });
    await base.cache.waitForNewest();
  }
  function series(): NodeSeries {
    const atMs = base.clock.now();
    const last = { startMs: 1, atMs, memoryBytes: 1024, cpuNs: 0 };
    const pods = [...usage].map(([name, millicores]) => {
      const previous = { ...last, atMs: atMs - 10_000 };
      const containers = new Map([['main', { last: { ...last, cpuNs: millicores * 1e7 }, previous }]]);
      return [`${NS}/${name}`, containers] as const;
    });
    return { node: undefined, pods: new Map(pods) };
  }
  const aggregated: AggregatedApis = {
    versionsOf: (group) => (/^(custom|external)\.metrics/.test(group) ? ['v1beta1'] : []),
    findKind: (group, kind) => (kind === 'Fleet' ? { group, version: 'v1', plural: 'fleets' } : undefined),
    send(request) {
      requests.push(request);
      const response = responses.get(request.path.split('?')[0] ?? '');
      return response === undefined
        ? Promise.reject(new Error('the server is currently unable to handle the request'))
        : Promise.resolve(response);
    },
  };
  const collector = { prepare: () => Promise.resolve(), seriesOf: series };
  const autoscaler = { ...base.settings.autoscaler, collector, aggregated };
  const host = { ...base, settings: { ...base.settings, autoscaler }, observeUpdate: check.observe };
  const controller = new AbortController();
  let isRunning = true;
  const running = runController(horizontalPodAutoscalerController, host, controller.signal).finally(() => {
    isRunning = false;
  });
  const current = (): HorizontalPodAutoscaler => {
    const object = objectOf('autoscaling', 'horizontalpodautoscalers');
    return object === undefined ? {} : typed<HorizontalPodAutoscaler>(object);
  };
  const conditionOf = (type: string) => current().status?.conditions?.find((each) => each.type === type);
  async function events(): Promise<readonly string[]> {
    const cache = base.cache.resource(find('', 'events').storage);
    const { items } = await cache.list({ labels: [], fields: [] });
    return items.map((item) => {
      const { reason, message } = typed<{ reason: string; message: string }>(item.object());
      return `${reason}: ${message}`;
    });
  }

  return {
    usage,
    requests,
    responses,
    createPods: async (...names) => void (await Promise.all(names.map(createPod))),
    createTarget: (replicas) =>
      create('apps', 'deployments', {
        metadata: { name: 'web' },
        spec: { replicas, selector: { matchLabels: LABELS }, template: TEMPLATE },
      }),
    createAutoscaler: (spec = {}) =>
      create('autoscaling', 'horizontalpodautoscalers', {
        metadata: { name: 'web' },
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
          maxReplicas: 10,
          metrics: [CPU],
          ...spec,
        },
      }),
    async changeAutoscaler(changed) {
      await base.verbs.update({
        ...common,
        ref: { resource: find('autoscaling', 'horizontalpodautoscalers'), namespace: NS, name: 'web' },
        change: (live) => ({ ...live, spec: { ...typed<HorizontalPodAutoscaler>(live).spec, ...changed } }),
      });
    },
    replicas() {
      const object = objectOf('apps', 'deployments');
      return object && typed<{ spec?: { replicas?: number } }>(object).spec?.replicas;
    },
    status: () => current().status,
    condition(type) {
      const found = conditionOf(type);
      return found && `${found.status} ${found.reason}`;
    },
    message: (type) => conditionOf(type)?.message,
    events,
    until: (holds) =>
      eventually(() => {
        base.clock.advance(SYNC_MS);
        return holds();
      }),
    untilEvent: (text) => eventually(async () => (await events()).some((each) => each.startsWith(text))),
    async [Symbol.asyncDispose]() {
      controller.abort();
      await eventually(() => {
        base.clock.advance(SYNC_MS);
        return !isRunning;
      });
      await running;
      stop.abort();
      check.assertDeclared();
    },
  };
}
