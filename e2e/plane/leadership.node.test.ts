/** Leader election of API servers that share an etcd: one runs the controllers; if it is killed, another
 *  takes over. */
import { request } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { type EtcdCluster, startEtcd } from '#plane/store/etcd.fixture.ts';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import { type Program, startProgram } from '../plane-clients/program/program.ts';
import { usePlane, workload } from './support.ts';

const WORDS = VOCABULARIES.kubernetes;
const FLAGS = ['--controllers=*', '--no-scheduler', '--disable-admission-plugins=ServiceAccount'];
const LEASES = `/apis/coordination.${WORDS.apiGroupDomain}/v1/namespaces/${WORDS.systemNamespace}/leases`;
const LEASE = `${LEASES}/${WORDS.componentPrefix}-controller-manager`;
const PODS = '/api/v1/namespaces/default/pods';
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';

/** Longer than the lease of a killed server. */
const TAKE_OVER = { timeoutMs: 30_000 };

interface LeaseSpec {
  readonly holderIdentity: string;
  readonly leaseTransitions: number;
  readonly leaseDurationSeconds: number;
}

async function leaseAt(server: Pick<Program, 'call'>): Promise<LeaseSpec | undefined> {
  const { body } = await server.call('GET', LEASE);
  return (body as unknown as { readonly spec?: LeaseSpec }).spec;
}

const podNames = async (server: Pick<Program, 'call'>): Promise<readonly string[]> =>
  (await server.call('GET', PODS)).body.items.map(({ metadata }) => metadata.name);

const untilPods = (server: Program, count: number): Promise<readonly string[]> =>
  eventually(
    async () => {
      const names = await podNames(server);
      return names.length >= count ? names : undefined;
    },
    { ...TAKE_OVER, what: `${count} pods` },
  );

/** The kinds of all events of pods since the revision. */
async function pastOf({ url, agent }: Program, revision: string): Promise<readonly string[]> {
  const path = `${PODS}?watch=1&timeoutSeconds=1&resourceVersion=${revision}`;
  const { body } = await request(url + path, { dispatcher: agent });
  const lines = (await body.text()).split('\n').filter((line) => line !== '');
  return lines.map((line) => (JSON.parse(line) as { readonly type: string }).type);
}

let etcd: EtcdCluster;
beforeAll(async () => {
  etcd = await startEtcd();
});
afterAll(() => etcd[Symbol.asyncDispose]());

/** Waiting for the lease of who was killed takes 15 s of it. */
const LIMIT = { timeout: 120_000 };

test('a server that is killed is followed by the other, and no pod is missed or doubled', LIMIT, async () => {
  await using dirs = new AsyncDisposableStack();
  const [first, second] = [
    dirs.use(await createTempDir('na-lead-')),
    dirs.use(await createTempDir('na-lead-')),
  ];
  const flags = ['--vocabulary=kubernetes', ...FLAGS, '--etcd-servers', etcd.urls.join()];
  await using leader = await startProgram(first.path, flags);
  const { holderIdentity } = await eventually(() => leaseAt(leader), TAKE_OVER);
  await using other = await startProgram(second.path, flags);
  expect(await leaseAt(other)).toMatchObject({ holderIdentity, leaseTransitions: 0 });

  const { resourceVersion: revision } = (await other.call('GET', PODS)).body.metadata;
  const created = await other.call('POST', DEPLOYMENTS, workload('Deployment', 'web', { replicas: 12 }));
  expect(created.status).toBe(201);
  const names = await untilPods(other, 12);

  leader.signal('SIGKILL');
  await leader.ended;
  // Work without a leader: some pods are deleted, and more are desired.
  const gone = names.slice(0, 4);
  for (const name of gone) expect((await other.call('DELETE', `${PODS}/${name}`)).status).toBe(200);
  await other.call('PUT', `${DEPLOYMENTS}/web/scale`, {
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: { name: 'web' },
    spec: { replicas: 15 },
  });
  expect(await podNames(other)).toHaveLength(8);
  const next = await untilPods(other, 15);
  expect(next).toHaveLength(15);
  expect(next.filter((name) => names.includes(name)).toSorted()).toEqual(names.slice(4).toSorted());
  const { holderIdentity: successor, leaseTransitions } = (await leaseAt(other)) ?? {};
  expect(successor).not.toBe(holderIdentity);
  expect(leaseTransitions).toBe(1);

  const status = await eventually(async () => {
    const { body } = await other.call('GET', `${DEPLOYMENTS}/web`);
    const found = (body as unknown as { readonly status: { readonly replicas?: number } }).status;
    return found.replicas === 15 ? found : undefined;
  }, TAKE_OVER);
  expect(status).toMatchObject({ replicas: 15, updatedReplicas: 15 });
  // All of the past: no pod was made that is not there now, nor taken away by anybody but the test.
  const past = await pastOf(other, revision);
  expect(past.filter((type) => type === 'ADDED')).toHaveLength(12 + 4 + 3);
  expect(past.filter((type) => type === 'DELETED')).toHaveLength(4);
});

const alone = usePlane('kubernetes', FLAGS);

test('a server with a store of its own leads without a lease', async () => {
  await alone.post(DEPLOYMENTS, workload('Deployment', 'web', { replicas: 2 }));
  await expect.poll(async () => (await alone.get(PODS)).body.items.length, { timeout: 10_000 }).toBe(2);
  expect((await alone.get(LEASES)).body.items).toEqual([]);
});
