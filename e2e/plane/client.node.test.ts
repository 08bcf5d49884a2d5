/** The agent's API client with a real server: every kind of credential of a client configuration. */
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiClient, createApiClient } from '#agent/api-client/client.ts';
import { loadClientConfig } from '#agent/api-client/credentials/load.ts';
import type { ApiClientDeps } from '#agent/api-client/sender.ts';
import { systemClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createAuthority, issueIdentity } from '#api/pki/certificate.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { startTestPlane, type TestPlane } from '#plane/main.fixture.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';

const { signal } = new AbortController();
const words = VOCABULARIES.plat;
const base64 = (text: string): string => Buffer.from(text).toString('base64');

let plane: TestPlane;
let dir: TempDir;

beforeAll(async () => {
  dir = await createTempDir('na-client-');
  await writeFile(`${dir.path}/tokens.csv`, 'good-token,ann,1,"system:masters"\nplain-token,bob,2\n');
  plane = await startTestPlane(['--token-auth-file', `${dir.path}/tokens.csv`, '--authorization-mode=RBAC']);
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  await dir[Symbol.asyncDispose]();
});

async function connect(
  name: string,
  user: object,
  deps: Partial<ApiClientDeps> = {},
): Promise<ApiClient & { readonly file: string }> {
  const { ca } = plane.credentials();
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'x',
    clusters: [{ name: 'x', cluster: { server: plane.url, 'certificate-authority-data': base64(ca) } }],
    users: [{ name: 'x', user }],
    contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
  };
  const file = `${dir.path}/${name}`;
  await writeFile(file, JSON.stringify(config), { mode: 0o600 });
  return { ...(await open(file, deps)), file };
}

async function open(file: string, deps: Partial<ApiClientDeps> = {}): Promise<ApiClient> {
  const { config } = await loadClientConfig(file);
  return createApiClient(
    {
      clock: systemClock,
      log: silentLogger,
      env: { PATH: process.env['PATH'] ?? '' },
      hasTerminal: false,
      passOn: () => undefined,
      ...deps,
    },
    config,
    { userAgent: 'test' },
  );
}

const maps = { apiVersion: 'v1', resource: 'configmaps', namespace: 'default' };

/** Returns the user that the server authenticated, from a 403 response. */
async function whoAmI(client: ApiClient): Promise<string> {
  const secret = { apiVersion: 'v1', resource: 'secrets', namespace: 'default', name: 'x' };
  const reported = await client.get(secret, signal).then(JSON.stringify, String);
  return /User "([^"]+)"/.exec(reported)?.[1] ?? reported;
}

test('does everything that objects need, with the configuration that the server wrote', async () => {
  await using client = await open(plane.platconfigFile);
  const one = { ...maps, name: 'one' };
  const created = await client.create(maps, { metadata: { name: 'one' }, data: { a: '1' } }, signal);
  const { resourceVersion } = (await client.list(maps, signal))['metadata'] as { resourceVersion: string };
  // The server may just be writing others into the namespace.
  const fieldSelector = 'metadata.name=one';
  const events = client.watch(maps, signal, { resourceVersion, fieldSelector });
  const next = async () => {
    const { value } = await events.next();
    return value === undefined ? undefined : [value.type, value.object['data']];
  };
  const patched = client.patch(one, { type: 'merge', content: { data: { b: '2' } } }, signal);
  expect(await next()).toEqual(['MODIFIED', { a: '1', b: '2' }]);
  await client.update(one, { ...(await patched), data: {} }, signal);
  expect(await next()).toEqual(['MODIFIED', undefined]);
  await client.delete(one, signal, { propagationPolicy: 'Background' });
  expect((await next())?.[0]).toBe('DELETED');
  await events.return();
  await expect(client.get(one, signal)).rejects.toMatchObject({
    name: 'ApiRequestError',
    status: 404,
    reason: 'NotFound',
    details: { name: 'one', kind: 'configmaps' },
  });
  expect(created['kind']).toBe('ConfigMap');
});

test('reports a watch from an invalid revision', async () => {
  await using client = await open(plane.platconfigFile);
  const events = client.watch(maps, signal, { resourceVersion: 'x' });
  await expect(events.next()).rejects.toMatchObject({ name: 'ApiRequestError', status: 400 });
});

test('ends a watch with the reason of its signal', async () => {
  await using client = await open(plane.platconfigFile);
  const ending = new AbortController();
  const events = client.watch(maps, ending.signal);
  const next = (async () => {
    for await (const event of events) void event;
  })();
  ending.abort(new Error('enough'));
  await expect(next).rejects.toThrow('enough');
});

test('requests impersonation', async () => {
  await using client = await connect('as', { token: 'good-token', as: 'jürgen', 'as-groups': ['a', 'b'] });
  expect(await whoAmI(client)).toBe('jürgen');
});

test('reports a token that the server does not know, and an unavailable server', async () => {
  await using client = await connect('bad', { token: 'wrong' });
  await expect(client.list(maps, signal)).rejects.toMatchObject({ status: 401, reason: 'Unauthorized' });
  const text = await readFile(client.file, 'utf8');
  await writeFile(`${dir.path}/away`, text.replace(plane.url, 'https://127.0.0.1:1'));
  await using away = await open(`${dir.path}/away`);
  await expect(away.list(maps, signal)).rejects.toMatchObject({
    name: 'ServerUnreachableError',
    message: expect.stringMatching(/^https:\/\/127\.0\.0\.1:1 did not respond: .*ECONNREFUSED/) as string,
  });
});

