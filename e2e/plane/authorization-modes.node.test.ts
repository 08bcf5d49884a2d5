/** Authorization modes ABAC and Webhook, and several modes in order. Source: authorization, document 2 §5;
 *  upstream's modes, release 1.24. */
import { mkdir, writeFile } from 'node:fs/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { startTestPlane } from '#plane/main.fixture.ts';
import { createTempDir } from '../../testing/temp.ts';
import { type AccessWebhook, startAccessWebhook } from './access-webhook.ts';
import { type Json, type Plane, usePlane } from './support.ts';

const { domain: DOMAIN, apiGroupDomain: API } = VOCABULARIES.kubernetes;

const USERS = ['ann,ann,1,dev', 'bob,bob,2', 'eve,eve,3', 'sam,sam,4', 'root,root,5,system:masters'];

async function tokenFile(dir: string): Promise<readonly string[]> {
  await writeFile(`${dir}/tokens`, `${USERS.join('\n')}\n`);
  return [`--token-auth-file=${dir}/tokens`];
}

/** Lets a user do everything by RBAC. */
async function makeAdministrator(plane: Plane, name: string): Promise<void> {
  const apiGroup = `rbac.authorization.${plane.words.apiGroupDomain}`;
  const made = await plane.post(plane.path('rbac.authorization/v1', 'clusterrolebindings'), {
    metadata: { name },
    roleRef: { apiGroup, kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup, kind: 'User', name }],
  });
  expect(made.status).toBe(201);
}

const rulesOf = async (plane: Plane, token: string, namespace: string): Promise<Json> =>
  (
    await plane
      .as(token)
      .post(plane.path('authorization/v1', 'selfsubjectrulesreviews'), { spec: { namespace } })
  ).body.status;

describe.each(['v1', 'v1beta1'] as const)('Webhook before RBAC, %s', (version) => {
  let hook: AccessWebhook;
  const vocabulary = version === 'v1' ? 'kubernetes' : 'plat';
  const plane = usePlane(vocabulary, async (dir) => {
    await mkdir(`${dir}/hook`);
    hook = await startAccessWebhook(`${dir}/hook`);
    return [
      ...(await tokenFile(dir)),
      '--authorization-mode=Webhook,RBAC',
      `--authorization-webhook-config-file=${hook.configFile}`,
      `--authorization-webhook-version=${version}`,
      '--authorization-webhook-cache-unauthorized-ttl=0s',
    ];
  });
  afterAll(() => hook.stop());

  test('allows what the service allows, over mutual TLS, and caches it', async () => {
    const at = await plane.namespace();
    const get = () => plane.as('ann').get(`${at}/secrets`);
    expect((await get()).status).toBe(403);
    await hook.decide({ ann: { allowed: true, reason: 'because' } });
    expect((await get()).status).toBe(200);
    await hook.decide({});
    expect((await get()).status).toBe(200);
    const seen = await hook.reviewsOf('ann');
    expect(seen).toHaveLength(2);
    const groups = ['dev', 'system:authenticated'];
    expect(seen[1]).toEqual({
      client: 'the-api-server',
      path: '/authorize',
      review: {
        apiVersion: `authorization.${plane.words.apiGroupDomain}/${version}`,
        kind: 'SubjectAccessReview',
        metadata: { creationTimestamp: null },
        spec: {
          user: 'ann',
          uid: '1',
          ...(version === 'v1' ? { groups } : { group: groups }),
          resourceAttributes: {
            namespace: at.split('/').at(-1),
            verb: 'list',
            version: 'v1',
            resource: 'secrets',
          },
        },
        status: { allowed: false },
      },
    });
  });

  test('a denial ends the modes, no opinion does not', async () => {
    await makeAdministrator(plane, 'bob');
    expect((await plane.as('bob').get('/api/v1/nodes')).status).toBe(200);
    await hook.decide({ bob: { denied: true, reason: 'not today' } });
    const { status, body } = await plane.as('bob').get('/api/v1/nodes');
    expect([status, body.message]).toEqual([403, expect.stringMatching(/: not today$/)]);
    expect((await plane.as('root').get('/api/v1/nodes')).status).toBe(200);
    expect(await hook.reviewsOf('root')).toEqual([]);
  });

  test('the reasons of all modes are reported', async () => {
    await hook.decide({ eve: { allowed: false, reason: 'unknown to me' } });
    const { body } = await plane.as('eve').get('/api/v1/nodes');
    expect(body.message).toMatch(/cannot list resource "nodes".*: unknown to me$/);
  });

  test('the rules of a user are incomplete', async () => {
    await hook.decide({ eve: { allowed: true } });
    const rules = await rulesOf(plane, 'eve', 'default');
    expect(rules).toMatchObject({
      incomplete: true,
      evaluationError: 'webhook authorizer does not support user rule resolution',
    });
    expect(JSON.stringify(rules['resourceRules'])).toContain('"selfsubjectrulesreviews"');
  });

  test('without the service, the other modes decide, and nothing else is allowed', async () => {
    await hook.stop();
    await makeAdministrator(plane, 'sam');
    expect((await plane.as('sam').get('/api/v1/nodes')).status).toBe(200);
    expect((await plane.as('root').get('/api/v1/nodes')).status).toBe(200);
    const { status, body } = await plane.as('eve').get('/api/v1/persistentvolumes');
    expect([status, body.reason]).toEqual([500, 'InternalError']);
    expect(body.message).toMatch(/^Internal Server Error: "\/api\/v1\/persistentvolumes": .*ECONNREFUSED/);
    const review = await plane.post(plane.path('authorization/v1', 'subjectaccessreviews'), {
      spec: { user: 'eve', resourceAttributes: { verb: 'get', resource: 'nodes' } },
    });
    expect(review.body.status['allowed']).toBe(false);
    expect(review.body.status['evaluationError']).toContain('ECONNREFUSED');
  });
});

