/** Client certificate of a node agent: bootstrap and renewal with a real server. Document 2 §3 and 5.9. */
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile, readlink, stat, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { createApiClient } from '#agent/api-client/client.ts';
import { loadClientConfig } from '#agent/api-client/credentials/load.ts';
import { resourceVersionOf } from '#agent/api-client/object-fields.ts';
import { type ClientCertificates, openClientCertificates } from '#agent/certs/client-certificates.ts';
import type { ClientCertificateDeps, ClientCertificateOptions } from '#agent/certs/client-place.ts';
import { certificateFiles } from '#agent/certs/files.ts';
import { formatPlatconfig } from '#agent/certs/platconfig.ts';
import { openServingCertificates } from '#agent/certs/serving-certificates.ts';
import { createTestAuthority, Killed, killedAt } from '#agent/certs/store.fixture.ts';
import type { ServingNames } from '#agent/certs/tls-source.ts';
import { type Clock, systemClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import type { Identity } from '#api/pki/certificate.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createTempDir } from '../../testing/temp.ts';
import { type Body, usePlane, VOCABULARY_NAMES } from './support.ts';

const { signal } = new AbortController();
const SECRET = '0123456789abcdef';

describe.each(VOCABULARY_NAMES)('%s', (vocabulary) => {
  const words = VOCABULARIES[vocabulary];
  const plane = usePlane(vocabulary, ['--enable-bootstrap-token-auth']);
  const requests = plane.path('certificates/v1', 'certificatesigningrequests');
  const deps: ClientCertificateDeps = {
    clock: systemClock,
    log: silentLogger,
    env: {},
    hasTerminal: false,
    passOn: () => undefined,
    vocabulary: words,
    userAgent: 'test/1',
  };

  /** Groups determine the permissions of a token. */
  async function addToken(id: string, groups = 'system:bootstrappers:nodes'): Promise<string> {
    const { status } = await plane.post(`/api/v1/namespaces/${words.systemNamespace}/secrets`, {
      metadata: { name: `bootstrap-token-${id}` },
      type: words.secretTypeBootstrapToken,
      stringData: {
        'token-id': id,
        'token-secret': SECRET,
        'usage-bootstrap-authentication': 'true',
        'auth-extra-groups': groups,
      },
    });
    expect([201, 409]).toContain(status);
    return `${id}.${SECRET}`;
  }

  /** A folder with a bootstrap configuration, and what the agent would be started with. */
  async function setUp(nodeName: string, token: string, authority = plane.server.credentials().ca) {
    const dir = await createTempDir('na-nc-');
    const options: ClientCertificateOptions = {
      nodeName,
      certDir: `${dir.path}/pki`,
      platconfig: `${dir.path}/platconfig`,
      bootstrapConfig: `${dir.path}/bootstrap`,
      rotate: true,
      once: true,
    };
    const tls = { authority, insecure: false };
    await writeFile(options.bootstrapConfig, formatPlatconfig({ server: plane.server.url, tls }, { token }));
    const current = `${options.certDir}/nodeagent-client-current.pem`;
    return {
      dir,
      options,
      current,
      certificate: async () => new X509Certificate(await readFile(current)),
      [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
    };
  }

  /** Status of a request for the node's own object: 404, because it is not registered. */
  async function whatNodeGets({ clientConfig }: ClientCertificates, name: string): Promise<unknown> {
    await using api = createApiClient(deps, clientConfig, { userAgent: 'test/1' });
    const address = { apiVersion: 'v1', resource: 'nodes', name };
    return await api.get(address, signal).catch((error: unknown) => error);
  }

  const requestsOf = async (nodeName: string): Promise<readonly Body[]> => {
    const { body } = await plane.get(requests);
    return body.items.filter(({ spec }) => {
      const der = Buffer.from(
        Buffer.from(String(spec['request']), 'base64')
          .toString()
          .replaceAll(/-----.*-----|\n/g, ''),
        'base64',
      );
      return der.includes(`system:node:${nodeName}`);
    });
  };

  async function decide(
    name: string,
    type: 'Approved' | 'Denied' | 'Failed',
    message = 'as I say',
  ): Promise<void> {
    const { body } = await plane.get(`${requests}/${name}`);
    const condition = { type, status: 'True', reason: 'ByHand', message };
    const subresource = type === 'Failed' ? 'status' : 'approval';
    const { status } = await plane.put(`${requests}/${name}/${subresource}`, {
      ...body,
      status: { ...body.status, conditions: [condition] },
    });
    expect(status).toBe(200);
  }

  /** A token that may create requests; an administrator must approve them. */
  async function askingToken(id: string): Promise<string> {
    const group = 'system:bootstrappers:grantees';
    const binding = {
      metadata: { name: 'grantees' },
      roleRef: {
        apiGroup: `rbac.authorization.${words.apiGroupDomain}`,
        kind: 'ClusterRole',
        name: 'system:node-bootstrapper',
      },
      subjects: [{ apiGroup: `rbac.authorization.${words.apiGroupDomain}`, kind: 'Group', name: group }],
    };
    await plane.post(plane.path('rbac.authorization/v1', 'clusterrolebindings'), binding);
    return await addToken(id, group);
  }

  test('gets one with a token, and a platconfig that names it', async () => {
    await using world = await setUp('first', await addToken('first0'));
    const certificates = await openClientCertificates(deps, world.options, signal);
    expect(await whatNodeGets(certificates, 'first')).toMatchObject({ status: 404 });
    const link = await readlink(world.current);
    expect(link).toMatch(/^nodeagent-client-\d{4}(-\d\d){5}\.pem$/);
    expect((await readdir(world.options.certDir)).toSorted()).toEqual([link, 'nodeagent-client-current.pem']);
    for (const file of [world.current, world.options.platconfig]) {
      expect((await stat(file)).mode & 0o777).toBe(0o600);
    }
    const { config } = await loadClientConfig(world.options.platconfig);
    expect(config.server).toBe(plane.server.url);
    expect((await world.certificate()).subject).toBe('O=system:nodes\nCN=system:node:first');
    // From now on it needs no server.
    await writeFile(world.options.bootstrapConfig, 'rubbish');
    await openClientCertificates(deps, world.options, signal);
  });

  test('accepts RSA keys too, and continues to use them', async () => {
    await using world = await setUp('rsa', await addToken('rsakey'));
    await openClientCertificates(deps, { ...world.options, keyType: 'rsa' }, signal);
    expect((await world.certificate()).publicKey.asymmetricKeyType).toBe('rsa');
    await writeFile(world.options.platconfig, 'rubbish');
    await openClientCertificates(deps, world.options, signal);
    expect((await world.certificate()).publicKey.asymmetricKeyType).toBe('rsa');
  });

  test('goes on from wherever it was killed, with the same key', async () => {
    const token = await addToken('killed');
    let finished = false;
    for (let step = 0; !finished; step += 1) {
      const name = `killed-${step}`;
      await using world = await setUp(name, token);
      const end: unknown = await openClientCertificates(
        { ...deps, files: killedAt(certificateFiles, step) },
        world.options,
        signal,
      ).catch((thrown: unknown) => thrown);
      finished = !(end instanceof Killed);
      const requested = await requestsOf(name);
      const certificates = await openClientCertificates(deps, world.options, signal);
      expect(await whatNodeGets(certificates, name), `after ${step} steps`).toMatchObject({ status: 404 });
      const all = await requestsOf(name);
      expect(all, `after ${step} steps`).toHaveLength(1);
      expect(requested.length === 0 || requested[0]?.metadata.uid === all[0]?.metadata.uid).toBe(true);
    }
  });

  test('waits for approval', async () => {
    await using world = await setUp('waits', await askingToken('waits0'));
    const waiting = Promise.withResolvers<string>();
    const opened = openClientCertificates({ ...deps, onWaiting: waiting.resolve }, world.options, signal);
    await decide(await waiting.promise, 'Approved');
    expect(await whatNodeGets(await opened, 'waits')).toMatchObject({ status: 404 });
  });

  test.each([
    ['Denied', /node-csr-\S+ was denied: ByHand: not you/, 'RequestDenied'],
    ['Failed', /signer rejected .*node-csr-\S+: ByHand: not you/, 'RequestFailed'],
  ] as const)(
    'reports a request that was %s, and creates another once it is removed',
    async (type, message, reason) => {
      const name = `is-${type.toLowerCase()}`;
      await using world = await setUp(name, await askingToken('denied'));
      const names: string[] = [];
      const reported = Promise.withResolvers<Error>();
      const log = {
        ...silentLogger,
        error: (fields: { readonly err?: Error }) => reported.resolve(fields.err ?? new Error('none')),
      };
      const onWaiting = (request: string): void => {
        names.push(request);
        void decide(request, names.length === 1 ? type : 'Approved', 'not you');
      };
      const opened = openClientCertificates(
        { ...deps, log, onWaiting },
        { ...world.options, once: false },
        signal,
      );
      const error = await reported.promise;
      expect(error.message).toMatch(message);
      expect(error).toMatchObject({ reason });
      await plane.delete(`${requests}/${names[0]}`);
      expect(await whatNodeGets(await opened, name)).toMatchObject({ status: 404 });
      // It is the requested key.
      expect(names).toEqual([names[0], names[0]]);
    },
  );

  test('reports an expired or unknown token', async () => {
    await using world = await setUp('unauthenticated', `nobody.${SECRET}`);
    await expect(openClientCertificates(deps, world.options, signal)).rejects.toMatchObject({
      reason: 'TokenRefused',
      message: expect.stringContaining('rejected the bootstrap token') as string,
    });
  });

  test('reports a token that is not for nodes', async () => {
    await using world = await setUp('other', await addToken('other0', 'system:bootstrappers:others'));
    await expect(openClientCertificates(deps, world.options, signal)).rejects.toMatchObject({
      reason: 'NotPermitted',
    });
  });

  test('reports another authority', async () => {
    const { authority } = createTestAuthority(Date.now());
    await using world = await setUp('mitm', await addToken('mitm00'), authority.certificate);
    await expect(openClientCertificates(deps, world.options, signal)).rejects.toMatchObject({
      reason: 'AuthorityMismatch',
    });
  });

  test('renews before the end, without a break', async () => {
    await using world = await setUp('renews', await addToken('renews'));
    const options = { ...world.options, expirationSeconds: 600 };
    let aheadMs = 0;
    const clock: Clock = { ...systemClock, now: () => Date.now() + aheadMs };
    const certificates = await openClientCertificates({ ...deps, clock }, options, signal);
    const first = await world.certificate();
    const lifeMs = Date.parse(first.validTo) - Date.parse(first.validFrom);
    expect(lifeMs).toBe(900_000);
    const listeners = new Set<() => void>();
    const onRenewed = (listener: () => void): (() => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    };
    await using api = createApiClient({ ...deps, onRenewed }, certificates.clientConfig, {
      userAgent: 'test/1',
    });
    expect((await plane.post('/api/v1/nodes', { metadata: { name: 'renews' } })).status).toBe(201);
    const nodes = { apiVersion: 'v1', resource: 'nodes' };
    const own = { fieldSelector: 'metadata.name=renews' };
    const begun = Promise.withResolvers<string>();
    const watching = (async () => {
      for await (const { object } of api.watch(nodes, signal, own)) {
        begun.resolve(resourceVersionOf(object) ?? '');
      }
    })();
    const version = await begun.promise;
    // Nine minutes later it is time; then the clock is right again.
    aheadMs = 540_000;
    const stop = new AbortController();
    const log = { ...silentLogger, info: () => void (aheadMs = 0) };
    const renewed = (): void => listeners.forEach((listener) => listener());
    const later = await openClientCertificates({ ...deps, clock, log, renewed }, options, signal);
    const running = later.run(stop.signal);
    // It ends in good order: there are other connections now.
    await watching;
    stop.abort();
    await running;
    const second = await world.certificate();
    expect(second.serialNumber).not.toBe(first.serialNumber);
    expect(second.publicKey.equals(first.publicKey)).toBe(false);
    // A successor continues from its state.
    const labels = { metadata: { labels: { a: 'b' } } };
    await plane.patch('/api/v1/nodes/renews', labels);
    for await (const { object } of api.watch(nodes, signal, { ...own, resourceVersion: version })) {
      expect(object).toMatchObject({ metadata: { labels: { a: 'b' } } });
      break;
    }
    expect(await requestsOf('renews')).toHaveLength(2);
  });

  test('gets another one with the token where the old one is over', async () => {
    await using world = await setUp('late', await addToken('late00'));
    const options = { ...world.options, expirationSeconds: 600 };
    await openClientCertificates(deps, options, signal);
    const first = await world.certificate();
    const clock: Clock = { ...systemClock, now: () => Date.now() + 601_000 };
    await expect(
      openClientCertificates({ ...deps, clock }, { ...options, bootstrapConfig: '' }, signal),
    ).rejects.toMatchObject({ reason: 'CertificateExpired' });
    await openClientCertificates({ ...deps, clock }, { ...world.options }, signal);
    expect((await world.certificate()).serialNumber).not.toBe(first.serialNumber);
  });

  test('the signer gives serving certificates, for what the node is called, and connections stay open', async () => {
    await using world = await setUp('serves', await addToken('serves'));
    const { clientConfig } = await openClientCertificates(deps, world.options, signal);
    let names: ServingNames = { dnsNames: ['serves'], ipAddresses: ['127.0.0.1'] };
    const listeners = new Set<() => void>();
    const requested: string[] = [];
    let waiting = Promise.withResolvers<string>();
    const source = await openServingCertificates(
      {
        ...deps,
        clientConfig: () => clientConfig,
        names: () => names,
        onNamesChange(listener) {
          listeners.add(listener);
          return () => void listeners.delete(listener);
        },
        onWaiting(request) {
          requested.push(request);
          waiting.resolve(request);
        },
      },
      { ...world.options, certFile: '', keyFile: '', bootstrap: true },
    );
    await using server = await echo(source.current());
    source.onChange((pair) => server.change(pair));
    const open = await server.connect();
    expect(open.getPeerX509Certificate()?.subject).toBe('CN=serves');
    const stop = new AbortController();
    const running = source.run(stop.signal);
    // Renamed before approval: a request for the new names with the same key is created.
    const first = await waiting.promise;
    waiting = Promise.withResolvers();
    names = { dnsNames: ['serves', 'serves.example.org'], ipAddresses: ['127.0.0.1', 'fd00::1'] };
    for (const listener of listeners) listener();
    const second = await waiting.promise;
    expect(second).not.toBe(first);
    const changed = Promise.withResolvers<Identity>();
    source.onChange((pair) => {
      const { issuer, subject } = new X509Certificate(pair.certificate);
      if (issuer !== subject) changed.resolve(pair);
    });
    await decide(second, 'Approved');
    const signed = new X509Certificate((await changed.promise).certificate);
    expect(signed.subject).toBe('O=system:nodes\nCN=system:node:serves');
    expect(signed.subjectAltName).toBe(
      'DNS:serves, DNS:serves.example.org, IP Address:127.0.0.1, IP Address:FD00:0:0:0:0:0:0:1',
    );
    const next = await server.connect(await readFile(`${plane.server.dir}/pki/node-serving-ca.crt`, 'utf8'));
    expect(next.authorized).toBe(true);
    expect(await server.say(open, 'still here')).toBe('still here');
    stop.abort();
    await running;
    // It is there at once at the next start.
    const again = await openServingCertificates(
      { ...deps, clientConfig: () => undefined, names: () => names },
      { ...world.options, certFile: '', keyFile: '', bootstrap: true },
    );
    expect(new X509Certificate(again.current().certificate).serialNumber).toBe(signed.serialNumber);
  });
});

/** A server that says everything back. */
async function echo({ certificate: cert, key }: Identity) {
  const server = createServer({ cert, key }, (socket) => socket.pipe(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sockets: TLSSocket[] = [];
  return {
    change: (pair: Identity): void => server.setSecureContext({ cert: pair.certificate, key: pair.key }),
    async connect(ca?: string): Promise<TLSSocket> {
      const trust = ca === undefined ? { rejectUnauthorized: false } : { ca };
      const socket = connect({ port, host: '127.0.0.1', servername: 'serves', ...trust });
      sockets.push(socket);
      await once(socket, 'secureConnect');
      return socket;
    },
    async say(socket: TLSSocket, text: string): Promise<string> {
      const response = once(socket, 'data');
      socket.write(text);
      return String((await response)[0]);
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
