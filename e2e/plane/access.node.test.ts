/** Authentication and authorization. Source: document 1 §5 and §7; document 2 §5.1 and §5.6; virtual types,
 *  document
 *  1 §1. */
import { writeFile } from 'node:fs/promises';
import { Agent } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAuthority, issueIdentity } from '#api/pki/certificate.ts';
import { eventually } from '../../testing/wait.ts';
import {
  type Client,
  configMap,
  type Json,
  type Plane,
  type Reply,
  tokens,
  usePlane,
  WAIT,
} from './support.ts';

/** Who the server takes a client for. */
async function whoIs(plane: Plane, client: Client): Promise<unknown> {
  const path = plane.path('authorization/v1', 'selfsubjectaccessreviews');
  const { status, body } = await client.post(path, {
    spec: { nonResourceAttributes: { path: '/x', verb: 'get' } },
  });
  return status === 201 ? body.status : { status, message: body.message };
}

/** Binds a role to users or groups in a namespace; everywhere without one. */
async function bind(plane: Plane, role: string, subject: Json, namespace = ''): Promise<void> {
  const apiGroup = `rbac.authorization.${plane.words.apiGroupDomain}`;
  const plural = namespace === '' ? 'clusterrolebindings' : `namespaces/${namespace}/rolebindings`;
  const { status } = await plane.post(plane.path('rbac.authorization/v1', plural), {
    metadata: { generateName: 'bind-' },
    roleRef: { apiGroup, kind: 'ClusterRole', name: role },
    subjects: [subject],
  });
  expect(status).toBe(201);
}

const nameOf = (folder: string): string => folder.split('/').at(-1) ?? '';

describe('credentials', () => {
  const agents: Agent[] = [];
  const day = 24 * 60 * 60 * 1000;
  const from = new Date(Date.now() - day);
  const until = new Date(Date.now() + day);
  const authority = createAuthority({ commonName: 'clients' }, from, until);
  const plane = usePlane('plat', async (dir) => {
    await writeFile(`${dir}/clients.pem`, authority.certificate);
    await writeFile(`${dir}/tokens`, 'ann-token,ann,1,"dev,ops"\nbob-token,bob,2\n');
    return ['--client-ca-file', `${dir}/clients.pem`, '--token-auth-file', `${dir}/tokens`];
  });
  afterAll(async () => {
    for (const agent of agents) await agent.destroy();
  });

  /** A client with a certificate of this subject. */
  function certified(
    terms: { commonName: string; organizations?: string[]; notAfter?: Date; usage?: 'serverAuth' },
    issuer = authority,
  ): Client {
    const { commonName, organizations = [], notAfter = until, usage = 'clientAuth' } = terms;
    const identity = issueIdentity(issuer, {
      subject: { commonName, organizations },
      extendedUsages: [usage],
      notBefore: from,
      notAfter,
    });
    const { ca } = plane.server.credentials();
    const agent = new Agent({
      connect: { ca, cert: identity.certificate, key: identity.key },
      allowH2: false,
    });
    agents.push(agent);
    return {
      ...plane,
      call: (method, path, body, options = {}) =>
        plane.call(method, path, body, { ...options, dispatcher: agent }),
      get: (path, headers = {}) => plane.call('GET', path, undefined, { headers, dispatcher: agent }),
      post: (path, body) => plane.call('POST', path, body, { dispatcher: agent }),
    };
  }

  test('a token of the file is its user, with the groups of the file', async () => {
    await bind(plane, 'view', { kind: 'Group', name: 'ops' });
    await expect.poll(async () => (await plane.as('ann-token').get('/api/v1/pods')).status, WAIT).toBe(200);
    const bob = await plane.as('bob-token').get('/api/v1/pods');
    expect(bob.status).toBe(403);
    expect(bob.body.message).toContain('User "bob"');
  });

  test('a certificate is the user of its common name, in the groups of its organizations', async () => {
    const eve = certified({ commonName: 'eve', organizations: ['dev', 'qa'] });
    expect((await eve.get('/api/v1/pods')).body.message).toContain('User "eve"');
    await bind(plane, 'view', { kind: 'Group', name: 'qa' });
    await expect.poll(async () => (await eve.get('/api/v1/pods')).status, WAIT).toBe(200);
  });

  test('the administrator’s certificate may do everything', async () => {
    expect(await whoIs(plane, plane)).toMatchObject({ allowed: true });
  });

  test.each<[string, () => Client]>([
    ['an unknown token', () => plane.as('guess')],
    ['a token that has one', () => plane.as('ann-tokenx')],
    [
      'a certificate of another authority',
      () => certified({ commonName: 'x' }, createAuthority({ commonName: 'clients' }, from, until)),
    ],
    [
      'a certificate that is over',
      () => certified({ commonName: 'x', notAfter: new Date(Date.now() - 1000) }),
    ],
    ['a certificate for servers', () => certified({ commonName: 'x', usage: 'serverAuth' })],
  ])('%s is 401', async (_, client) => {
    const response = await client().get('/api/v1/pods');
    expect(response).toMatchObject({
      status: 401,
      body: { kind: 'Status', status: 'Failure', reason: 'Unauthorized', message: 'Unauthorized', code: 401 },
    });
  });

  test('without credentials one is system:anonymous', async () => {
    const nobody = plane.as('');
    const response = await nobody.get('/api/v1/pods');
    expect(response).toMatchObject({ status: 403, body: { reason: 'Forbidden' } });
    expect(response.body.message).toContain('User "system:anonymous"');
    expect((await nobody.get('/version')).status).toBe(200);
    await bind(plane, 'view', { kind: 'Group', name: 'system:unauthenticated' });
    await expect.poll(async () => (await nobody.get('/api/v1/pods')).status, WAIT).toBe(200);
  });

  test('other schemes of Authorization are as good as none', async () => {
    const basic = plane.as('', { authorization: 'Basic YTpi' });
    expect((await basic.get('/api/v1/secrets')).body.message).toContain('system:anonymous');
  });

  test('names and groups that only the server gives cannot be claimed in headers', async () => {
    const claimed = plane.as('bob-token', { 'x-remote-user': 'admin', 'x-remote-group': 'system:masters' });
    expect((await claimed.get('/api/v1/secrets')).body.message).toContain('User "bob"');
  });
});

