/** Upstream's command-line client as several users, and with impersonation. */
import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { type Json, pod, usePlane } from '../plane/support.ts';
import { useKubectl } from './kubectl.ts';

let dir: TempDir;
const plane = usePlane('kubernetes', async () => {
  dir = await createTempDir('na-users-');
  await writeFile(`${dir.path}/tokens.csv`, 'janes-token,jane,u1,"ops,dev"\n', { mode: 0o600 });
  return ['--authorization-mode=RBAC', `--token-auth-file=${dir.path}/tokens.csv`];
});
const { ok, fails, run, json } = useKubectl(() => plane.server.platconfigFile);
let jane: { readonly env: Readonly<Record<string, string>> };

/** The administrator's file with a token instead of the administrator's certificate. */
async function withToken(token: string, name = token): Promise<typeof jane> {
  const config = JSON.parse(await readFile(plane.server.platconfigFile, 'utf8')) as Json;
  const path = `${dir.path}/${name}.conf`;
  await writeFile(path, JSON.stringify({ ...config, users: [{ name: 'admin', user: { token } }] }));
  return { env: { KUBECONFIG: path } };
}

beforeAll(async () => {
  await plane.post('/api/v1/namespaces/default/pods', pod('web'));
  jane = await withToken('janes-token');
});
afterAll(() => dir[Symbol.asyncDispose]());

test('the file of the administrator is as the client would have written it', async () => {
  const view = await json('config view --minify');
  expect(view).toMatchObject({ kind: 'Config', contexts: [{ context: { user: 'admin' } }] });
  expect(await ok('config current-context')).toBe('default');
  expect(await ok('auth can-i * *')).toBe('yes');
});

test('a user without roles gets the denied user, verb, resource and namespace', async () => {
  const [list, one, nodes, path, can] = await Promise.all([
    fails('get pods', jane),
    fails('delete pod web', jane),
    fails('get nodes', jane),
    fails('get --raw /metrics', jane),
    run('auth can-i list pods', jane),
  ]);
  const end = 'resource "pods" in API group "" in the namespace "default"';
  expect(list).toBe(`Error from server (Forbidden): pods is forbidden: User "jane" cannot list ${end}`);
  expect(one).toBe(
    `Error from server (Forbidden): pods "web" is forbidden: User "jane" cannot delete ${end}`,
  );
  expect(nodes).toMatch(/cannot list resource "nodes" in API group "" at the cluster scope$/);
  expect(path).toContain('User "jane" cannot get path "/metrics"');
  expect([can.code, can.out.trim()]).toEqual([1, 'no']);
});

test('a role binding of a group authorizes its users, in its namespace', async () => {
  await ok('create rolebinding ops --clusterrole=view --group=ops');
  expect(await ok('get pods -o name', jane)).toBe('pod/web');
  expect(await fails('get pods -n kube-public', jane)).toContain('(Forbidden)');
  expect(await fails('get secrets', jane)).toContain('(Forbidden)');
  expect(await ok('auth can-i --list', jane)).toMatch(/^pods +\[\] +\[\] +\[.*list.*\]$/m);
});

test('users cannot grant permissions that they do not have', async () => {
  await ok('create clusterrole binder --verb=create,get --resource=roles,rolebindings');
  await ok('create rolebinding binders --clusterrole=binder --user=jane');
  const refused = fails('create role more --verb=delete --resource=pods', jane);
  expect(await refused).toMatch(/\(Forbidden\).*attempting to grant RBAC permissions not currently held/);
});

test('a wrong token does not authenticate', async () => {
  expect(await fails('get pods', await withToken('wrong'))).toBe(
    'error: You must be logged in to the server (Unauthorized)',
  );
});

test('the administrator acts as others, and others only if they may', async () => {
  const [as, group, can, account] = await Promise.all([
    fails('get pods --as=joe'),
    ok('get pods -o name --as=joe --as-group=ops'),
    run('auth can-i get pods --as=joe'),
    fails('get pods --as=system:serviceaccount:default:robot'),
  ]);
  expect(as).toContain('User "joe" cannot list resource "pods"');
  expect(group).toBe('pod/web');
  expect(can.out.trim()).toBe('no');
  expect(account).toContain('User "system:serviceaccount:default:robot" cannot list');
  expect(await fails('get pods --as=joe', jane)).toContain(
    'users "joe" is forbidden: User "jane" cannot impersonate resource "users" in API group "" at the cluster scope',
  );
});

test('a service account authenticates with a requested token', async () => {
  await ok('create serviceaccount robot');
  await ok('create rolebinding robots --clusterrole=view --serviceaccount=default:robot');
  const path = '/api/v1/namespaces/default/serviceaccounts/robot/token';
  const requested = await ok(`create --raw ${path} -f -`, {
    input: {
      kind: 'TokenRequest',
      apiVersion: `authentication.${plane.words.apiGroupDomain}/v1`,
      spec: { expirationSeconds: 600 },
    },
  });
  const { status } = JSON.parse(requested) as { readonly status: { readonly token: string } };
  const robot = await withToken(status.token, 'robot');
  expect(await ok('get pods -o name', robot)).toBe('pod/web');
  expect(await fails('delete pod web', robot)).toContain(
    'User "system:serviceaccount:default:robot" cannot delete',
  );
});
