/** Upstream's command-line client deletes by name, by label and with dependents, and waits for conditions. */
import { describe, expect, test } from 'vitest';
import { configMap, type Json, pod, usePlane, workload } from '../plane/support.ts';
import { useKubectl } from './kubectl.ts';

const plane = usePlane('kubernetes');
const { ok, fails, json, run } = useKubectl(() => plane.server.platconfigFile);

const APPS = '/apis/apps/v1/namespaces/default';
const CORE = '/api/v1/namespaces/default';

/** A deployment with a replica set that it owns. */
async function family(name: string): Promise<void> {
  const { body } = await plane.post(`${APPS}/deployments`, workload('Deployment', name));
  const { uid } = body.metadata;
  const owner = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
  const metadata = { name: `${name}-1`, ownerReferences: [owner] };
  await plane.post(`${APPS}/replicasets`, { ...workload('ReplicaSet', name), metadata });
}

/** Waits until an object is gone; old releases call it an error that it is gone already. */
async function gone(name: string): Promise<void> {
  const { err } = await run(`wait --for=delete ${name} --timeout=10s`);
  expect(err).toMatch(/^$|no matching resources found/);
}

describe('delete', () => {
  test('reports deleted and missing objects', async () => {
    await plane.post(`${CORE}/configmaps`, configMap('a'));
    const { out, err, code } = await run('delete configmap a b');
    expect(out).toBe('configmap "a" deleted\n');
    expect(err).toBe('Error from server (NotFound): configmaps "b" not found\n');
    expect(code).toBe(1);
    expect(await ok('delete configmap b --ignore-not-found')).toBe('');
  });

  test('in a dry run deletes nothing', async () => {
    await plane.post(`${CORE}/configmaps`, configMap('c'));
    expect(await ok('delete configmap c --dry-run=server')).toBe('configmap "c" deleted (server dry run)');
    expect(await ok('get configmap c -o name')).toBe('configmap/c');
  });

  test('by label, and all of a kind', async () => {
    const namespace = await plane.namespace();
    const name = namespace.split('/').at(-1) ?? '';
    for (const [each, tier] of [
      ['d', 'x'],
      ['e', 'x'],
      ['f', 'y'],
    ] as const) {
      await plane.post(`${namespace}/secrets`, { metadata: { name: each, labels: { tier } } });
    }
    expect(await ok(`delete secrets -n ${name} -l tier=x`)).toBe('secret "d" deleted\nsecret "e" deleted');
    expect(await ok(`delete secrets -n ${name} --all`)).toBe('secret "f" deleted');
    expect(await ok(`get secrets -n ${name} -o name`)).toBe('');
  });

  test('a namespace with its content, waiting until it is gone', async () => {
    const namespace = await plane.namespace();
    const name = namespace.split('/').at(-1) ?? '';
    await plane.post(`${namespace}/pods`, pod('p'));
    expect(await ok(`delete namespace ${name}`)).toBe(`namespace "${name}" deleted`);
    expect((await plane.get(namespace)).status).toBe(404);
    expect(await fails('delete namespace default')).toContain(
      '(Forbidden): namespaces "default" is forbidden',
    );
  });

  test('a running pod is deleted by its node agent, or at once by force', async () => {
    const running = (name: string): Json => pod(name, { nodeName: 'n1', terminationGracePeriodSeconds: 30 });
    await Promise.all(['slow', 'forced'].map((name) => plane.post(`${CORE}/pods`, running(name))));
    await ok('delete pod slow --wait=false');
    const [line] = [await ok('get pod slow --no-headers')];
    expect(line).toMatch(/^slow +0\/1 +Terminating +0 +\d+s$/);
    expect((await json('get pod slow')).metadata.deletionGracePeriodSeconds).toBe(30);
    const { out, err } = await run('delete pod forced --force --grace-period=0');
    expect(out + err).toMatch(/pod "forced" force deleted/);
    expect(err).toMatch(/warning: immediate deletion/i);
    expect(await fails('get pod forced')).toContain('(NotFound)');
  });
});

describe('delete with what depends', () => {
  test('in the background', async () => {
    await family('back');
    await ok('delete deployment back --cascade=background');
    await gone('replicaset/back-1');
    expect(await fails('get replicaset back-1')).toContain('(NotFound)');
  });

  test('in the foreground: what depends goes first', async () => {
    await family('front');
    await plane.patch(`${APPS}/replicasets/front-1`, { metadata: { finalizers: ['example.com/hold'] } });
    await ok('delete deployment front --cascade=foreground --wait=false');
    const { metadata } = await json('get deployment front');
    expect(metadata.finalizers).toEqual(['foregroundDeletion']);
    await Promise.all([
      gone('deployment/front'),
      ok(['patch', 'replicaset', 'front-1', '--type=merge', '-p', '{"metadata":{"finalizers":null}}']),
    ]);
    expect(await ok('get deployments,replicasets -o name -l app=front')).toBe('');
  });

  test('orphans stay, without an owner', async () => {
    await family('parent');
    expect(await ok('delete deployment parent --cascade=orphan')).toBe('deployment.apps "parent" deleted');
    expect((await json('get replicaset parent-1')).metadata.ownerReferences).toBeUndefined();
  });
});

describe('wait', () => {
  test('for a condition that comes, and one that does not', async () => {
    await plane.post(`${CORE}/pods`, pod('ready'));
    const waiting = ok('wait --for=condition=Ready pod/ready --timeout=10s');
    const late = fails('wait --for=condition=Ready pod/ready --timeout=0s');
    await late;
    await plane.patch(`${CORE}/pods/ready/status`, {
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    });
    expect(await waiting).toBe('pod/ready condition met');
    expect(await late).toMatch(/condition/);
  });
});
