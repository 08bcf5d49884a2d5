/** Upstream's command-line client with a server in the platform's vocabulary: API groups without a domain
 *  work. */
import { beforeAll, describe, expect, test } from 'vitest';
import { configMap, pod, usePlane } from '../plane/support.ts';
import { useKubectl } from './kubectl.ts';

const plane = usePlane('plat');
const { ok, fails, json, table, start } = useKubectl(() => plane.server.platconfigFile);

beforeAll(() => plane.post('/api/v1/namespaces/default/pods', pod('web', {}, { labels: { app: 'web' } })));

describe('the core group', () => {
  test('is shown in its own tables', async () => {
    const [pods, wide, namespaces] = await Promise.all([
      table('get pods'),
      table('get pods -o wide --no-headers'),
      table('get namespaces --no-headers'),
    ]);
    expect(pods[0]).toEqual(['NAME', 'READY', 'STATUS', 'RESTARTS', 'AGE']);
    expect(pods[1]?.slice(0, 4)).toEqual(['web', '0/1', 'Pending', '0']);
    expect(wide[0]?.slice(5)).toEqual(['<none>', '<none>', '<none>', '<none>']);
    expect(namespaces.map((row) => row.slice(0, 2))).toEqual([
      ['default', 'Active'],
      [plane.words.nodeLeaseNamespace, 'Active'],
      [plane.words.publicNamespace, 'Active'],
      [plane.words.systemNamespace, 'Active'],
    ]);
  });

  test('is shown in other forms, described and watched', async () => {
    const [yaml, path, text] = await Promise.all([
      ok('get pod web -o yaml'),
      ok('get pods -l app=web -o jsonpath={.items[*].metadata.name}'),
      ok('describe pod web'),
    ]);
    expect(yaml).toMatch(/^apiVersion: v1\nkind: Pod$/m);
    expect(path).toBe('web');
    expect(text).toMatch(/^QoS Class: +BestEffort$/m);
    await using watch = start('get configmaps -l mine=yes -w --no-headers');
    await plane.post(
      '/api/v1/namespaces/default/configmaps',
      configMap('seen', '1', { labels: { mine: 'yes' } }),
    );
    expect(await watch.line()).toMatch(/^seen 1 \d+s$/);
  });

  test('is created, by commands and by files', async () => {
    const said = await Promise.all(
      [
        'run job --image=busybox',
        'create configmap conf --from-literal=a=1',
        'create secret generic key --from-literal=a=1',
        'create namespace team',
        'create service clusterip inner --tcp=80',
        'expose pod web --port=80',
      ].map((command) => ok(command)),
    );
    expect(said).toEqual([
      'pod/job created',
      'configmap/conf created',
      'secret/key created',
      'namespace/team created',
      'service/inner created',
      'service/web exposed',
    ]);
    expect(await ok('apply -f -', { input: configMap('a', '1') })).toBe('configmap/a created');
    expect(await ok('apply -f -', { input: configMap('a', '2') })).toBe('configmap/a configured');
    const refused = fails('apply --server-side --field-manager=other -f -', { input: configMap('a', '3') });
    expect(await refused).toMatch(/conflict with "kubectl-client-side-apply"[\s\S]*\.data\.value/);
    expect((await json('get configmap a')).data).toEqual({ value: '2' });
  });

  test('is changed and deleted', async () => {
    expect(await ok('label pod web tier=front')).toBe('pod/web labeled');
    expect(await ok('set image pod/web main=other:1')).toBe('pod/web image updated');
    expect(await ok(['patch', 'pod', 'web', '-p', '{"metadata":{"annotations":{"a":"b"}}}'])).toBe(
      'pod/web patched',
    );
    expect((await json('get pod web')).metadata).toMatchObject({
      annotations: { a: 'b' },
      labels: { tier: 'front' },
    });
    expect(await ok('delete pod web')).toBe('pod "web" deleted');
    expect(await fails('get pod web')).toBe('Error from server (NotFound): pods "web" not found');
  });
});

describe('groups', () => {
  test('without a domain work, those with one under their names here', async () => {
    expect(await ok('create deployment shop --image=shop:1')).toBe('deployment.apps/shop created');
    expect(await ok('scale deployment shop --replicas=2')).toBe('deployment.apps/shop scaled');
    expect((await table('get deployments --no-headers'))[0]?.slice(0, 2)).toEqual(['shop', '0/2']);
    const role = `role.rbac.authorization.${plane.words.apiGroupDomain}/reader`;
    const input = {
      apiVersion: `rbac.authorization.${plane.words.apiGroupDomain}/v1`,
      kind: 'Role',
      metadata: { name: 'reader' },
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
    };
    expect(await ok('create -f -', { input })).toBe(`${role} created`);
    expect(await ok('get roles -o name')).toBe(role);
  });
});
