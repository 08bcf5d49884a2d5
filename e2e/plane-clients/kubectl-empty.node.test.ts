/** Commands of upstream's client that read an object, change a part of it and write all of it back, with the
 *  zero values of its types: only that part changes. The test simulates the nodes. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../testing/wait.ts';
import { type SimulatedAgents, startSimulatedAgents } from '../plane/simulated-agents.ts';
import { type Body, type Json, pod, usePlane, workload } from '../plane/support.ts';
import { kubectlMinor, useKubectl } from './kubectl.ts';

/** `kubectl debug` of earlier releases speaks a form of ephemeral containers that is no longer served. */
const DEBUGS = 24;

const plane = usePlane('kubernetes', ['--controllers=*,-nodelifecycle']);
const { ok, run, json, table } = useKubectl(() => plane.server.platconfigFile);
let agents: SimulatedAgents | undefined;

beforeAll(async () => {
  await plane.post('/api/v1/nodes', { metadata: { name: 'n1' } });
  await plane.patch('/api/v1/nodes/n1', { spec: { taints: null } });
  agents = startSimulatedAgents(plane);
});

afterAll(async () => {
  await agents?.[Symbol.asyncDispose]();
});

const apply = (object: object): Promise<string> => ok('apply -f -', { input: object });
const names = async (what: string): Promise<readonly string[]> =>
  (await table(`get ${what} --no-headers`)).map(([name = '']) => name).toSorted();

type Container = Json & { readonly resources?: Json };
interface Specified {
  readonly template: {
    readonly metadata: Json;
    readonly spec: { readonly containers: readonly Container[] };
  };
}

/** Members that upstream's types print whatever their value is. Clients of release 1.20 look for them themselves. */
const ALWAYS_PRINTED: Readonly<Record<string, readonly string[]>> = {
  DaemonSet: ['currentNumberScheduled', 'numberMisscheduled', 'desiredNumberScheduled', 'numberReady'],
  StatefulSet: ['replicas', 'availableReplicas'],
};
const zeroStatus = (kind: string): Json =>
  Object.fromEntries((ALWAYS_PRINTED[kind] ?? []).map((member) => [member, 0]));

/** The object with the zero values that upstream's types print, or without them. */
function rewritten(object: Body, printed: boolean): object {
  const { template, ...rest } = object.spec as unknown as Specified;
  const containers = template.spec.containers.map(({ resources: _resources, ...container }) => ({
    ...container,
    ...(printed ? { resources: {}, env: [], volumeMounts: null } : {}),
  }));
  const metadata = printed ? { ...template.metadata, creationTimestamp: null } : template.metadata;
  const spec = { ...rest, template: { metadata, spec: { ...template.spec, containers } } };
  return { ...object, spec, ...(printed ? { status: zeroStatus(object.kind) } : {}) };
}

describe('written back as it is, with or without zero values', () => {
  test.each<[string, string, Json]>([
    ['Deployment', 'replicasets', { replicas: 2 }],
    ['DaemonSet', 'controllerrevisions', {}],
    ['StatefulSet', 'controllerrevisions', { replicas: 2, serviceName: 'x' }],
  ])('a %s stays what it is', async (kind, children, spec) => {
    const name = `${kind.toLowerCase()}/web`;
    // Not applied: `replace` would write down what it has as applied last.
    await ok('create -f -', { input: workload(kind, 'web', spec) });
    await ok(`rollout status ${name} --timeout=20s`);
    const before = await eventually(
      async () => {
        const [first, second] = [await json(`get ${name} -o json`), await json(`get ${name} -o json`)];
        const { observedGeneration } = second.status;
        const isCalm = first.metadata.resourceVersion === second.metadata.resourceVersion;
        return isCalm && observedGeneration === second.metadata['generation'] ? second : undefined;
      },
      { timeoutMs: 20_000, what: 'a status that stays' },
    );
    expect((before.spec as unknown as Specified).template.spec.containers).toMatchObject([{ resources: {} }]);
    const sets = await names(children);
    for (const printed of [true, false, true]) {
      await ok('replace -f -', { input: rewritten(before, printed) });
      const { metadata } = await json(`get ${name} -o json`);
      expect(metadata.resourceVersion).toBe(before.metadata.resourceVersion);
    }
    expect(await names(children)).toEqual(sets);
    await ok(`delete ${name}`);
  });
});

