/** Authenticating proxy in a process of its own, over mutual TLS. Document 2 §5.5. */

import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:http2';
import { text } from 'node:stream/consumers';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Identity } from '#api/pki/certificate.ts';
import { freePort } from '../../testing/free-port.ts';
import { aggregate, BASE } from '../plane/extension-server.ts';
import { type Body, usePlane } from '../plane/support.ts';
import { type Child, startChild } from './child.ts';
import { authority, clientOf, serverOf } from './pki.ts';
import type { ProxyUser } from './proxy.program.ts';

const USERS: Readonly<Record<string, ProxyUser>> = {
  'password-of-ann': {
    name: 'ann',
    groups: ['dev', 'a, system:masters', 'ops'],
    extra: { 'Example.com%2fTeam': ['x', 'y'], scopes: ['one'] },
  },
  'password-of-the-boss': { name: 'boss', groups: ['system:masters'], extra: {} },
};

describe('an authenticating proxy', () => {
  const proxies = authority('proxies-ca');
  const imitators = authority('proxies-ca');
  const plane = usePlane('kubernetes', async (dir) => {
    await writeFile(`${dir}/proxies.pem`, proxies.certificate);
    await writeFile(`${dir}/tokens`, 'static,carl,1\n');
    return [
      `--requestheader-client-ca-file=${dir}/proxies.pem`,
      '--requestheader-allowed-names=proxy,other-proxy',
      '--requestheader-username-headers=X-First-User,X-Remote-User',
      '--requestheader-group-headers=X-Remote-Group,X-More-Groups',
      '--requestheader-extra-headers-prefix=X-Remote-Extra-',
      `--token-auth-file=${dir}/tokens`,
    ];
  });
  let proxy: Child;
  let front: Agent;
  let url = '';

  beforeAll(async () => {
    const ca = authority('front-ca');
    const own = serverOf(ca);
    const { certificate: cert, key } = clientOf(proxies, 'proxy');
    const port = await freePort();
    proxy = await startChild('proxy.program.ts', {
      port,
      cert: own.certificate,
      key: own.key,
      target: plane.server.url,
      ca: plane.server.credentials().ca,
      client: { cert, key },
      users: USERS,
    });
    url = `https://127.0.0.1:${port}`;
    front = new Agent({ connect: { ca: ca.certificate } });
  });
  afterAll(async () => {
    await front.destroy();
    await proxy.stop();
  });

  async function through(password: string, method: 'GET' | 'POST', path: string, body?: object) {
    const response = await request(url + path, {
      method,
      dispatcher: front,
      headers: {
        authorization: `Basic ${Buffer.from(`me:${password}`).toString('base64')}`,
        'content-type': 'application/json',
        'x-remote-user': 'forged',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const content = await response.body.text();
    return { status: response.statusCode, body: JSON.parse(content === '' ? '{}' : content) as Body };
  }

  /** Sends headers directly, with a certificate or without. */
  async function direct(
    headers: readonly string[],
    identity: Identity | undefined,
    path = '/api/v1/nodes',
  ): Promise<{ readonly status: number; readonly body: Body }> {
    const client = identity && { cert: identity.certificate, key: identity.key };
    const agent = new Agent({ connect: { ca: plane.server.credentials().ca, ...client } });
    const response = await request(plane.server.url + path, { dispatcher: agent, headers: [...headers] });
    const body = (await response.body.json()) as Body;
    await agent.destroy();
    return { status: response.statusCode, body };
  }
  const message = ({ status, body }: { readonly status: number; readonly body: Body }) => [
    status,
    body.message,
  ];
  const forbiddenFor = (user: string): readonly unknown[] => [
    403,
    expect.stringContaining(`User "${user}" cannot list`),
  ];

  async function bind(role: string, kind: string, name: string): Promise<void> {
    const apiGroup = `rbac.authorization.${plane.words.apiGroupDomain}`;
    await plane.post(plane.path('rbac.authorization/v1', 'clusterrolebindings'), {
      metadata: { name },
      roleRef: { apiGroup, kind: 'ClusterRole', name: role },
      subjects: [{ apiGroup, kind, name }],
    });
  }

  test('identifies its users, each with their own permissions', async () => {
    expect(message(await through('password-of-ann', 'GET', '/api/v1/nodes'))).toEqual(forbiddenFor('ann'));
    expect((await through('password-of-the-boss', 'GET', '/api/v1/nodes')).status).toBe(200);
    const review = { spec: { token: 'static' } };
    expect(
      (await through('password-of-the-boss', 'POST', plane.path('authentication/v1', 'tokenreviews'), review))
        .status,
    ).toBe(201);
    expect((await through('wrong', 'GET', '/api')).status).toBe(407);
  });

  test('passes on name, groups and extra information unchanged', async () => {
    await bind('view', 'Group', 'ops');
    expect((await through('password-of-ann', 'GET', '/api/v1/pods')).status).toBe(200);
    // Extra information is seen by servers that requests are delegated to.
    const extension = await aggregate(plane);
    await bind('cluster-admin', 'User', 'ann');
    const { status } = await through('password-of-ann', 'GET', `${BASE}/widgets`);
    const raw = extension.requests.at(-1)?.rawHeaders ?? [];
    await extension[Symbol.asyncDispose]();
    const values = (name: string) =>
      raw.filter((_, index) => index % 2 === 1 && raw[index - 1]?.toLowerCase() === name);
    expect(status).toBe(200);
    expect(values('x-remote-user')).toEqual(['ann']);
    expect(values('x-remote-group')).toEqual(['dev', 'a, system:masters', 'ops', 'system:authenticated']);
    expect(values('x-remote-extra-example.com%2fteam')).toEqual(['x', 'y']);
    expect(values('x-remote-extra-scopes')).toEqual(['one']);
    expect(extension.clients).toEqual(new Set(['front-proxy-client']));
  });

  const trusted = clientOf(proxies, 'other-proxy');
  test.each([
    ['the first header with a value', ['x-remote-user', 'b', 'x-first-user', 'a'], 'a'],
    ['the second one, where the first is empty', ['x-first-user', '', 'x-remote-user', 'b'], 'b'],
    ['names beyond ASCII', ['x-remote-user', Buffer.from('ännchen').toString('latin1')], 'ännchen'],
  ])('names the user by %s', async (_, headers, user) => {
    expect(message(await direct(headers, trusted))).toEqual(forbiddenFor(user));
  });

  test('works over HTTP/2 as well, with repeated headers', async () => {
    const session = connect(plane.server.url, {
      ca: plane.server.credentials().ca,
      cert: trusted.certificate,
      key: trusted.key,
    });
    const stream = session.request({
      ':path': '/api/v1/nodes',
      'x-remote-user': 'ann',
      'x-remote-group': ['dev', 'system:masters'],
    });
    const [headers] = (await once(stream, 'response')) as [Readonly<Record<string, unknown>>];
    await text(stream);
    session.close();
    expect(headers[':status']).toBe(200);
  });

  const BOSS = ['x-remote-user', 'boss', 'x-remote-group', 'system:masters'];
  test.each([
    ['without a certificate', undefined, forbiddenFor('system:anonymous')],
    ['with a certificate of another CA', clientOf(imitators, 'proxy'), [401, 'Unauthorized']],
    ['with a name that is not allowed', clientOf(proxies, 'robot'), [401, 'Unauthorized']],
  ])('is not imitated %s', async (_, identity, expected) => {
    expect(message(await direct(BOSS, identity))).toEqual(expected);
  });

  test('is nobody without the header of a user', async () => {
    expect((await direct(['x-remote-group', 'system:masters'], trusted)).status).toBe(401);
  });

  test('does not keep other clients from their own certificates and tokens', async () => {
    expect((await plane.get('/api/v1/nodes', { 'x-remote-user': 'ann' })).status).toBe(200);
    const carl = await plane.as('static', { 'x-remote-user': 'boss' }).get('/api/v1/nodes');
    expect(message(carl)).toEqual(forbiddenFor('carl'));
  });

  test('is published for extension servers', async () => {
    const path = `/api/v1/namespaces/${plane.words.systemNamespace}/configmaps/extension-apiserver-authentication`;
    const { body } = await plane.get(path);
    expect(body.data).toMatchObject({
      'requestheader-allowed-names': '["front-proxy-client","proxy","other-proxy"]',
      'requestheader-username-headers': '["X-Remote-User","X-First-User"]',
      'requestheader-group-headers': '["X-Remote-Group","X-More-Groups"]',
      'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
    });
    expect(body.data['requestheader-client-ca-file']).toContain(proxies.certificate.trim());
  });
});
