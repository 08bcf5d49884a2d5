/** Workload controllers. The test simulates the nodes and decides when pods start and end. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../testing/wait.ts';
import {
  eventsOf,
  isGoing,
  isReady,
  phaseOf,
  type SimulatedAgents,
  startSimulatedAgents,
} from './simulated-agents.ts';
import { type Body, type Json, type Plane, STRATEGIC, usePlane, workload } from './support.ts';

const WAIT = { timeoutMs: 20_000 };
const TEMPLATE_HASH = 'pod-template-hash';

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
}

const conditionOf = ({ status }: Body, type: string): Condition | undefined =>
  (status['conditions'] as readonly Condition[] | undefined)?.find((each) => each.type === type);

const imageOf = ({ spec }: Body): string =>
  (spec['containers'] as readonly { image: string }[] | undefined)?.[0]?.image ?? '';

const names = (items: readonly Body[]): readonly string[] => items.map(({ metadata }) => metadata.name ?? '');

const jobSpec = (spec: Json, labels: Json = {}): Json => ({
  ...spec,
  template: {
    metadata: { labels },
    spec: { containers: [{ name: 'main', image: 'busybox' }], restartPolicy: 'Never' },
  },
});

/** A template with another image. */
const withImage = (image: string): Json => ({
  spec: { template: { spec: { containers: [{ name: 'main', image }] } } },
});

interface World {
  readonly plane: Plane;
  readonly agents: () => SimulatedAgents;
  /** A path below a namespace of a test: `at(ns, 'apps/v1', 'deployments/web')`. */
  readonly at: (namespace: string, groupVersion: string, rest: string) => string;
  readonly pods: (namespace: string) => Promise<readonly Body[]>;
}

/** A node that is ready, and never was anything else. */
async function addNode(plane: Plane, name: string): Promise<void> {
  const resources = { cpu: '64', memory: '64Gi', pods: '110' };
  const status = { capacity: resources, allocatable: resources };
  await plane.post('/api/v1/nodes', { metadata: { name }, status });
  await plane.patch(`/api/v1/nodes/${name}`, { spec: { taints: null } });
}

/** Nodes send no heartbeats here, so the check for them is off. */
function useWorld(vocabulary: 'plat' | 'kubernetes', ...flags: readonly string[]): World {
  const plane = usePlane(vocabulary, ['--controllers=*,-nodelifecycle', ...flags]);
  let agents: SimulatedAgents | undefined;
  beforeAll(async () => {
    for (const name of ['n1', 'n2', 'n3']) await addNode(plane, name);
    agents = startSimulatedAgents(plane);
  });
  afterAll(async () => {
    await agents?.[Symbol.asyncDispose]();
  });
  return {
    plane,
    agents: () => {
      if (agents === undefined) throw new Error('it was started before');
      return agents;
    },
    at: (namespace, groupVersion, rest) =>
      plane.path(groupVersion, `namespaces/${namespace.split('/').at(-1) ?? ''}/${rest}`),
    pods: async (namespace) => (await plane.get(`${namespace}/pods`)).body.items,
  };
}

/** Resolves when the object is as wanted, with what it is then. */
const until = (plane: Plane, path: string, isWanted: (body: Body) => boolean, what: string): Promise<Body> =>
  eventually(
    async () => {
      const { body } = await plane.get(path);
      return isWanted(body) ? body : undefined;
    },
    { ...WAIT, what },
  );

/** Resolves when all pods have this image: terminating ones may exist for a moment longer. */
const untilImage = (pods: () => Promise<readonly Body[]>, image: string): Promise<unknown> =>
  eventually(async () => (await pods()).every((pod) => imageOf(pod) === image), {
    ...WAIT,
    what: `only pods of ${image}`,
  });

const isRolledOut =
  (replicas: number, generation?: number) =>
  ({ status, metadata }: Body): boolean =>
    status['observedGeneration'] === metadata.generation &&
    (generation === undefined || metadata.generation === generation) &&
    (status['replicas'] ?? 0) === replicas &&
    (status['updatedReplicas'] ?? 0) === replicas &&
    (status['availableReplicas'] ?? 0) === replicas;

/** Looks at every event of the pods whether what was promised holds. */
interface Bounds extends AsyncDisposable {
  readonly events: number;
  readonly least: number;
  readonly most: number;
}