describe('rollout undo', () => {
  test('goes back to the earlier ReplicaSet, whose pods are not replaced', async () => {
    await apply(workload('Deployment', 'back', { replicas: 2 }));
    await ok('rollout status deployment/back --timeout=20s');
    await ok('set image deployment/back main=busybox:2');
    await eventually(async () => (await names('rs -l app=back')).length === 2, {
      what: 'a second ReplicaSet',
    });
    await ok('rollout undo deployment/back');
    await ok('rollout status deployment/back --timeout=20s');
    expect(await names('rs -l app=back')).toHaveLength(2);
    const history = await table('rollout history deployment/back');
    expect(history.map(([revision]) => revision).filter((text) => /^\d+$/.test(text ?? ''))).toEqual([
      '2',
      '3',
    ]);
    await ok('delete deployment/back');
  });

  test('of a StatefulSet finds that its template is the current one', async () => {
    await apply(workload('StatefulSet', 'same', { replicas: 1, serviceName: 'x' }));
    await ok('rollout status statefulset/same --timeout=20s');
    const response = await ok('rollout undo statefulset/same --to-revision=1');
    expect(response).toContain('skipped rollback (current template already matches revision 1)');
    await ok('delete statefulset/same');
  });
});

test('apply, diff and set change what they are to change, and nothing when that is nothing', async () => {
  const object = workload('Deployment', 'calm', { replicas: 1 });
  await apply(object);
  expect(await apply(object)).toContain('unchanged');
  expect(await run('diff -f -', { input: object })).toMatchObject({ code: 0, out: '' });
  const generation = async (): Promise<unknown> =>
    (await json('get deployment/calm -o json')).metadata['generation'];
  expect(await generation()).toBe(1);
  await ok('set env deployment/calm A=b');
  await ok('set resources deployment/calm --limits=cpu=1');
  expect(await generation()).toBe(3);
  await ok('set resources deployment/calm --limits=cpu=1');
  await ok('set image deployment/calm main=busybox');
  expect(await generation()).toBe(3);
  await ok('autoscale deployment/calm --max=3');
  expect((await json('get hpa/calm -o json')).spec).toMatchObject({ maxReplicas: 3 });
  await ok('delete deployment/calm hpa/calm');
});

test('server-side apply of the same changes nothing', async () => {
  const object = workload('Deployment', 'served', { replicas: 0 });
  const serverSide = (): Promise<string> => ok('apply --server-side -f -', { input: object });
  await serverSide();
  await ok('rollout status deployment/served --timeout=20s');
  const { metadata } = await json('get deployment/served -o json');
  expect(metadata['generation']).toBe(1);
  const { body } = await plane.get('/apis/apps/v1/namespaces/default/deployments/served');
  expect(JSON.stringify(body.metadata.managedFields)).not.toContain('f:resources');
  await serverSide();
  expect((await json('get deployment/served -o json')).metadata['generation']).toBe(1);
  await ok('delete deployment/served');
});

test('debug adds a container to a running pod', async () => {
  if ((await kubectlMinor()) < DEBUGS) return;
  await plane.post('/api/v1/namespaces/default/pods', pod('sick'));
  await ok('debug pod/sick --image=busybox -c helper -- true');
  const { spec } = await json('get pod/sick -o json');
  expect(spec['ephemeralContainers']).toMatchObject([{ name: 'helper', image: 'busybox', resources: {} }]);
  await ok('delete pod/sick --now');
});
