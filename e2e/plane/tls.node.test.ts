/** TLS of the server and its certificates: configured files that are replaced while it runs, versions and suites, server
 *  names, headers for browsers. With real handshakes; upstream's options, release 1.24. */
import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { type ConnectionOptions, connect, type PeerCertificate } from 'node:tls';
import { promisify } from 'node:util';
import { Agent, request } from 'undici';
import { afterAll, describe, expect, test } from 'vitest';
import { createAuthority, createKey, formatKey, type Identity, issueIdentity } from '#api/pki/certificate.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { loadAuthority } from '#plane/identity/authorities.ts';
import { requestData } from '#plane/resources/groups/certificates/requests.fixture.ts';
import { negotiatedSuites } from '../../testing/negotiated-suites.ts';
import { type Body, type Json, usePlane, WAIT } from './support.ts';

const run = promisify(execFile);
const TERM = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
const newAuthority = (commonName: string): Identity =>
  createAuthority({ commonName }, TERM.notBefore, TERM.notAfter);
/** The authority of the server, whose certificates the fixture verifies. */
let root = newAuthority('root');

const serverPair = (commonName: string, ...dnsNames: readonly string[]): Identity =>
  issueIdentity(root, {
    subject: { commonName },
    dnsNames,
    ipAddresses: ['127.0.0.1'],
    extendedUsages: ['serverAuth'],
    ...TERM,
  });
const clientPair = (by: Identity, commonName: string): Identity =>
  issueIdentity(by, { subject: { commonName }, extendedUsages: ['clientAuth'], ...TERM });

/** As most programs do it: a new file takes the name of the old one. */
async function replace(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text);
  await rename(`${file}.new`, file);
}

async function writePair(file: string, { certificate, key }: Identity): Promise<void> {
  await replace(`${file}.crt`, certificate);
  await replace(`${file}.key`, key);
}

const portOf = (url: string): number => Number(new URL(url).port);

/** The name in the certificate that the server shows. */
async function shownName(url: string, options: ConnectionOptions = {}): Promise<string> {
  const socket = connect({
    port: portOf(url),
    host: '127.0.0.1',
    ca: root.certificate,
    rejectUnauthorized: false,
    ...options,
  });
  await once(socket, 'secureConnect');
  const { subject }: PeerCertificate = socket.getPeerCertificate();
  socket.destroy();
  return String(subject.CN);
}