describe('ABAC', () => {
  const policy = (spec: Json): string =>
    JSON.stringify({ apiVersion: `abac.authorization.${DOMAIN}/v1beta1`, kind: 'Policy', spec });
  const plane = usePlane('kubernetes', async (dir) => {
    const lines = [
      '# policies',
      policy({ user: 'ann', namespace: 'ns-1', resource: '*', apiGroup: '*' }),
      policy({ user: 'bob', namespace: '*', resource: 'configmaps', apiGroup: '', readonly: true }),
      policy({ group: 'system:authenticated', nonResourcePath: '/version', readonly: true }),
      policy({ group: '*', resource: '*', apiGroup: `authorization.${API}` }),
      '{"user":"sam"}',
    ];
    await writeFile(`${dir}/policies`, lines.join('\n'));
    return [
      ...(await tokenFile(dir)),
      '--authorization-mode=ABAC',
      `--authorization-policy-file=${dir}/policies`,
    ];
  });
  const statusOf = async (user: string, method: string, path: string, body?: Json): Promise<number> =>
    (await plane.as(user).call(method, path, body)).status;
  const map = (name: string): Json => ({ metadata: { name } });

  test('allows what a policy matches', async () => {
    const one = await plane.namespace();
    const two = await plane.namespace();
    const statuses = await Promise.all([
      statusOf('ann', 'POST', `${one}/configmaps`, map('a')),
      statusOf('ann', 'POST', `${two}/configmaps`, map('a')),
      statusOf('bob', 'GET', `${two}/configmaps`),
      statusOf('bob', 'POST', `${two}/configmaps`, map('b')),
      statusOf('bob', 'GET', `${two}/secrets`),
      statusOf('bob', 'GET', '/version'),
      statusOf('bob', 'GET', '/metrics'),
      statusOf('', 'GET', '/version'),
      statusOf('sam', 'GET', '/metrics'),
      statusOf('sam', 'POST', `${two}/configmaps`, map('c')),
      statusOf('root', 'GET', '/api/v1/nodes'),
    ]);
    expect(statuses).toEqual([201, 403, 200, 403, 403, 200, 403, 403, 200, 201, 200]);
    const { body } = await plane.as('eve').get('/api/v1/nodes');
    expect(body.message).toMatch(/: No policy matched\.$/);
  });

  test('lists the rules of a user', async () => {
    expect(await rulesOf(plane, 'bob', 'default')).toEqual({
      resourceRules: [{ verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['configmaps'] }],
      nonResourceRules: [],
      incomplete: false,
    });
    expect((await rulesOf(plane, 'root', 'default'))['resourceRules']).toContainEqual({
      verbs: ['*'],
      apiGroups: ['*'],
      resources: ['*'],
    });
  });
});

test.each([
  ['--authorization-policy-file', 'ABAC', '{"user":1}', /line 1: .*must be a string/],
  ['--authorization-webhook-config-file', 'Webhook', '{"clusters":1}', /clusters/],
  ['--authorization-webhook-config-file', 'Webhook', undefined, /ENOENT|no such file/],
])('the server does not start with an invalid %s', async (flag, mode, content, expected) => {
  await using dir = await createTempDir('na-modes-');
  const file = `${dir.path}/file`;
  if (content !== undefined) await writeFile(file, content);
  await expect(startTestPlane([`--authorization-mode=${mode}`, `${flag}=${file}`])).rejects.toThrow(expected);
});
