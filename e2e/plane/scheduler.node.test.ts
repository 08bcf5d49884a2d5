/** Scheduler with simulated nodes: pods are bound, or the reasons are reported. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type EtcdCluster, startEtcd } from '#plane/store/etcd.fixture.ts';
import { type Body, type Client, type Json, type Plane, pod, usePlane, WAIT } from './support.ts';

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

const RESOURCES = { cpu: '2', memory: '4Gi', pods: '10' };

const node = (name: string, spec: Json = {}, more: Json = {}): Json => ({
  metadata: { name, labels: { pool: name.split('-')[0] ?? '' } },
  spec,
  status: { capacity: { ...RESOURCES, ...more }, allocatable: { ...RESOURCES, ...more } },
});

/** A pod that goes to nodes of a pool only. */
const pooled = (name: string, pool: string, cpu = '100m', spec: Json = {}, metadata: Json = {}): Json =>
  pod(
    name,
    {
      nodeSelector: { pool },
      containers: [{ name: 'main', image: 'busybox', resources: { requests: { cpu } } }],
      ...spec,
    },
    metadata,
  );

const conditionOf = ({ status }: Body): Condition | undefined =>
  (status['conditions'] as Condition[] | undefined)?.find(({ type }) => type === 'PodScheduled');

async function nodeNameOf(client: Client, path: string): Promise<unknown> {
  return (await client.get(path)).body.spec['nodeName'];
}

async function eventsOf(client: Client, folder: string, name: string): Promise<readonly Body[]> {
  const { body } = await client.get(`${folder}/events?fieldSelector=involvedObject.name=${name}`);
  return body.items;
}

const placed = (client: Client, path: string): Promise<void> =>
  expect.poll(() => nodeNameOf(client, path), WAIT).toBeTruthy();

/** The scheduler with little beside it: no agent reports nodes ready, pods no accounts. */
const SCHEDULING = [
  '--controllers=garbagecollector,namespace',
  '--disable-admission-plugins=ServiceAccount,TaintNodesByCondition',
];