describe('with --anonymous-auth=false', () => {
  const plane = usePlane('plat', ['--anonymous-auth=false']);

  test.each(['/api/v1/pods', '/version', '/livez'])('%s without credentials is 401', async (path) => {
    expect((await plane.as('').get(path)).status).toBe(401);
  });
});

describe.each([
  ['AlwaysAllow', 200],
  ['AlwaysDeny', 403],
])('with --authorization-mode=%s', (mode, status) => {
  const plane = usePlane('plat', async (dir) => {
    await writeFile(`${dir}/tokens`, 'ann-token,ann,1\n');
    return ['--token-auth-file', `${dir}/tokens`, `--authorization-mode=${mode}`];
  });

  test(`a user gets ${status}, an administrator 200`, async () => {
    expect((await plane.as('ann-token').get('/api/v1/pods')).status).toBe(status);
    expect((await plane.get('/api/v1/pods')).status).toBe(200);
  });

  test('anonymous clients get nothing', async () => {
    const reply = await plane.as('').get('/api/v1/secrets');
    expect(reply.status).toBe(mode === 'AlwaysAllow' ? 401 : 403);
  });
});

describe('roles', () => {
  const plane = usePlane(
    'plat',
    tokens(
      'viewer-t,viewer,1',
      'editor-t,editor,2',
      'admin-t,admin,3',
      'root-t,root,4',
      'nobody-t,nobody,5',
      'fine-t,fine,6',
    ),
  );
  const rbac = (plural: string, namespace = ''): string =>
    plane.path('rbac.authorization/v1', namespace === '' ? plural : `namespaces/${namespace}/${plural}`);
  const folder = '/api/v1/namespaces/team';
  let other = '';
  beforeAll(async () => {
    await plane.post('/api/v1/namespaces', { metadata: { name: 'team' } });
    other = await plane.namespace();
    const user = (name: string): Json => ({ kind: 'User', name });
    await bind(plane, 'view', user('viewer'), nameOf(folder));
    await bind(plane, 'edit', user('editor'), nameOf(folder));
    await bind(plane, 'admin', user('admin'), nameOf(folder));
    await bind(plane, 'cluster-admin', user('root'));
    await eventually(async () => (await plane.as('root-t').get('/api/v1/nodes')).status === 200);
    await eventually(async () => (await plane.as('admin-t').get(`${folder}/pods`)).status === 200);
  });

  /** r: may, -: may not; in the order of the columns. */
  test.each<[string, string, string, string]>([
    ['GET', 'pods', '{ns}/pods', 'nobody- viewer+ editor+ admin+ root+'],
    ['GET', 'configmaps', '{ns}/configmaps', 'nobody- viewer+ editor+ admin+ root+'],
    ['GET', 'secrets', '{ns}/secrets', 'nobody- viewer- editor+ admin+ root+'],
    ['POST', 'configmaps', '{ns}/configmaps?dryRun=All', 'nobody- viewer- editor+ admin+ root+'],
    ['DELETE', 'all configmaps', '{ns}/configmaps?dryRun=All', 'nobody- viewer- editor+ admin+ root+'],
    ['GET', 'roles', '{rbac}/roles', 'nobody- viewer- editor- admin+ root+'],
    ['GET', 'nodes', '/api/v1/nodes', 'nobody- viewer- editor- admin- root+'],
    ['GET', 'pods of another namespace', '{other}/pods', 'nobody- viewer- editor- admin- root+'],
    ['GET', 'pods of all', '/api/v1/pods', 'nobody- viewer- editor- admin- root+'],
    ['GET', 'discovery', '/apis', 'nobody+ viewer+ editor+ admin+ root+'],
    ['GET', 'the version', '/version', 'nobody+ viewer+ editor+ admin+ root+'],
    ['GET', 'metrics', '/metrics', 'nobody- viewer- editor- admin- root+'],
    ['GET', 'health', '/readyz', 'nobody+ viewer+ editor+ admin+ root+'],
  ])('%s of %s at %s: %s', async (method, _, template, expected) => {
    const path = template
      .replace('{ns}', folder)
      .replace('{other}', other)
      .replace('{rbac}', rbac('', nameOf(folder)).replace(/\/$/, ''));
    const found: string[] = [];
    for (const user of ['nobody', 'viewer', 'editor', 'admin', 'root']) {
      const body = method === 'POST' ? configMap('x') : undefined;
      const { status } = await plane.as(`${user}-t`).call(method, path, body);
      found.push(`${user}${status === 403 ? '-' : '+'}`);
    }
    expect(found.join(' ')).toBe(expected);
  });

  test('403 names user, verb and resource', async () => {
    const response = await plane.as('nobody-t').get(`${folder}/pods/web`);
    expect(response.body).toMatchObject({
      kind: 'Status',
      status: 'Failure',
      reason: 'Forbidden',
      code: 403,
      message: `pods "web" is forbidden: User "nobody" cannot get resource "pods" in API group "" in the namespace "${nameOf(folder)}"`,
      details: { name: 'web', kind: 'pods' },
    });
    const cluster = await plane.as('nobody-t').get('/apis/apps/v1/deployments');
    expect(cluster.body.message).toContain(
      'User "nobody" cannot list resource "deployments" in API group "apps" at the cluster scope',
    );
    expect((await plane.as('nobody-t').get('/metrics')).body.message).toContain('cannot get path "/metrics"');
  });

  test.each<[string, Json, readonly string[], readonly string[]]>([
    [
      'verbs',
      { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] },
      ['GET configmaps/a'],
      ['GET configmaps', 'DELETE configmaps/a'],
    ],
    [
      'names',
      { apiGroups: [''], resources: ['configmaps'], resourceNames: ['a'], verbs: ['get', 'delete'] },
      ['GET configmaps/a', 'DELETE configmaps/a?dryRun=All'],
      ['GET configmaps/b', 'GET configmaps'],
    ],
    [
      'subresources',
      { apiGroups: [''], resources: ['pods/status'], verbs: ['get'] },
      ['GET pods/a/status'],
      ['GET pods/a'],
    ],
    [
      'all subresources',
      { apiGroups: [''], resources: ['*/status'], verbs: ['*'] },
      ['GET pods/a/status', 'GET services/a/status'],
      ['GET pods/a'],
    ],
    [
      'all resources of a group',
      { apiGroups: ['apps'], resources: ['*'], verbs: ['list'] },
      ['GET apps/deployments'],
      ['GET pods'],
    ],
    [
      'all groups',
      { apiGroups: ['*'], resources: ['deployments'], verbs: ['list'] },
      ['GET apps/deployments'],
      ['GET pods'],
    ],
  ])('rules by %s', async (_, rule, allowed, refused) => {
    const namespace = nameOf(await plane.namespace());
    const apiGroup = `rbac.authorization.${plane.words.apiGroupDomain}`;
    await plane.post(rbac('roles', namespace), { metadata: { name: 'fine' }, rules: [rule] });
    await plane.post(rbac('rolebindings', namespace), {
      metadata: { name: 'fine' },
      roleRef: { apiGroup, kind: 'Role', name: 'fine' },
      subjects: [{ kind: 'User', name: 'fine' }],
    });
    const may = async (line: string): Promise<boolean> => {
      const [method = '', rest = ''] = line.split(' ');
      const root = rest.startsWith('apps/') ? '/apis/apps/v1' : '/api/v1';
      const path = `${root}/namespaces/${namespace}/${rest.replace('apps/', '')}`;
      return (await plane.as('fine-t').call(method, path)).status !== 403;
    };
    await expect.poll(() => may(allowed[0] ?? ''), WAIT).toBe(true);
    expect(await Promise.all([...allowed, ...refused].map(may))).toEqual([
      ...allowed.map(() => true),
      ...refused.map(() => false),
    ]);
  });

  test('users cannot grant permissions that they do not have', async () => {
    const namespace = nameOf(folder);
    const admin = plane.as('admin-t');
    const apiGroup = `rbac.authorization.${plane.words.apiGroupDomain}`;
    const role = (name: string, resources: string[], groups = ['']): Json => ({
      metadata: { name },
      rules: [{ apiGroups: groups, resources, verbs: ['get'] }],
    });
    const binding = (name: string, kind: string, to: string): Json => ({
      metadata: { name },
      roleRef: { apiGroup, kind, name: to },
      subjects: [{ kind: 'User', name: 'nobody' }],
    });
    expect((await admin.post(rbac('roles', namespace), role('some', ['pods']))).status).toBe(201);
    const more = await admin.post(rbac('roles', namespace), role('more', ['nodes']));
    expect(more).toMatchObject({ status: 403, body: { reason: 'Forbidden' } });
    expect(more.body.message).toContain('attempting to grant RBAC permissions not currently held');
    expect((await admin.post(rbac('rolebindings', namespace), binding('b1', 'Role', 'some'))).status).toBe(
      201,
    );
    const raised = await admin.post(
      rbac('rolebindings', namespace),
      binding('b2', 'ClusterRole', 'cluster-admin'),
    );
    expect(raised.status).toBe(403);
    const everything = { rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] };
    expect((await admin.patch(`${rbac('roles', namespace)}/some`, everything)).status).toBe(403);
    await expect
      .poll(async () => (await plane.as('nobody-t').get(`${folder}/pods/x`)).status, WAIT)
      .toBe(404);
    await plane.delete(`${rbac('rolebindings', namespace)}/b1`);
    await expect
      .poll(async () => (await plane.as('nobody-t').get(`${folder}/pods/x`)).status, WAIT)
      .toBe(403);
  });

  describe('reviews', () => {
    const review = (kind: string, spec: Json, client: Client = plane): Promise<Reply> =>
      client.post(plane.path('authorization/v1', kind), { spec });
    const attributes = (verb: string, resource: string, more: Json = {}): Json => ({
      resourceAttributes: { namespace: nameOf(folder), verb, group: '', resource, ...more },
    });

    test.each<[string, Json, boolean]>([
      ['viewer', attributes('list', 'pods'), true],
      ['viewer', attributes('list', 'secrets'), false],
      ['viewer', attributes('list', 'pods', { namespace: 'elsewhere' }), false],
      ['editor', attributes('create', 'pods'), true],
      ['editor', attributes('create', 'pods', { group: 'other' }), false],
      ['viewer', attributes('get', 'pods', { subresource: 'log' }), true],
      ['nobody', { nonResourceAttributes: { path: '/version', verb: 'get' } }, false],
      ['root', { nonResourceAttributes: { path: '/metrics', verb: 'get' } }, true],
    ])('SubjectAccessReview of %s for %j: %s', async (user, spec, allowed) => {
      const { status, body } = await review('subjectaccessreviews', { ...spec, user });
      expect({ status, body }).toMatchObject({
        status: 201,
        body: { kind: 'SubjectAccessReview', spec: { user }, status: { allowed } },
      });
    });

    test('groups count, and one of user and groups is needed', async () => {
      const spec = attributes('list', 'nodes');
      expect(
        (await review('subjectaccessreviews', { ...spec, groups: ['system:masters'] })).body.status,
      ).toMatchObject({ allowed: true });
      expect((await review('subjectaccessreviews', spec)).status).toBe(422);
      expect((await review('subjectaccessreviews', { user: 'ann' })).status).toBe(422);
    });

    test('SelfSubjectAccessReview is about the requesting user', async () => {
      const requested = async (token: string): Promise<unknown> =>
        (await review('selfsubjectaccessreviews', attributes('delete', 'pods'), plane.as(token))).body.status[
          'allowed'
        ];
      expect([await requested('viewer-t'), await requested('editor-t')]).toEqual([false, true]);
    });

    test('LocalSubjectAccessReview is of its namespace', async () => {
      const path = plane.path('authorization/v1', `namespaces/${nameOf(folder)}/localsubjectaccessreviews`);
      const local = await plane.post(path, { spec: { ...attributes('list', 'pods'), user: 'viewer' } });
      expect(local.body.status).toMatchObject({ allowed: true });
      const foreign = attributes('list', 'pods', { namespace: 'elsewhere' });
      expect((await plane.post(path, { spec: { ...foreign, user: 'viewer' } })).status).toBe(422);
    });

    test('SelfSubjectRulesReview lists the rules', async () => {
      const spec = { namespace: nameOf(folder) };
      const { body } = await review('selfsubjectrulesreviews', spec, plane.as('viewer-t'));
      const { resourceRules = [], nonResourceRules = [] } = body.status as {
        resourceRules?: { resources: string[]; verbs: string[] }[];
        nonResourceRules?: { nonResourceURLs: string[] }[];
      };
      expect(resourceRules.find(({ resources }) => resources.includes('pods'))?.verbs).toContain('list');
      expect(resourceRules.some(({ resources }) => resources.includes('secrets'))).toBe(false);
      expect(nonResourceRules.flatMap(({ nonResourceURLs }) => nonResourceURLs)).toContain('/version');
    });

    test('TokenReview reports the user of a token', async () => {
      const path = plane.path('authentication/v1', 'tokenreviews');
      const known = await plane.post(path, { spec: { token: 'editor-t' } });
      expect(known).toMatchObject({
        status: 201,
        body: {
          kind: 'TokenReview',
          status: { authenticated: true, user: { username: 'editor', uid: '2' } },
        },
      });
      const unknown = await plane.post(path, { spec: { token: 'guess' } });
      expect(unknown.body.status['authenticated'] ?? false).toBe(false);
      expect((await plane.post(path, { spec: { token: '' } })).status).toBe(400);
    });

    test('reviews are not persisted', async () => {
      expect((await plane.get(plane.path('authorization/v1', 'subjectaccessreviews'))).status).toBe(405);
    });
  });
});
