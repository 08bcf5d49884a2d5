/** An agent with webhook authentication and authorization by the API server. */
import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { beforeAll, describe, expect, test } from 'vitest';
import { tokens } from '../plane/support.ts';
import { useNode } from './support.ts';

const node = useNode({
  users: tokens('t-ops,ops,1', 't-reader,reader,2', 't-nobody,nobody,3'),
  flags: (plane) => [
    '--vocabulary=kubernetes',
    `--platconfig=${plane.server.platconfigFile}`,
    '--register-node=false',
    '--authentication-token-webhook=true',
    '--authorization-mode=Webhook',
  ],
});

interface Proof {
  readonly token?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** Returns the response status of a request. */
function statusOf(path: string, { token, ...pair }: Proof = {}): Promise<number> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const common = { host: '127.0.0.1', port: node.port(), path, headers, rejectUnauthorized: false };
  return new Promise((resolve, reject) => {
    request({ ...common, ...pair, agent: false }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0));
    })
      .once('error', reject)
      .end();
  });
}

beforeAll(async () => {
  const { plane } = node;
  const rbac = plane.path('rbac.authorization/v1', '');
  const bind = (user: string, role: string): Promise<unknown> =>
    plane.post(`${rbac}clusterrolebindings`, {
      metadata: { name: `${user}-on-nodes` },
      roleRef: {
        apiGroup: `rbac.authorization.${plane.words.apiGroupDomain}`,
        kind: 'ClusterRole',
        name: role,
      },
      subjects: [{ kind: 'User', name: user }],
    });
  await plane.post(`${rbac}clusterroles`, {
    metadata: { name: 'stats-reader' },
    rules: [{ apiGroups: [''], resources: ['nodes/stats'], verbs: ['get'] }],
  });
  await bind('reader', 'stats-reader');
  await bind('ops', `system:${plane.words.agentComponent}-api-admin`);
});

describe('an agent with webhook authorization', () => {
  test.each([
    ['ops', '/healthz', 200],
    ['ops', '/stats/summary', 200],
    ['ops', '/logs/', 200],
    ['reader', '/stats/summary', 200],
    ['reader', '/metrics', 403],
    ['reader', '/pods', 403],
    ['nobody', '/stats/summary', 403],
  ])('gives %s for %s: %s', async (user, path, status) => {
    expect(await statusOf(path, { token: `t-${user}` })).toBe(status);
  });

  test('rejects unknown clients', async () => {
    expect(await statusOf('/healthz', { token: 'made-up' })).toBe(401);
    expect(await statusOf('/healthz')).toBe(401);
  });

  test('authenticates the API server by its self-signed certificate', async () => {
    const folder = `${node.plane.server.dir}/pki/apiserver-node-client`;
    const [cert, key] = await Promise.all([
      readFile(`${folder}.crt`, 'utf8'),
      readFile(`${folder}.key`, 'utf8'),
    ]);
    expect(await statusOf('/pods', { cert, key })).toBe(200);
  });
});
