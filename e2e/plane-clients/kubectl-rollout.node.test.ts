/** Upstream's command-line client rolls out, rolls back and waits. The test simulates the nodes. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../testing/wait.ts';
import { type SimulatedAgents, startSimulatedAgents } from '../plane/simulated-agents.ts';
import { usePlane, workload } from '../plane/support.ts';
import { useKubectl } from './kubectl.ts';

const plane = usePlane('kubernetes', ['--controllers=*,-nodelifecycle']);
const { ok, table } = useKubectl(() => plane.server.platconfigFile);
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

describe('rollout', () => {
  test.each<[string, object]>([
    ['Deployment', { replicas: 3 }],
    ['DaemonSet', {}],
    ['StatefulSet', { replicas: 2, serviceName: 'x' }],
  ])('of a %s is followed, shown and undone', async (kind, spec) => {
    const name = `${kind.toLowerCase()}/web`;
    await apply(workload(kind, 'web', { ...spec, selector: { matchLabels: { app: 'web' } } }));
    const done = /successfully rolled out|rolling update complete|roll out complete/;
    expect(await ok(`rollout status ${name} --timeout=20s`)).toMatch(done);
    await ok(`set image ${name} main=busybox:2`);
    expect(await ok(`rollout status ${name} --timeout=20s`)).toMatch(done);
    const history = await table(`rollout history ${name}`);
    expect(history.map(([revision]) => revision)).toEqual(expect.arrayContaining(['1', '2']));
    await ok(`rollout undo ${name}`);
    expect(await ok(`rollout status ${name} --timeout=20s`)).toMatch(done);
    const image = '{.spec.template.spec.containers[0].image}';
    expect(await ok(['get', name, '-o', `jsonpath=${image}`])).toBe('busybox');
    await ok(`delete ${name}`);
  });

  test('a restart replaces every pod', async () => {
    await apply(workload('Deployment', 'again', { replicas: 2 }));
    await ok('rollout status deployment/again --timeout=20s');
    const before = await ok('get pods -l app=again -o name');
    await ok('rollout restart deployment/again');
    await ok('rollout status deployment/again --timeout=20s');
    const old = before.split('\n');
    expect(old).toHaveLength(2);
    // They are terminating; their node removes them in a moment.
    await eventually(
      async () => {
        const names = (await ok('get pods -l app=again -o name')).split('\n');
        return names.length === 2 && !names.some((name) => old.includes(name));
      },
      { timeoutMs: 20_000, what: 'every pod replaced' },
    );
    expect((await table('get deployment again --no-headers'))[0]?.slice(0, 4)).toEqual([
      'again',
      '2/2',
      '2',
      '2',
    ]);
  });
});

describe('wait', () => {
  test('for a Deployment to be available, and a job to be complete', async () => {
    await apply(workload('Deployment', 'soon'));
    expect(await ok('wait --for=condition=Available deployment/soon --timeout=20s')).toContain(
      'condition met',
    );
    agents?.decide((pod) => (pod.metadata.labels?.['job-name'] === undefined ? 'Running' : 'Succeeded'));
    await ok('create job once --image=busybox');
    expect(await ok('wait --for=condition=complete job/once --timeout=20s')).toContain('condition met');
    expect((await table('get job once --no-headers'))[0]?.slice(0, 2)).toEqual(['once', '1/1']);
  });
});