test('reads a token file again when its token is refused', async () => {
  await writeFile(`${dir.path}/token`, 'old-token');
  await using client = await connect('file', { tokenFile: 'token' });
  await expect(client.list(maps, signal)).rejects.toMatchObject({ status: 401 });
  await writeFile(`${dir.path}/token`, 'plain-token');
  expect(await whoAmI(client)).toBe('bob');
});

describe('a credential plugin', () => {
  const apiVersion = `client.authentication.${words.apiGroupDomain}/v1`;

  /** Prints the words of a file, one at each run; `body` makes the status. */
  async function plugin(name: string, body: string): Promise<object> {
    const path = `${dir.path}/${name}`;
    const script = `#!${process.execPath}
const { readFileSync, writeFileSync, appendFileSync } = require('node:fs');
const info = JSON.parse(process.env['${words.execInfoVariable}']);
appendFileSync(__filename + '.runs', JSON.stringify(info.spec) + '\\n');
const runs = readFileSync(__filename + '.runs', 'utf8').split('\\n').length - 1;
const status = (() => { ${body} })();
console.log(JSON.stringify({ kind: 'ExecCredential', apiVersion: info.apiVersion, status }));
`;
    await writeFile(path, script);
    await chmod(path, 0o755);
    return { exec: { command: `./${name}`, apiVersion, interactiveMode: 'Never', provideClusterInfo: true } };
  }
  const runsOf = async (name: string): Promise<readonly string[]> =>
    (await readFile(`${dir.path}/${name}.runs`, 'utf8')).trim().split('\n');

  test('is called again once when its token is rejected', async () => {
    const user = await plugin('login', "return { token: runs === 1 ? 'stale' : 'plain-token' }");
    await using client = await connect('exec', user);
    expect(await Promise.all([whoAmI(client), whoAmI(client)])).toEqual(['bob', 'bob']);
    expect(await whoAmI(client)).toBe('bob');
    const runs = await runsOf('login');
    expect(runs).toHaveLength(2);
    expect(JSON.parse(runs[0] ?? '')).toEqual({
      cluster: {
        server: plane.url,
        'certificate-authority-data': base64(plane.credentials().ca),
      },
      interactive: false,
    });
  });

  test('provides a certificate, with which connections are opened again', async () => {
    const otherAuthority = createAuthority({ commonName: 'other' }, new Date(0), new Date(4e12));
    const { cert, key } = plane.credentials();
    const known = JSON.stringify({ clientCertificateData: cert, clientKeyData: key });
    const unknown = JSON.stringify({
      clientCertificateData: otherAuthority.certificate,
      clientKeyData: otherAuthority.key,
    });
    const user = await plugin('certs', `return runs === 1 ? ${unknown} : ${known}`);
    await using client = await connect('exec-cert', user);
    // A certificate of an authority that the server does not know is as good as none, or is refused at the handshake.
    const lists = await client.list(maps, signal).catch((error: unknown) => error);
    expect(lists).toMatchObject({ kind: 'ConfigMapList' });
    expect(await runsOf('certs')).toHaveLength(2);
  });
});

describe('an oidc provider', () => {
  const authority = createAuthority({ commonName: 'idp' }, new Date(Date.now() - 1000), new Date(4e12));
  let provider: Server;
  const requested: string[] = [];

  beforeAll(async () => {
    const identity = issueIdentity(authority, {
      subject: { commonName: 'localhost' },
      notBefore: new Date(Date.now() - 1000),
      notAfter: new Date(Date.now() + 3_600_000),
      dnsNames: ['localhost'],
      extendedUsages: ['serverAuth'],
    });
    provider = createServer({ cert: identity.certificate, key: identity.key }, (request, response) => {
      const { port } = provider.address() as AddressInfo;
      const url = `https://localhost:${port}`;
      requested.push(`${request.method} ${request.url}`);
      response.setHeader('content-type', 'application/json');
      const claims = Buffer.from(JSON.stringify({ exp: 4e9 })).toString('base64url');
      const results: Readonly<Record<string, object>> = {
        '/.well-known/openid-configuration': { issuer: url, token_endpoint: `${url}/token` },
        '/token': { id_token: `e30.${claims}.c2ln`, refresh_token: 'next' },
      };
      response.end(JSON.stringify(results[request.url ?? '']));
    });
    await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => new Promise((resolve) => provider.close(resolve)));

  test('renews a token, and the file stores it', async () => {
    const { port } = provider.address() as AddressInfo;
    const config = {
      'idp-issuer-url': `https://localhost:${port}`,
      'client-id': 'c',
      'refresh-token': 'first',
      'idp-certificate-authority-data': base64(authority.certificate),
    };
    await using client = await connect('oidc', { 'auth-provider': { name: 'oidc', config } });
    // The server trusts another provider, or none: what counts is what was sent.
    await expect(client.list(maps, signal)).rejects.toMatchObject({ status: 401 });
    expect(requested.slice(0, 2)).toEqual(['GET /.well-known/openid-configuration', 'POST /token']);
    const text = await readFile(client.file, 'utf8');
    expect(text).toContain('"refresh-token": "next"');
    expect(text).toMatch(/"id-token": "e30\./);
  });
});
