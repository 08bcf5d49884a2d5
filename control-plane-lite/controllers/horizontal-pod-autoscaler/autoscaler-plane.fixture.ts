/** The autoscaler's controller on a server in memory. The clock, the usage of pods and the aggregated servers are the
 *  test's. */
import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerCondition,
  HorizontalPodAutoscalerSpec,
  MetricSpec,
} from '#api/gen/autoscaling-v2.ts';
import { eventually } from '../../../testing/wait.ts';
import type { NodeSeries } from '../../resource-metrics/series.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { controllerCaller } from '../../verbs/controller-caller.ts';
import { createUpdateCheck } from '../skeleton/changed-fields.fixture.ts';
import { createMemoryPlane, type MemoryPlane } from '../skeleton/memory-plane.fixture.ts';
import { runController } from '../skeleton/run.ts';
import type { AggregatedApis, AggregatedRequest, AutoscalerSettings } from '../skeleton/settings.ts';
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

type Host = MemoryPlane['host'];

interface Objects {
  /** Of the object named `web`. */
  find(group: string, plural: string): ApiObject | undefined;
  create(group: string, plural: string, given: object): Promise<void>;
  createPod(name: string): Promise<void>;
  change(group: string, plural: string, name: string, change: object, subresource?: string): Promise<void>;
  events(): Promise<readonly string[]>;
}

function createObjects({ registry, cache, verbs }: Host, signal: AbortSignal): Objects {
  const caller = controllerCaller('test', signal);
  const common = { dryRun: false, fieldManager: 'test', caller } as const;
  function resourceOf(group: string, plural: string): Resource {
    const found = registry.find(group, 'v1', plural);
    if (found === undefined) throw new Error(`${plural} are not served`);
    return found.stored ?? found;
  }
  async function create(group: string, plural: string, given: object): Promise<void> {
    const resource = resourceOf(group, plural);
    const { kind, version } = resource.info;
    const apiVersion = group === '' ? version : `${group}/${version}`;
    const { object } = resource.schema.decode({ apiVersion, kind, ...given });
    await verbs.create({ ref: { resource, namespace: NS, name: '' }, object, ...common });
    await cache.waitForNewest();
  }
  const change: Objects['change'] = async (group, plural, name, members, subresource) => {
    const ref = { resource: resourceOf(group, plural), namespace: NS, name };
    const part = subresource === undefined ? {} : { subresource };
    await verbs.update({ ...common, ...part, ref, change: (live) => ({ ...live, ...members }) });
    await cache.waitForNewest();
  };
  return {
    find: (group, plural) => cache.resource(resourceOf(group, plural).storage).get(`${NS}/web`)?.object(),
    create,
    change,
    async createPod(name) {
      const containers = [{ name: 'main', image: 'i', resources: { requests: { cpu: '100m' } } }];
      await create('', 'pods', { metadata: { name, labels: LABELS }, spec: { containers, nodeName: 'n1' } });
      const ready = { type: 'Ready', status: 'True', lastTransitionTime: AT };
      const status = { phase: 'Running', startTime: AT, conditions: [ready] };
      await change('', 'pods', name, { status }, 'status');
    },
    async events() {
      const { items } = await cache
        .resource(resourceOf('', 'events').storage)
        .list({ labels: [], fields: [] });
      return items.map((item) => {
        const { reason, message } = typed<{ reason: string; message: string }>(item.object());
        return `${reason}: ${message}`;
      });
    },
  };
}

type Sources = Pick<AutoscalerPlane, 'usage' | 'requests' | 'responses'> & {
  readonly settings: Pick<AutoscalerSettings, 'collector' | 'aggregated'>;
};

function createSources(nowMs: () => number): Sources {
  const usage = new Map<string, number>();
  const requests: AggregatedRequest[] = [];
  const responses = new Map<string, unknown>();
  function seriesOf(): NodeSeries {
    const last = { startMs: 1, atMs: nowMs(), memoryBytes: 1024, cpuNs: 0 };
    const pods = [...usage].map(([name, millicores]) => {
      const previous = { ...last, atMs: last.atMs - 10_000 };
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
  const collector = { prepare: () => Promise.resolve(), seriesOf };
  return { usage, requests, responses, settings: { collector, aggregated } };
}

/** What tests see of the objects named `web`. */
function observe(objects: Objects): Pick<AutoscalerPlane, 'replicas' | 'status' | 'condition' | 'message'> {
  const status = (): HorizontalPodAutoscaler['status'] => {
    const object = objects.find('autoscaling', 'horizontalpodautoscalers');
    return object && typed<HorizontalPodAutoscaler>(object).status;
  };
  const conditionOf = (type: string): HorizontalPodAutoscalerCondition | undefined =>
    status()?.conditions?.find((each) => each.type === type);
  return {
    status,
    replicas() {
      const object = objects.find('apps', 'deployments');
      return object && typed<{ spec?: { replicas?: number } }>(object).spec?.replicas;
    },
    condition(type) {
      const found = conditionOf(type);
      return found && `${found.status} ${found.reason}`;
    },
    message: (type) => conditionOf(type)?.message,
  };
}

export async function startAutoscaler(): Promise<AutoscalerPlane> {
  const { host: base, stop } = await createMemoryPlane();
  const check = createUpdateCheck();
  const { settings, ...sources } = createSources(() => base.clock.now());
  const objects = createObjects(base, stop.signal);
  const autoscaler = { ...base.settings.autoscaler, ...settings };
  const host = { ...base, settings: { ...base.settings, autoscaler }, observeUpdate: check.observe };
  const controller = new AbortController();
  let isRunning = true;
  const running = runController(horizontalPodAutoscalerController, host, controller.signal).finally(() => {
    isRunning = false;
  });
  const until = (holds: () => boolean): Promise<unknown> =>
    eventually(async () => {
      await base.clock.advance(SYNC_MS);
      return holds();
    });
  return {
    ...sources,
    ...observe(objects),
    createPods: async (...names) => void (await Promise.all(names.map((name) => objects.createPod(name)))),
    createTarget: (replicas) =>
      objects.create('apps', 'deployments', {
        metadata: { name: 'web' },
        spec: { replicas, selector: { matchLabels: LABELS }, template: TEMPLATE },
      }),
    createAutoscaler: (spec = {}) =>
      objects.create('autoscaling', 'horizontalpodautoscalers', {
        metadata: { name: 'web' },
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
          maxReplicas: 10,
          metrics: [CPU],
          ...spec,
        },
      }),
    async changeAutoscaler(changed) {
      const object = objects.find('autoscaling', 'horizontalpodautoscalers');
      const spec = { ...(object && typed<HorizontalPodAutoscaler>(object).spec), ...changed };
      await objects.change('autoscaling', 'horizontalpodautoscalers', 'web', { spec });
    },
    events: () => objects.events(),
    until,
    untilEvent: (text) =>
      eventually(async () => (await objects.events()).some((each) => each.startsWith(text))),
    async [Symbol.asyncDispose]() {
      controller.abort();
      await until(() => !isRunning);
      await running;
      stop.abort();
      check.assertDeclared();
    },
  };
}