describe('the scheduler', () => {
  const plane = usePlane('plat', SCHEDULING);
  let folder = '';
  beforeAll(async () => {
    folder = await plane.namespace();
  });
  const addNodes = async (...nodes: readonly Json[]): Promise<void> => {
    for (const each of nodes) expect(await plane.post('/api/v1/nodes', each)).toMatchObject({ status: 201 });
  };
  const podsPath = (): string => `${folder}/pods`;
  const add = async (object: Json): Promise<string> => {
    const { body, status } = await plane.post(podsPath(), object);
    expect(status).toBe(201);
    return `${podsPath()}/${body.metadata.name ?? ''}`;
  };
  const toldOf = (path: string): Promise<void> =>
    expect.poll(async () => conditionOf((await plane.get(path)).body)?.reason, WAIT).toBe('Unschedulable');

  test('reports on pods that there are no nodes, and binds them as soon as one joins', async () => {
    const path = await add(pooled('early', 'early'));
    await expect
      .poll(async () => conditionOf((await plane.get(path)).body), WAIT)
      .toMatchObject({
        status: 'False',
        reason: 'Unschedulable',
        message: 'no nodes available to schedule pods',
      });
    await addNodes(node('early-1'));
    await placed(plane, path);
    const { body } = await plane.get(path);
    expect(body.spec['nodeName']).toBe('early-1');
    expect(conditionOf(body)).toMatchObject({ status: 'True' });
    const all = async (): Promise<readonly unknown[]> =>
      (await eventsOf(plane, folder, 'early')).map((event) => {
        const { reason, message, type, reportingComponent } = event as unknown as Json;
        return [type, reason, message, reportingComponent];
      });
    await expect
      .poll(all, WAIT)
      .toContainEqual([
        'Normal',
        'Scheduled',
        `Successfully assigned ${body.metadata.namespace ?? ''}/early to early-1`,
        'default-scheduler',
      ]);
    await expect
      .poll(all, WAIT)
      .toContainEqual([
        'Warning',
        'FailedScheduling',
        'no nodes available to schedule pods',
        'default-scheduler',
      ]);
  });

  test('never allocates more than a node has, and reports the shortage', async () => {
    await addNodes(
      node('full-1'),
      node('full-2', { taints: [{ key: 'a', value: 'b', effect: 'NoSchedule' }] }),
    );
    const paths = await Promise.all(
      Array.from({ length: 5 }, (_, index) => add(pooled(`full-${index}`, 'full', '500m'))),
    );
    const nodes = async (): Promise<readonly unknown[]> =>
      Promise.all(paths.map((path) => nodeNameOf(plane, path)));
    await expect.poll(async () => (await nodes()).filter((name) => name === 'full-1').length, WAIT).toBe(4);
    const left = paths[(await nodes()).indexOf(undefined)] ?? '';
    await toldOf(left);
    const { message = '' } = conditionOf((await plane.get(left)).body) ?? {};
    expect(message).toContain('1 Insufficient cpu');
    expect(message).toContain('1 node(s) had untolerated taint {a: b}');
    expect(message).toMatch(
      /^0\/\d+ nodes are available: .*\. preemption: 0\/\d+ nodes are available: .*\.$/,
    );
    const [first = ''] = paths.filter((path) => path !== left);
    await plane.delete(first, { gracePeriodSeconds: 0 });
    await placed(plane, left);
    expect(await nodeNameOf(plane, left)).toBe('full-1');
  });

  test('spreads pods of a service over its nodes', async () => {
    await addNodes(node('even-1'), node('even-2'), node('even-3'));
    for (const name of ['even-1', 'even-2', 'even-3']) {
      await plane.patch(`/api/v1/nodes/${name}`, {
        metadata: { labels: { [plane.words.labelHostname]: name } },
      });
    }
    await plane.post(`${folder}/services`, {
      metadata: { name: 'even' },
      spec: { selector: { app: 'even' }, ports: [{ port: 80 }] },
    });
    const labels = { app: 'even' };
    for (let index = 0; index < 6; index += 1) {
      const path = await add(pooled(`even-${index}`, 'even', '10m', {}, { labels }));
      await placed(plane, path);
    }
    const { body } = await plane.get(`${podsPath()}?labelSelector=app=even`);
    const counts = ['even-1', 'even-2', 'even-3'].map(
      (name) => body.items.filter(({ spec }) => spec['nodeName'] === name).length,
    );
    expect(counts).toEqual([2, 2, 2]);
  });

  test('separates pods with anti-affinity', async () => {
    await addNodes(node('apart-1'), node('apart-2'));
    for (const name of ['apart-1', 'apart-2']) {
      await plane.patch(`/api/v1/nodes/${name}`, { metadata: { labels: { zone: name } } });
    }
    const affinity = {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { labelSelector: { matchLabels: { app: 'apart' } }, topologyKey: 'zone' },
        ],
      },
    };
    const paths = await Promise.all(
      ['a', 'b', 'c'].map((name) =>
        add(pooled(`apart-${name}`, 'apart', '10m', { affinity }, { labels: { app: 'apart' } })),
      ),
    );
    await expect
      .poll(
        async () => (await Promise.all(paths.map((path) => nodeNameOf(plane, path)))).map(String).toSorted(),
        WAIT,
      )
      .toEqual(['apart-1', 'apart-2', 'undefined']);
  });

  test('a node that is uncordoned, or loses its taint, gets the waiting pods', async () => {
    await addNodes(
      node('shut-1', { unschedulable: true }),
      node('shut-2', { taints: [{ key: 'x', effect: 'NoExecute' }] }),
    );
    const path = await add(pooled('shut', 'shut'));
    await toldOf(path);
    await plane.patch('/api/v1/nodes/shut-2', { spec: { taints: null } });
    await placed(plane, path);
    expect(await nodeNameOf(plane, path)).toBe('shut-2');
    await plane.patch('/api/v1/nodes/shut-1', { spec: { unschedulable: null } });
    const other = await add(pooled('shut-b', 'shut', '1900m'));
    const third = await add(pooled('shut-c', 'shut', '1800m'));
    await Promise.all([placed(plane, other), placed(plane, third)]);
  });

  test('leaves pods of other schedulers alone', async () => {
    await addNodes(node('other-1'));
    const path = await add(pooled('other', 'other', '10m', { schedulerName: 'mine' }));
    await placed(plane, await add(pooled('ours', 'other')));
    const { body } = await plane.get(path);
    expect(body.spec['nodeName']).toBeUndefined();
    expect(conditionOf(body)).toBeUndefined();
  });

  describe('makes room', () => {
    const classes = async (p: Plane): Promise<void> => {
      const path = p.path('scheduling/v1', 'priorityclasses');
      await p.post(path, { metadata: { name: 'high' }, value: 1000 });
      await p.post(path, { metadata: { name: 'patient' }, value: 1000, preemptionPolicy: 'Never' });
    };
    beforeAll(async () => {
      await classes(plane);
      await addNodes(node('tight-1'), node('tight-2'));
    });
    const high = { priorityClassName: 'high', priority: 1000 };

    test('for pods of higher priority, at the lowest cost', async () => {
      const low = await Promise.all([
        add(pooled('low-a', 'tight', '1500m', {}, { labels: { app: 'low' } })),
        add(pooled('low-b', 'tight', '1500m', {}, { labels: { app: 'low' } })),
      ]);
      await Promise.all(low.map((path) => placed(plane, path)));
      const patient = await add(
        pooled('patient', 'tight', '1', { ...high, priorityClassName: 'patient', preemptionPolicy: 'Never' }),
      );
      await toldOf(patient);
      await plane.delete(patient);
      const path = await add(pooled('high', 'tight', '1', high));
      const nominated = async (): Promise<unknown> =>
        (await plane.get(path)).body.status['nominatedNodeName'];
      await expect.poll(nominated, WAIT).toMatch(/^tight-/);
      const leaving = async (): Promise<readonly Body[]> =>
        (await plane.get(`${podsPath()}?labelSelector=app=low`)).body.items.filter(
          ({ metadata }) => metadata.deletionTimestamp !== undefined,
        );
      await expect.poll(async () => (await leaving()).length, WAIT).toBe(1);
      const [victim] = await leaving();
      // Its node has it still: it ends in its own time.
      expect(victim?.spec['nodeName']).toBe(await nominated());
      const name = victim?.metadata.name ?? '';
      await expect
        .poll(async () => (await eventsOf(plane, folder, name)).map((event) => event.reason), WAIT)
        .toContain('Preempted');
      await plane.delete(`${podsPath()}/${name}`, { gracePeriodSeconds: 0 });
      await placed(plane, path);
      expect(await nodeNameOf(plane, path)).toBe(victim?.spec['nodeName']);
    });
  });

  test('binds claims that wait for their first consumer to volumes of its node', async () => {
    await addNodes(node('disk-1'), node('disk-2'));
    await plane.post(plane.path('storage/v1', 'storageclasses'), {
      metadata: { name: 'local' },
      provisioner: `${plane.words.domain}/no-provisioner`,
      volumeBindingMode: 'WaitForFirstConsumer',
    });
    await plane.patch('/api/v1/nodes/disk-2', { metadata: { labels: { disk: 'here' } } });
    await plane.post('/api/v1/persistentvolumes', {
      metadata: { name: 'disk' },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'local',
        local: { path: '/mnt/disk' },
        nodeAffinity: {
          required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'disk', operator: 'Exists' }] }] },
        },
      },
    });
    await plane.post(`${folder}/persistentvolumeclaims`, {
      metadata: { name: 'data' },
      spec: {
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'local',
        resources: { requests: { storage: '1Gi' } },
      },
    });
    const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
    const path = await add(pooled('disk', 'disk', '10m', { volumes }));
    const claimRef = async (): Promise<unknown> =>
      (await plane.get('/api/v1/persistentvolumes/disk')).body.spec['claimRef'];
    await expect.poll(claimRef, WAIT).toMatchObject({ name: 'data', kind: 'PersistentVolumeClaim' });
    // As the controller of volumes does it.
    await plane.patch(`${folder}/persistentvolumeclaims/data`, { spec: { volumeName: 'disk' } });
    await plane.patch(`${folder}/persistentvolumeclaims/data/status`, { status: { phase: 'Bound' } });
    await placed(plane, path);
    expect(await nodeNameOf(plane, path)).toBe('disk-2');
  });
});