describe('files that are replaced', () => {
  const { domain, apiServerClientSigner, nodeClientSigner } = VOCABULARIES.kubernetes;
  const [first, second] = [newAuthority('first clients'), newAuthority('second clients')];
  let folder = '';
  const plane = usePlane('kubernetes', async (dir) => {
    folder = dir;
    await mkdir(`${dir}/pki`);
    root = await loadAuthority(`${dir}/pki`, 'server-ca', Date.now());
    await writePair(`${dir}/tls`, serverPair('one', 'localhost'));
    await writePair(`${dir}/a`, serverPair('a-one', 'a.example.org'));
    await writePair(`${dir}/wild`, serverPair('wild', 'unused.example.org'));
    await writePair(`${dir}/signer`, newAuthority('signer one'));
    await writeFile(`${dir}/clients.crt`, first.certificate);
    await writeFile(`${dir}/tokens`, 'token-one,ann,1\n');
    return [
      `--cert-dir=${dir}/pki`,
      `--tls-cert-file=${dir}/tls.crt`,
      `--tls-private-key-file=${dir}/tls.key`,
      `--tls-sni-cert-key=${dir}/a.crt,${dir}/a.key`,
      `--tls-sni-cert-key=${dir}/wild.crt,${dir}/wild.key:*.example.org,example.com`,
      `--client-ca-file=${dir}/clients.crt`,
      `--token-auth-file=${dir}/tokens`,
      `--cluster-signing-${apiServerClientSigner}-cert-file=${dir}/signer.crt`,
      `--cluster-signing-${apiServerClientSigner}-key-file=${dir}/signer.key`,
    ];
  });
  const agents: Agent[] = [];
  afterAll(async () => {
    for (const agent of agents) await agent.destroy();
  });

  async function userOf(credentials: { readonly pair?: Identity; readonly token?: string }): Promise<string> {
    const { pair, token } = credentials;
    const agent = new Agent({
      connect: {
        ca: root.certificate,
        ...(pair === undefined ? {} : { cert: pair.certificate, key: pair.key }),
      },
    });
    agents.push(agent);
    const { body, statusCode } = await request(`${plane.server.url}/api/v1/nodes`, {
      dispatcher: agent,
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    });
    const { message } = (await body.json()) as { message: string };
    return statusCode === 401 ? '401' : (/User "([^"]*)"/.exec(message)?.[1] ?? String(statusCode));
  }

  test('a new serving certificate is shown to new connections, and an open one goes on', async () => {
    const { url } = plane.server;
    const open = new Agent({ connect: { ca: root.certificate }, connections: 1 });
    agents.push(open);
    const status = async (): Promise<number> => {
      const { statusCode, body } = await request(`${url}/version`, { dispatcher: open });
      await body.dump();
      return statusCode;
    };
    expect([await shownName(url), await status()]).toEqual(['one', 200]);
    await writePair(`${folder}/tls`, serverPair('two', 'localhost'));
    await expect.poll(() => shownName(url), WAIT).toBe('two');
    expect(await status()).toBe(200);
  });

  test('a broken certificate changes nothing', async () => {
    const { url } = plane.server;
    const before = await shownName(url);
    await replace(`${folder}/tls.crt`, 'rubbish');
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(await shownName(url)).toBe(before);
    await writePair(`${folder}/tls`, serverPair('three', 'localhost'));
    await expect.poll(() => shownName(url), WAIT).toBe('three');
  });

  test('certificates are chosen by server name: a name before a pattern', async () => {
    const named = (servername: string): Promise<string> => shownName(plane.server.url, { servername });
    expect([await named('a.example.org'), await named('b.example.org'), await named('EXAMPLE.com')]).toEqual([
      'a-one',
      'wild',
      'wild',
    ]);
    expect(await named('b.c.example.org')).toBe(await shownName(plane.server.url));
    await writePair(`${folder}/a`, serverPair('a-two', 'a.example.org'));
    await expect.poll(() => named('a.example.org'), WAIT).toBe('a-two');
  });

  test('clients of a new CA are accepted, those of the former one no longer', async () => {
    const [old, next] = [clientPair(first, 'ann'), clientPair(second, 'bob')];
    expect([await userOf({ pair: old }), await userOf({ pair: next })]).toEqual(['ann', '401']);
    await replace(`${folder}/clients.crt`, second.certificate);
    await expect.poll(() => userOf({ pair: next }), WAIT).toBe('bob');
    expect(await userOf({ pair: old })).toBe('401');
  });

  test('tokens of a new file are accepted, others no longer', async () => {
    expect(await userOf({ token: 'token-one' })).toBe('ann');
    await replace(`${folder}/tokens`, 'token-two,bob,2\n');
    await expect.poll(() => userOf({ token: 'token-two' }), WAIT).toBe('bob');
    expect(await userOf({ token: 'token-one' })).toBe('401');
    await replace(`${folder}/tokens`, 'token-three\n');
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(await userOf({ token: 'token-two' })).toBe('bob');
  });

  test('signers use their own CA, and one without leaves its requests to others', async () => {
    const admin = plane.server.credentials();
    const dispatcher = new Agent({ connect: { ...admin, ca: root.certificate } });
    agents.push(dispatcher);
    const requests = plane.path('certificates/v1', 'certificatesigningrequests');
    async function sign(name: string, signerName: string, spec: Json = {}): Promise<Body> {
      const csr = {
        metadata: { name },
        spec: { request: requestData({ commonName: name }), signerName, usages: ['client auth'], ...spec },
      };
      const made = await plane.post(requests, csr, { dispatcher });
      expect(made.status).toBe(201);
      const conditions = [{ type: 'Approved', status: 'True', reason: 'Test', message: 'test' }];
      const approved = { ...made.body, status: { conditions } };
      const { body } = await plane.put(`${requests}/${name}/approval`, approved, { dispatcher });
      return body;
    }
    async function issuerOf(name: string): Promise<string> {
      const { body } = await plane.call('GET', `${requests}/${name}`, undefined, { dispatcher });
      const pem = Buffer.from((body.status['certificate'] ?? '') as string, 'base64').toString();
      return pem === '' ? '' : new X509Certificate(pem).issuer;
    }
    const signer = `${domain}/${apiServerClientSigner}`;
    await sign('one', signer);
    await expect.poll(() => issuerOf('one'), WAIT).toBe('CN=signer one');
    await writePair(`${folder}/signer`, newAuthority('signer two'));
    await expect
      .poll(async () => {
        const name = `two-${Math.floor(performance.now())}`;
        await sign(name, signer);
        await new Promise((resolve) => setTimeout(resolve, 200));
        return issuerOf(name);
      }, WAIT)
      .toBe('CN=signer two');
    const usages = ['key encipherment', 'digital signature', 'client auth'];
    const node = { commonName: 'system:node:n', organizations: ['system:nodes'], key: createKey() };
    await sign('left', `${domain}/${nodeClientSigner}`, { usages, request: requestData(node) });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await issuerOf('left')).toBe('');
    expect(formatKey(node.key)).toContain('PRIVATE KEY');
  });
});