function watchBounds(plane: Plane, namespace: string): Bounds {
  const controller = new AbortController();
  const pods = new Map<string, Body>();
  const seen = { events: 0, least: Number.POSITIVE_INFINITY, most: 0 };
  let full = false;
  async function run(): Promise<void> {
    for await (const { type, object } of eventsOf(plane, `${namespace}/pods`, controller.signal)) {
      const name = object.metadata.name ?? '';
      if (type === 'DELETED') pods.delete(name);
      else pods.set(name, object);
      const staying = [...pods.values()].filter((pod) => !isGoing(pod));
      const ready = staying.filter(isReady).length;
      // Before the state is there, there is nothing to hold.
      full ||= ready === 6;
      if (!full) continue;
      seen.events += 1;
      seen.least = Math.min(seen.least, ready);
      seen.most = Math.max(seen.most, staying.length);
    }
  }
  const running = run();
  return {
    get events() {
      return seen.events;
    },
    get least() {
      return seen.least;
    },
    get most() {
      return seen.most;
    },
    async [Symbol.asyncDispose]() {
      controller.abort();
      await running;
    },
  };
}

describe('kubernetes', () => {
  const { plane, agents, at, pods } = useWorld('kubernetes');

  test('a Deployment is updated within its bounds, goes back, is scaled, and cleans up', async () => {
    const ns = await plane.namespace();
    const path = at(ns, 'apps/v1', 'deployments/web');
    const strategy = { rollingUpdate: { maxSurge: 2, maxUnavailable: 1 } };
    await plane.post(
      at(ns, 'apps/v1', 'deployments'),
      workload('Deployment', 'web', { replicas: 6, strategy, revisionHistoryLimit: 1 }),
    );
    await until(plane, path, isRolledOut(6), 'first pods');
    const revision = `deployment.${plane.words.domain}/revision`;
    await using bounds = watchBounds(plane, ns);
    await eventually(() => bounds.events > 0, WAIT);

    await plane.patch(path, withImage('busybox:2'), STRATEGIC);
    const updated = await until(plane, path, isRolledOut(6, 2), 'update');
    expect(updated.metadata.annotations?.[revision]).toBe('2');
    expect(conditionOf(updated, 'Progressing')).toMatchObject({
      status: 'True',
      reason: 'NewReplicaSetAvailable',
    });
    expect(conditionOf(updated, 'Available')).toMatchObject({ status: 'True' });
    await untilImage(() => pods(ns), 'busybox:2');
    expect(await pods(ns)).toHaveLength(6);

    await plane.patch(path, withImage('busybox'), STRATEGIC);
    const back = await until(plane, path, isRolledOut(6, 3), 'rollback');
    expect(back.metadata.annotations?.[revision]).toBe('3');
    const sets = (await plane.get(at(ns, 'apps/v1', 'replicasets'))).body.items;
    expect(sets).toHaveLength(2);
    await untilImage(() => pods(ns), 'busybox');
    expect(new Set((await pods(ns)).map(({ metadata }) => metadata.labels?.[TEMPLATE_HASH])).size).toBe(1);
    expect(bounds.events).toBeGreaterThan(20);
    expect(bounds.least).toBeGreaterThanOrEqual(5);
    expect(bounds.most).toBeLessThanOrEqual(8);
    await bounds[Symbol.asyncDispose]();

    await plane.patch(`${path}/scale`, { spec: { replicas: 2 } });
    await until(plane, path, isRolledOut(2), 'scale');
    await plane.patch(path, withImage('busybox:3'), STRATEGIC);
    await until(plane, path, isRolledOut(2, 5), 'third version');
    await eventually(
      async () => (await plane.get(at(ns, 'apps/v1', 'replicasets'))).body.items.length === 2,
      { ...WAIT, what: 'history of one' },
    );
    await plane.delete(path);
    await eventually(async () => (await pods(ns)).length === 0, { ...WAIT, what: 'no pods' });
  });

  test('an update without progress stops, reports it, and resumes', async () => {
    const ns = await plane.namespace();
    const path = at(ns, 'apps/v1', 'deployments/stuck');
    await plane.post(
      at(ns, 'apps/v1', 'deployments'),
      workload('Deployment', 'stuck', { replicas: 3, progressDeadlineSeconds: 1 }),
    );
    await until(plane, path, isRolledOut(3), 'first pods');
    agents().decide((pod) => (imageOf(pod) === 'broken' ? 'Pending' : 'Running'));
    await plane.patch(path, withImage('broken'), STRATEGIC);
    await until(
      plane,
      path,
      (body) =>
        conditionOf(body, 'Progressing')?.reason === 'ProgressDeadlineExceeded' &&
        body.status['updatedReplicas'] === 1 &&
        body.status['availableReplicas'] === 3,
      'deadline',
    );
    await plane.patch(path, withImage('busybox'), STRATEGIC);
    const back = await until(plane, path, isRolledOut(3, 3), 'rollback');
    expect(conditionOf(back, 'Progressing')).toMatchObject({ reason: 'NewReplicaSetAvailable' });
    agents().decide(() => 'Running');
  });

  test('a paused Deployment changes its number of pods and nothing else', async () => {
    const ns = await plane.namespace();
    const path = at(ns, 'apps/v1', 'deployments/calm');
    await plane.post(at(ns, 'apps/v1', 'deployments'), workload('Deployment', 'calm', { replicas: 2 }));
    await until(plane, path, isRolledOut(2), 'first pods');
    await plane.patch(path, { spec: { paused: true } });
    await plane.patch(
      path,
      { spec: { replicas: 3, ...(withImage('busybox:2')['spec'] as Json) } },
      STRATEGIC,
    );
    const paused = await until(plane, path, ({ status }) => status['availableReplicas'] === 3, 'scale');
    expect(conditionOf(paused, 'Progressing')).toMatchObject({ reason: 'DeploymentPaused' });
    expect((await pods(ns)).map(imageOf)).toEqual(['busybox', 'busybox', 'busybox']);
    await plane.patch(path, { spec: { paused: false } });
    await until(plane, path, isRolledOut(3), 'update');
    await untilImage(() => pods(ns), 'busybox:2');
    expect(await pods(ns)).toHaveLength(3);
  });

  test('a recreating Deployment never has pods of two versions', async () => {
    const ns = await plane.namespace();
    const path = at(ns, 'apps/v1', 'deployments/alone');
    await plane.post(
      at(ns, 'apps/v1', 'deployments'),
      workload('Deployment', 'alone', { replicas: 3, strategy: { type: 'Recreate' } }),
    );
    await until(plane, path, isRolledOut(3), 'first pods');
    const controller = new AbortController();
    const versions = new Map<string, string>();
    let mixed = false;
    const watching = (async (): Promise<void> => {
      for await (const { type, object } of eventsOf(plane, `${ns}/pods`, controller.signal)) {
        if (type === 'DELETED') versions.delete(object.metadata.name ?? '');
        else versions.set(object.metadata.name ?? '', imageOf(object));
        mixed ||= new Set(versions.values()).size > 1;
      }
    })();
    await eventually(() => versions.size === 3, WAIT);
    await plane.patch(path, withImage('busybox:2'), STRATEGIC);
    await until(plane, path, isRolledOut(3, 2), 'update');
    await eventually(() => [...versions.values()].every((image) => image === 'busybox:2'), WAIT);
    controller.abort();
    await watching;
    expect(mixed).toBe(false);
  });

  test('a ReplicaSet adopts pods that it selects, releases those that it does not, and replaces deleted ones', async () => {
    const ns = await plane.namespace();
    const path = at(ns, 'apps/v1', 'replicasets/set');
    await plane.post(`${ns}/pods`, {
      metadata: { name: 'orphan', labels: { app: 'set' } },
      spec: { containers: [{ name: 'main', image: 'busybox' }] },
    });
    await plane.post(at(ns, 'apps/v1', 'replicasets'), workload('ReplicaSet', 'set', { replicas: 2 }));
    await until(plane, path, ({ status }) => status['availableReplicas'] === 2, 'two pods');
    const { body: orphan } = await plane.get(`${ns}/pods/orphan`);
    expect(orphan.metadata.ownerReferences).toMatchObject([
      { kind: 'ReplicaSet', name: 'set', controller: true },
    ]);
    await plane.patch(`${ns}/pods/orphan`, { metadata: { labels: { app: 'other' } } });
    await until(
      plane,
      `${ns}/pods/orphan`,
      ({ metadata }) => metadata.ownerReferences === undefined,
      'release',
    );
    await eventually(async () => (await pods(ns)).length === 3, { ...WAIT, what: 'another pod' });
    const own = names(await pods(ns)).find((name) => name !== 'orphan') ?? '';
    await plane.delete(`${ns}/pods/${own}`);
    await eventually(async () => {
      const left = await pods(ns);
      return left.length === 3 && !names(left).includes(own);
    }, WAIT);
    await plane.delete(path, { propagationPolicy: 'Orphan' });
    await eventually(async () => (await plane.get(path)).status === 404, WAIT);
    expect((await pods(ns)).every(({ metadata }) => metadata.ownerReferences === undefined)).toBe(true);
  });

  test('a ReplicationController maintains its pods', async () => {
    const ns = await plane.namespace();
    const { selector: _, ...spec } = workload('ReplicaSet', 'rc', { replicas: 2 })['spec'] as Json;
    await plane.post(`${ns}/replicationcontrollers`, { metadata: { name: 'rc' }, spec });
    const path = `${ns}/replicationcontrollers/rc`;
    await until(plane, path, ({ status }) => status['availableReplicas'] === 2, 'two pods');
    expect(await pods(ns)).toHaveLength(2);
  });

  test('a DaemonSet has a pod on every node where it belongs, and replaces them one by one', async () => {
    const ns = await plane.namespace();
    const path = at(ns, 'apps/v1', 'daemonsets/agent');
    const taints = [{ key: 'example.com/full', effect: 'NoSchedule' }];
    await plane.patch('/api/v1/nodes/n3', { spec: { taints } });
    await plane.post(at(ns, 'apps/v1', 'daemonsets'), workload('DaemonSet', 'agent'));
    const runsOn =
      (count: number) =>
      (body: Body): boolean =>
        body.status['observedGeneration'] === body.metadata.generation &&
        body.status['desiredNumberScheduled'] === count &&
        body.status['numberAvailable'] === count &&
        body.status['updatedNumberScheduled'] === count;
    await until(plane, path, runsOn(2), 'two nodes');
    await plane.patch('/api/v1/nodes/n3', { spec: { taints: null } });
    await until(plane, path, runsOn(3), 'three nodes');
    await plane.patch(path, withImage('busybox:2'), STRATEGIC);
    await until(plane, path, runsOn(3), 'update');
    expect((await pods(ns)).map(imageOf)).toEqual(['busybox:2', 'busybox:2', 'busybox:2']);
    const revisions = (await plane.get(at(ns, 'apps/v1', 'controllerrevisions'))).body.items;
    expect(revisions).toHaveLength(2);
    await addNode(plane, 'n4');
    await until(plane, path, ({ status }) => status['desiredNumberScheduled'] === 4, 'a new node');
    await plane.delete('/api/v1/nodes/n4');
    await until(plane, path, ({ status }) => status['desiredNumberScheduled'] === 3, 'no more of it');
  });

  test('a StatefulSet creates its pods in order, preserves their names, and deletes the last first', async () => {
    const ns = await plane.namespace();
    const path = at(ns, 'apps/v1', 'statefulsets/db');
    const claims = [
      {
        metadata: { name: 'data' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      },
    ];
    await plane.post(
      at(ns, 'apps/v1', 'statefulsets'),
      workload('StatefulSet', 'db', { replicas: 3, serviceName: 'db', volumeClaimTemplates: claims }),
    );
    const settled =
      (replicas: number) =>
      (body: Body): boolean =>
        body.status['observedGeneration'] === body.metadata.generation &&
        body.status['replicas'] === replicas &&
        body.status['readyReplicas'] === replicas &&
        body.status['currentRevision'] === body.status['updateRevision'];
    await until(plane, path, settled(3), 'three pods');
    const made = (await pods(ns)).toSorted(
      (left, right) => Number(left.metadata.resourceVersion) - Number(right.metadata.resourceVersion),
    );
    expect(names(made)).toEqual(['db-0', 'db-1', 'db-2']);
    expect(names((await plane.get(`${ns}/persistentvolumeclaims`)).body.items)).toEqual([
      'data-db-0',
      'data-db-1',
      'data-db-2',
    ]);
    await plane.patch(path, withImage('busybox:2'), STRATEGIC);
    await until(plane, path, settled(3), 'update');
    expect((await pods(ns)).map(imageOf)).toEqual(['busybox:2', 'busybox:2', 'busybox:2']);
    await plane.patch(path, { spec: { replicas: 1 } });
    await until(plane, path, settled(1), 'one pod');
    expect(names(await pods(ns))).toEqual(['db-0']);
    expect((await plane.get(`${ns}/persistentvolumeclaims`)).body.items).toHaveLength(3);
  });
});

describe.each<[string, readonly string[]]>([
  ['without tracking', []],
  ['with tracking', ['--feature-gates=JobTrackingWithFinalizers=true']],
])('jobs %s', (_, flags) => {
  const { plane, agents, at, pods } = useWorld('plat', ...flags);
  const finished =
    (type: string) =>
    (body: Body): boolean =>
      conditionOf(body, type)?.status === 'True';

  test('a job makes up for pods that fail, and is done when enough have succeeded', async () => {
    const ns = await plane.namespace();
    let failures = 2;
    agents().decide(() => {
      failures -= 1;
      return failures >= 0 ? 'Failed' : 'Succeeded';
    });
    await plane.post(at(ns, 'batch/v1', 'jobs'), {
      metadata: { name: 'work' },
      spec: jobSpec({ parallelism: 2, completions: 3 }),
    });
    const { status } = await until(
      plane,
      at(ns, 'batch/v1', 'jobs/work'),
      finished('Complete'),
      'completion',
    );
    expect(status).toMatchObject({ succeeded: 3, failed: 2 });
    expect(status['active']).toBeUndefined();
    expect((await pods(ns)).map(phaseOf).toSorted()).toEqual([
      'Failed',
      'Failed',
      'Succeeded',
      'Succeeded',
      'Succeeded',
    ]);
    expect((await pods(ns)).every(({ metadata }) => metadata.finalizers === undefined)).toBe(true);
  });

  test('a job whose pods fail too often has failed', async () => {
    const ns = await plane.namespace();
    agents().decide(() => 'Failed');
    await plane.post(at(ns, 'batch/v1', 'jobs'), {
      metadata: { name: 'bad' },
      spec: jobSpec({ backoffLimit: 1 }),
    });
    const bad = await until(plane, at(ns, 'batch/v1', 'jobs/bad'), finished('Failed'), 'failure');
    expect(conditionOf(bad, 'Failed')?.reason).toBe('BackoffLimitExceeded');
    expect(bad.status['failed']).toBe(2);
  });

  test('an indexed job has a pod for each index, and runs when it is no longer suspended', async () => {
    const ns = await plane.namespace();
    agents().decide(() => 'Succeeded');
    const path = at(ns, 'batch/v1', 'jobs/all');
    await plane.post(at(ns, 'batch/v1', 'jobs'), {
      metadata: { name: 'all' },
      spec: jobSpec({ parallelism: 3, completions: 4, completionMode: 'Indexed', suspend: true }),
    });
    await until(plane, path, finished('Suspended'), 'suspension');
    expect(await pods(ns)).toEqual([]);
    await plane.patch(path, { spec: { suspend: false } });
    const { status } = await until(plane, path, finished('Complete'), 'completion');
    expect(status).toMatchObject({ succeeded: 4, completedIndexes: '0-3' });
    const indexes = (await pods(ns)).map(
      ({ metadata }) => metadata.annotations?.[`batch.${plane.words.domain}/job-completion-index`],
    );
    expect(new Set(indexes)).toEqual(new Set(['0', '1', '2', '3']));
  });

  test('a job beyond its deadline is stopped', async () => {
    const ns = await plane.namespace();
    agents().decide(() => 'Running');
    const path = at(ns, 'batch/v1', 'jobs/slow');
    await plane.post(at(ns, 'batch/v1', 'jobs'), {
      metadata: { name: 'slow' },
      spec: jobSpec({ activeDeadlineSeconds: 1 }),
    });
    const slow = await until(plane, path, finished('Failed'), 'deadline');
    expect(conditionOf(slow, 'Failed')?.reason).toBe('DeadlineExceeded');
    await eventually(async () => (await pods(ns)).length === 0, { ...WAIT, what: 'no pods' });
    await plane.delete(path, { propagationPolicy: 'Background' });
  });

  test('a cron job starts its jobs when they are due, and retains as many as its history limits', async () => {
    const ns = await plane.namespace();
    agents().decide(() => 'Succeeded');
    const path = at(ns, 'batch/v1', 'cronjobs/tick');
    await plane.post(at(ns, 'batch/v1', 'cronjobs'), {
      metadata: { name: 'tick' },
      spec: {
        schedule: '* * * * *',
        successfulJobsHistoryLimit: 1,
        jobTemplate: { metadata: { labels: { from: 'tick' } }, spec: jobSpec({}) },
      },
    });
    // As if the last ones had been some minutes ago.
    for (const minutes of [5, 3]) {
      const lastScheduleTime = new Date(Date.now() - minutes * 60_000).toISOString();
      await plane.patch(`${path}/status`, { status: { lastScheduleTime } });
      await until(
        plane,
        path,
        ({ status }) => {
          const lastMs = Date.parse(String(status['lastScheduleTime']));
          return (
            lastMs > Date.parse(lastScheduleTime) &&
            status['active'] === undefined &&
            status['lastSuccessfulTime'] !== undefined
          );
        },
        'a job that is done',
      );
    }
    // A minute that just began has a job of its own for a moment.
    const { items: jobs } = await until(
      plane,
      at(ns, 'batch/v1', 'jobs'),
      ({ items }) => items.length === 1,
      'one job',
    );
    expect(jobs[0]?.metadata).toMatchObject({
      labels: { from: 'tick' },
      ownerReferences: [{ kind: 'CronJob', name: 'tick', controller: true }],
    });
  });
});