describe('--no-scheduler', () => {
  const plane = usePlane('kubernetes', ['--no-scheduler', ...SCHEDULING]);

  test('leaves pods to another program, which binds them itself', async () => {
    const folder = await plane.namespace();
    await plane.post('/api/v1/nodes', node('n-1'));
    await plane.post(`${folder}/pods`, pod('a'));
    await plane.post(`${folder}/pods/a/binding`, {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name: 'a' },
      target: { kind: 'Node', name: 'n-1' },
    });
    const { body } = await plane.get(`${folder}/pods/a`);
    expect(body.spec['nodeName']).toBe('n-1');
    expect((await eventsOf(plane, folder, 'a')).length).toBe(0);
  });
});

/** Until the lease is free of a server that ended without giving it up, and then some. */
const TAKE_OVER = { timeout: 30_000 };

describe('servers that share an etcd', { timeout: 120_000 }, () => {
  let etcd: EtcdCluster;
  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(() => etcd[Symbol.asyncDispose]());
  const flags = (): Promise<readonly string[]> =>
    Promise.resolve([...SCHEDULING, '--etcd-servers', etcd.urls.join()]);
  const planes = [usePlane('plat', flags), usePlane('plat', flags)] as const;

  test('have one of them schedule, and another when it ends', async () => {
    const [left, right] = planes;
    const lease = left.path(
      'coordination/v1',
      `namespaces/${left.words.systemNamespace}/leases/plat-scheduler`,
    );
    const holder = async (): Promise<unknown> => (await left.get(lease)).body.spec?.['holderIdentity'];
    await left.post('/api/v1/nodes', node('n-1', {}, { pods: '5' }));
    const add = (plane: Plane, name: string): Promise<unknown> =>
      plane.post('/api/v1/namespaces/default/pods', pod(name));
    await Promise.all(
      Array.from({ length: 10 }, (_, index) => add(index % 2 === 0 ? left : right, `p-${index}`)),
    );
    const bound = async (): Promise<number> =>
      (await left.get('/api/v1/namespaces/default/pods?fieldSelector=spec.nodeName=n-1')).body.items.length;
    await expect.poll(bound, WAIT).toBe(5);
    const first = await holder();
    expect(first).toBeTruthy();
    // Either of the two may be the leader: both are restarted.
    await Promise.all([left.server.restart(), right.server.restart()]);
    await expect.poll(holder, TAKE_OVER).not.toBe(first);
    await left.post('/api/v1/nodes', node('n-2'));
    await expect
      .poll(
        async () =>
          (await left.get('/api/v1/namespaces/default/pods?fieldSelector=spec.nodeName=n-2')).body.items
            .length,
        TAKE_OVER,
      )
      .toBe(5);
    expect(await bound()).toBe(5);
  });
});
