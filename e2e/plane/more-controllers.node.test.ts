/** Controllers of finished jobs, disruption budgets, claims and volumes, and quotas. The test simulates the
 *  nodes. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../testing/wait.ts';
import { type SimulatedAgents, startSimulatedAgents } from './simulated-agents.ts';
import { type Body, type Json, pod, type Reply, usePlane, workload } from './support.ts';

const WAIT = { timeoutMs: 20_000 };
const plane = usePlane('plat', [
  '--controllers=*,-nodelifecycle',
  '--disable-admission-plugins=ServiceAccount,TaintNodesByCondition',
]);
let agents: SimulatedAgents;

beforeAll(async () => {
  const resources = { cpu: '64', memory: '64Gi', pods: '110' };
  const status = { capacity: resources, allocatable: resources };
  await plane.post('/api/v1/nodes', { metadata: { name: 'n1' }, status });
  agents = startSimulatedAgents(plane);
  agents.decide(({ metadata }) => (metadata.labels?.['play'] === 'end' ? 'Succeeded' : 'Running'));
});
afterAll(async () => {
  await agents[Symbol.asyncDispose]();
});

const until = (path: string, isWanted: (body: Body, reply: Reply) => boolean, what: string): Promise<Body> =>
  eventually(
    async () => {
      const reply = await plane.get(path);
      return isWanted(reply.body, reply) ? reply.body : undefined;
    },
    { ...WAIT, what },
  );

const untilGone = (path: string): Promise<Body> =>
  until(path, (_, { status }) => status === 404, `${path} gone`);

const below = (namespace: string, groupVersion: string, rest: string): string =>
  plane.path(groupVersion, `namespaces/${namespace.split('/').at(-1) ?? ''}/${rest}`);

const job = (name: string, spec: Json): Json => ({
  metadata: { name },
  spec: {
    ...spec,
    template: {
      metadata: { labels: { play: 'end' } },
      spec: { containers: [{ name: 'main', image: 'busybox' }], restartPolicy: 'Never' },
    },
  },
});

describe('ttl-after-finished', () => {
  test('a finished job goes with its pods when its time is over, and only then', async () => {
    const ns = await plane.namespace();
    const jobs = below(ns, 'batch/v1', 'jobs');
    await plane.post(jobs, job('short', { ttlSecondsAfterFinished: 1 }));
    await plane.post(jobs, job('long', { ttlSecondsAfterFinished: 3600 }));
    await plane.post(jobs, job('kept', {}));
    await untilGone(`${jobs}/short`);
    const { items } = await until(
      jobs,
      (list) => list.items.every(({ status }) => status['succeeded'] === 1),
      'both done',
    );
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['kept', 'long']);
    const pods = await until(`${ns}/pods`, (list) => list.items.length === 2, 'pods of the others');
    expect(pods.items.map(({ metadata }) => metadata.ownerReferences?.[0]?.name ?? '').toSorted()).toEqual([
      'kept',
      'long',
    ]);
    await plane.patch(`${jobs}/kept`, { spec: { ttlSecondsAfterFinished: 0 } });
    await untilGone(`${jobs}/kept`);
  });
});

const statusOf = ({ status }: Body, ...names: readonly string[]): readonly unknown[] =>
  names.map((name) => status[name]);

describe('disruption', () => {
  const COUNTS = ['expectedPods', 'desiredHealthy', 'currentHealthy', 'disruptionsAllowed'];
  const counts = (body: Body): string => statusOf(body, ...COUNTS).join(' ');

  const evict = (ns: string, name: string): Promise<Reply> =>
    plane.post(`${ns}/pods/${name}/eviction`, {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name },
    });

  test('a budget of a deployment follows its pods and its scale, and evictions respect it', async () => {
    const ns = await plane.namespace();
    const budgets = below(ns, 'policy/v1', 'poddisruptionbudgets');
    await plane.post(below(ns, 'apps/v1', 'deployments'), workload('Deployment', 'web', { replicas: 3 }));
    await plane.post(budgets, {
      metadata: { name: 'web' },
      spec: { maxUnavailable: 1, selector: { matchLabels: { app: 'web' } } },
    });
    const budget = await until(`${budgets}/web`, (body) => counts(body) === '3 2 3 1', 'one may go');
    expect(budget.status['observedGeneration']).toBe(1);
    expect(budget.status['conditions']).toMatchObject([
      { type: 'DisruptionAllowed', status: 'True', reason: 'SufficientPods', observedGeneration: 1 },
    ]);

    // New pods never start, so that what went is missed.
    agents.decide(({ metadata }) => (metadata.namespace === ns.split('/').at(-1) ? 'Pending' : 'Running'));
    const { items } = (await plane.get(`${ns}/pods`)).body;
    const [first = '', second = ''] = items.map(({ metadata }) => metadata.name ?? '');
    expect((await evict(ns, first)).status).toBe(201);
    const refused = await evict(ns, second);
    expect([refused.status, refused.body.details.causes?.[0]?.reason]).toEqual([429, 'DisruptionBudget']);
    await until(
      `${budgets}/web`,
      (body) => counts(body) === '3 2 2 0' && body.status['disruptedPods'] === undefined,
      'none may go',
    );

    await plane.patch(below(ns, 'apps/v1', 'deployments/web'), { spec: { replicas: 2 } });
    await until(`${budgets}/web`, (body) => counts(body) === '2 1 2 1', 'fewer are wanted');
    expect((await evict(ns, second)).status).toBe(201);
  });

  test('pods without a controller count for a number, and not for a percentage', async () => {
    const ns = await plane.namespace();
    const budgets = below(ns, 'policy/v1', 'poddisruptionbudgets');
    agents.decide(() => 'Running');
    for (const name of ['a', 'b']) await plane.post(`${ns}/pods`, pod(name, {}, { labels: { app: 'lone' } }));
    const selector = { matchLabels: { app: 'lone' } };
    await plane.post(budgets, { metadata: { name: 'number' }, spec: { minAvailable: 1, selector } });
    await until(`${budgets}/number`, (body) => counts(body) === '2 1 2 1', 'one may go');
    await plane.delete(`${budgets}/number`);
    await plane.post(budgets, { metadata: { name: 'share' }, spec: { minAvailable: '50%', selector } });
    await until(
      `${budgets}/share`,
      (body) => counts(body) === '0 0 2 0' && body.status['observedGeneration'] === 1,
      'none may go',
    );
    expect((await evict(ns, 'a')).status).toBe(429);
  });

  test('nothing is allowed where the controller of a pod is not scaled', async () => {
    const ns = await plane.namespace();
    const budgets = below(ns, 'policy/v1', 'poddisruptionbudgets');
    await plane.post(below(ns, 'apps/v1', 'daemonsets'), workload('DaemonSet', 'each'));
    await until(`${ns}/pods`, (list) => list.items.length === 1, 'its pod');
    await plane.post(budgets, {
      metadata: { name: 'each' },
      spec: { maxUnavailable: 1, selector: { matchLabels: { app: 'each' } } },
    });
    const budget = await until(
      `${budgets}/each`,
      ({ status }) => status['conditions'] !== undefined,
      'it was looked at',
    );
    expect(budget.status['disruptionsAllowed']).toBe(0);
    expect(budget.status['conditions']).toMatchObject([{ status: 'False', reason: 'SyncFailed' }]);
  });
});

const volume = (name: string, spec: Json = {}): Json => ({
  metadata: { name },
  spec: {
    capacity: { storage: '10Gi' },
    accessModes: ['ReadWriteOnce'],
    hostPath: { path: `/srv/${name}` },
    ...spec,
  },
});

const claim = (name: string, spec: Json = {}): Json => ({
  metadata: { name },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '5Gi' } }, ...spec },
});

const inPhase =
  (phase: string) =>
  ({ status }: Body): boolean =>
    status['phase'] === phase;

const VOLUMES = '/api/v1/persistentvolumes';

describe('persistentvolume-binder', () => {
  test('a claim gets the smallest volume that will do, and is lost when that goes', async () => {
    const ns = await plane.namespace();
    const claims = `${ns}/persistentvolumeclaims`;
    const storageClassName = 'by-hand';
    await plane.post(claims, claim('early', { storageClassName }));
    await plane.post(VOLUMES, volume('large', { storageClassName, capacity: { storage: '90Gi' } }));
    const early = await until(`${claims}/early`, inPhase('Bound'), 'bound by what comes');
    expect(early.spec['volumeName']).toBe('large');
    expect(early.status['capacity']).toEqual({ storage: '90Gi' });
    expect(Object.keys(early.metadata.annotations ?? {}).toSorted()).toEqual([
      `pv.${plane.words.domain}/bind-completed`,
      `pv.${plane.words.domain}/bound-by-controller`,
    ]);
    for (const [name, storage] of [
      ['tiny', '1Gi'],
      ['fitting', '6Gi'],
      ['roomy', '50Gi'],
    ] as const) {
      await plane.post(VOLUMES, volume(name, { storageClassName, capacity: { storage } }));
      await until(`${VOLUMES}/${name}`, inPhase('Available'), 'available');
    }
    await plane.post(claims, claim('late', { storageClassName }));
    expect((await until(`${claims}/late`, inPhase('Bound'), 'bound')).spec['volumeName']).toBe('fitting');
    const { spec } = await until(`${VOLUMES}/fitting`, inPhase('Bound'), 'bound');
    expect(spec['claimRef']).toMatchObject({ kind: 'PersistentVolumeClaim', name: 'late' });

    await plane.delete(`${VOLUMES}/fitting`);
    await plane.patch(`${VOLUMES}/fitting`, { metadata: { finalizers: null } });
    await until(`${claims}/late`, inPhase('Lost'), 'lost');
  });

  test('a volume is reserved for the claim that it names, and released after it', async () => {
    const ns = await plane.namespace();
    const claims = `${ns}/persistentvolumeclaims`;
    const claimRef = { namespace: ns.split('/').at(-1), name: 'data' };
    const storageClassName = 'kept';
    await plane.post(VOLUMES, volume('kept', { storageClassName, claimRef }));
    await plane.post(
      VOLUMES,
      volume('deleted', { storageClassName, persistentVolumeReclaimPolicy: 'Delete' }),
    );
    await until(`${VOLUMES}/deleted`, inPhase('Available'), 'available');
    await plane.post(claims, claim('other', { storageClassName }));
    await plane.post(claims, claim('data', { storageClassName }));
    const [data, other] = [`${claims}/data`, `${claims}/other`];
    expect((await until(data, inPhase('Bound'), 'bound')).spec['volumeName']).toBe('kept');
    expect((await until(other, inPhase('Bound'), 'bound')).spec['volumeName']).toBe('deleted');
    await Promise.all([data, other].map((path) => plane.delete(path)));
    await until(`${VOLUMES}/kept`, inPhase('Released'), 'released');
    const { status } = await until(`${VOLUMES}/deleted`, inPhase('Failed'), 'it is not deleted');
    expect(status['message']).toContain('host_path deleter only supports /tmp/.+');
  });

  test('a claim that waits for its first consumer is bound where the pod goes', async () => {
    const ns = await plane.namespace();
    await plane.post(plane.path('storage/v1', 'storageclasses'), {
      metadata: { name: 'late' },
      provisioner: `${plane.words.domain}/no-provisioner`,
      volumeBindingMode: 'WaitForFirstConsumer',
    });
    await plane.post(VOLUMES, volume('late', { storageClassName: 'late' }));
    await until(`${VOLUMES}/late`, inPhase('Available'), 'available');
    await plane.post(`${ns}/persistentvolumeclaims`, claim('data', { storageClassName: 'late' }));
    await until(
      `${ns}/events`,
      (list) => list.items.some(({ reason }) => reason === 'WaitForFirstConsumer'),
      'informed that it waits',
    );
    const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
    await plane.post(`${ns}/pods`, pod('user', { volumes }));
    await until(`${ns}/pods/user`, ({ spec }) => spec['nodeName'] !== undefined, 'on a node');
    const data = (await plane.get(`${ns}/persistentvolumeclaims/data`)).body;
    expect([data.status['phase'], data.spec['volumeName']]).toEqual(['Bound', 'late']);
  });
});

describe('protection', () => {
  test('claims stay while a pod uses them, and volumes while a claim is bound', async () => {
    const ns = await plane.namespace();
    const path = `${ns}/persistentvolumeclaims/used`;
    const storageClassName = 'guarded';
    await plane.post(VOLUMES, volume('guarded', { storageClassName }));
    await plane.post(`${ns}/persistentvolumeclaims`, claim('used', { storageClassName }));
    await until(path, inPhase('Bound'), 'bound');
    const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'used' } }];
    await plane.post(`${ns}/pods`, pod('user', { volumes }));
    await until(`${ns}/pods/user`, ({ spec }) => spec['nodeName'] !== undefined, 'on a node');

    await plane.delete(path);
    await plane.delete(`${VOLUMES}/guarded`);
    expect((await plane.get(path)).body.metadata.finalizers).toEqual([
      `${plane.words.domain}/pvc-protection`,
    ]);
    expect((await plane.get(`${VOLUMES}/guarded`)).body.metadata.deletionTimestamp).toBeDefined();
    await plane.delete(`${ns}/pods/user`);
    await untilGone(path);
    await untilGone(`${VOLUMES}/guarded`);
  });
});

describe('resourcequota', () => {
  const quota = (name: string, hard: Json, spec: Json = {}): Json => ({
    metadata: { name },
    spec: { hard, ...spec },
  });
  const withCpu = (name: string, cpu: string): Json => {
    const resources = { requests: { cpu } };
    return pod(name, { containers: [{ name: 'main', image: 'busybox', resources }] });
  };
  const isUsed =
    (used: Json) =>
    ({ status }: Body): boolean =>
      JSON.stringify(status['used']) === JSON.stringify(used);

  test('nothing is created beyond a quota, even by concurrent requests, and deletion releases it', async () => {
    const ns = await plane.namespace();
    const path = `${ns}/resourcequotas/cpu`;
    await plane.post(`${ns}/resourcequotas`, quota('cpu', { pods: '5', 'requests.cpu': '1' }));
    await until(path, isUsed({ pods: '0', 'requests.cpu': '0' }), 'counted');

    const unsaid = await plane.post(`${ns}/pods`, pod('unsaid'));
    expect([unsaid.status, unsaid.body.message]).toEqual([
      403,
      'pods "unsaid" is forbidden: failed quota: cpu: must specify requests.cpu for: main',
    ]);
    const names = Array.from({ length: 8 }, (_, index) => `p${index}`);
    const replies = await Promise.all(names.map((name) => plane.post(`${ns}/pods`, withCpu(name, '300m'))));
    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      ...Array.from({ length: 3 }, () => 201),
      ...Array.from({ length: 5 }, () => 403),
    ]);
    expect(replies.find(({ status }) => status === 403)?.body.message).toMatch(
      /is forbidden: exceeded quota: cpu, requested: requests\.cpu=300m, used: requests\.cpu=900m, limited: requests\.cpu=1$/,
    );
    expect((await plane.get(path)).body.status['used']).toEqual({ pods: '3', 'requests.cpu': '900m' });

    const dry = await plane.post(`${ns}/pods?dryRun=All`, withCpu('dry', '100m'));
    expect(dry.status).toBe(201);
    for (const { status, body } of replies) {
      if (status === 201)
        await plane.delete(`${ns}/pods/${body.metadata.name ?? ''}`, { gracePeriodSeconds: 0 });
    }
    await until(path, isUsed({ pods: '0', 'requests.cpu': '0' }), 'free again');
    expect((await plane.post(`${ns}/pods`, withCpu('again', '1'))).status).toBe(201);
  });

  test('objects of every kind are counted, and scopes choose among pods', async () => {
    const ns = await plane.namespace();
    const hard = { configmaps: '2', 'count/deployments.apps': '1', 'services.nodeports': '1' };
    await plane.post(`${ns}/resourcequotas`, quota('counts', hard));
    await plane.post(`${ns}/resourcequotas`, quota('effort', { pods: '0' }, { scopes: ['BestEffort'] }));
    const path = `${ns}/resourcequotas/counts`;
    const counted = await until(path, ({ status }) => status['used'] !== undefined, 'counted');
    await until(`${ns}/resourcequotas/effort`, isUsed({ pods: '0' }), 'counted');
    expect(counted.status['hard']).toEqual(hard);
    // The root certificates exist before the first request, or come in a moment, and are counted in another.
    await until(
      path,
      ({ status }) => (status['used'] as Json)['configmaps'] === '1',
      'root certificates counted',
    );
    const make = (name: string): Promise<Reply> => plane.post(`${ns}/configmaps`, { metadata: { name } });
    expect([(await make('a')).status, (await make('b')).status]).toEqual([201, 403]);

    const deployments = below(ns, 'apps/v1', 'deployments');
    const deploy = (name: string): Promise<Reply> =>
      plane.post(deployments, workload('Deployment', name, { replicas: 0 }));
    expect([(await deploy('a')).status, (await deploy('b')).status]).toEqual([201, 403]);

    const service = (name: string): Json => ({
      metadata: { name },
      spec: { ports: [{ port: 80 }], selector: { app: name } },
    });
    for (const name of ['a', 'b']) await plane.post(`${ns}/services`, service(name));
    const open = (name: string): Promise<Reply> =>
      plane.patch(`${ns}/services/${name}`, { spec: { type: 'NodePort' } });
    expect([(await open('a')).status, (await open('b')).status]).toEqual([200, 403]);

    expect((await plane.post(`${ns}/pods`, pod('idle'))).status).toBe(403);
    expect((await plane.post(`${ns}/pods`, withCpu('busy', '1m'))).status).toBe(201);
  });
});