describe('versions and suites', () => {
  const plane = usePlane('kubernetes', [
    '--tls-min-version=VersionTLS12',
    '--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
  ]);

  test('only the configured suites are negotiated, and those of TLS 1.3', async () => {
    expect(await negotiatedSuites(portOf(plane.server.url))).toEqual([
      'ECDHE-ECDSA-AES256-GCM-SHA384',
      'TLS_AES_128_GCM_SHA256',
      'TLS_AES_256_GCM_SHA384',
      'TLS_CHACHA20_POLY1305_SHA256',
    ]);
  });

  test('openssl verifies the chain to the authority of the server alone', async () => {
    const { url, dir } = plane.server;
    const verify = async (authority: string): Promise<string> => {
      const args = [
        's_client',
        '-connect',
        `127.0.0.1:${portOf(url)}`,
        '-CAfile',
        `${dir}/pki/${authority}.crt`,
      ];
      const child = run('openssl', [...args, '-verify_return_error', '-brief']).catch((error: unknown) =>
        error instanceof Error ? { stdout: '', stderr: error.message } : { stdout: '', stderr: '' },
      );
      const { stdout, stderr } = await child;
      return /Verification: OK/.test(stdout + stderr) ? 'OK' : 'failed';
    };
    expect(await verify('server-ca')).toBe('OK');
    expect(await verify('ca')).toBe('failed');
  });
});

describe.each([
  ['VersionTLS13', 'TLSv1.2', false],
  ['VersionTLS11', 'TLSv1.1', true],
] as const)('with --tls-min-version=%s', (minimum, version, isAccepted) => {
  const plane = usePlane('kubernetes', [`--tls-min-version=${minimum}`]);

  test(`${version} is ${isAccepted ? 'accepted' : 'rejected'}`, async () => {
    const options = { minVersion: version, maxVersion: version, ciphers: 'DEFAULT:@SECLEVEL=0' } as const;
    const shown = shownName(plane.server.url, options).catch(() => 'rejected');
    expect(await shown).toBe(isAccepted ? 'control-plane-lite' : 'rejected');
  });
});

describe('headers for browsers', () => {
  const plane = usePlane('kubernetes', [
    '--strict-transport-security-directives=max-age=31536000,includeSubDomains',
    '--cors-allowed-origins=^https://good\\.example\\.org$,localhost',
  ]);
  const origin = (value: string): Readonly<Record<string, string>> => ({ origin: value });
  const ALLOWED = 'access-control-allow-origin';

  test('every response has the directives, failures too', async () => {
    const paths = ['/version', '/api/v1/namespaces', '/nowhere', '/api/v1/namespaces/none', '/%'];
    const replies = await Promise.all(paths.map((path) => plane.get(path)));
    const values = replies.map(({ headers }) => headers['strict-transport-security']);
    expect(values).toEqual(paths.map(() => 'max-age=31536000; includeSubDomains'));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 404, 404, 400]);
  });

  test.each([
    ['https://good.example.org', true],
    ['http://localhost:3000', true],
    ['https://good.example.org.evil.net', false],
    ['https://other.example.org', false],
  ])('pages of %s: %s', async (page, isAllowed) => {
    const { headers } = await plane.get('/version', origin(page));
    expect(headers[ALLOWED]).toBe(isAllowed ? page : undefined);
    expect(headers['access-control-allow-credentials']).toBe(isAllowed ? 'true' : undefined);
  });

  test('a preflight request needs no credentials', async () => {
    const ask = (page: string) =>
      plane.as('').call('OPTIONS', '/api/v1/secrets', undefined, { headers: origin(page) });
    const allowed = await ask('https://good.example.org');
    expect(allowed.status).toBe(204);
    expect(allowed.headers['access-control-allow-methods']).toBe('POST, GET, OPTIONS, PUT, DELETE, PATCH');
    expect((await ask('https://evil.example.org')).status).toBe(403);
  });
});
