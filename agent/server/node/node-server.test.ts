import { once } from 'node:events';
import { Agent, request } from 'node:https';
import { connect as connectTcp, createServer } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { afterEach, describe, expect, test } from 'vitest';
import { silentLogger } from '#api/kit/logger.ts';
import { createAuthority, type Identity, issueIdentity } from '#api/pki/certificate.ts';
import { negotiatedSuites } from '../../../testing/negotiated-suites.ts';
import { eventually } from '../../../testing/wait.ts';
import type { PodEntry } from '../../pods/slot.ts';
import {
  type NodeServer,
  type NodeServerDeps,
  type NodeServerOptions,
  startNodeServer,
} from './node-server.ts';
import type { Reviews } from './reviews.ts';
import { MOST_CONNECTIONS } from './serve.ts';

const FROM = new Date(Date.now() - 3_600_000);
const UNTIL = new Date(Date.now() + 3_600_000);
const authority = createAuthority({ commonName: 'ca' }, FROM, UNTIL);
const otherAuthority = createAuthority({ commonName: 'ca' }, FROM, UNTIL);
const serving = (): Identity =>
  issueIdentity(authority, {
    subject: { commonName: 'n1' },
    ipAddresses: ['127.0.0.1'],
    extendedUsages: ['serverAuth'],
    notBefore: FROM,
    notAfter: UNTIL,
  });
const client = (by: Identity, notAfter = UNTIL): Identity =>
  issueIdentity(by, {
    subject: { commonName: 'ada', organizations: ['g'] },
    extendedUsages: ['clientAuth'],
    notBefore: FROM,
    notAfter,
  });

const nothing = (): never => {
  throw new Error('not to be called');
};

const entry: PodEntry = {
  pod: { metadata: { namespace: 'default', name: 'web', uid: 'u1' } },
  origin: { source: 'file', location: '', document: '' },
  status: {},
  end: undefined,
  deletion: undefined,
};

const options: NodeServerOptions = {
  address: '127.0.0.1',
  port: 0,
  readOnlyPort: 0,
  nodeName: 'n1',
  metricsPrefix: 'agent',
  access: { tokens: false, anonymous: false, mode: 'AlwaysAllow' },
  cipherSuites: [],
  minVersion: '',
  debuggingHandlers: true,
  profilingHandler: true,
  debugFlagsHandler: true,
  systemLogs: undefined,
  streamIdleMs: 0,
};

const servers: NodeServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

interface Started {
  readonly port: number;
  readonly execs: () => number;
  readonly verbosities: readonly number[];
  /** Simulates a runtime outage that stops pod syncs. */
  readonly fail: (reason: string) => void;
  /** Replaces the certificate of the server. */
  readonly renew: () => void;
}

async function start(more: Partial<NodeServerOptions> = {}, reviews?: Reviews): Promise<Started> {
  let current = serving();
  let execs = 0;
  const verbosities: number[] = [];
  let problem: string | undefined;
  const listeners = new Set<(pair: Identity) => void>();
  const deps: NodeServerDeps = {
    log: silentLogger,
    localVolumes: undefined,
    health: { syncProblem: () => problem, waitLines: () => ['waiting for a friend (7 s)\n'] },
    tls: {
      current: () => current,
      onChange(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      run: () => Promise.resolve(),
    },
    clientAuthorities: { text: () => authority.certificate, onChange: () => () => undefined },
    reviews,
    configz: () => ({}),
    entries: () => [entry],
    find: () => entry,
    sandboxes: () => [],
    containers: () => [],
    logs: nothing,
    exec() {
      execs += 1;
      return Promise.reject(new Error('no runtime'));
    },
    attach: nothing,
    portForward: nothing,
    run: nothing,
    collect: nothing,
    cadvisor: nothing,
    setVerbosity: (verbosity) => void verbosities.push(verbosity),
    probes: () => [],
    collectedImages: () => [{ reason: 'space', images: 2, bytes: 300 }],
    counted: () => 'held 1\n',
  };
  const server = await startNodeServer(deps, { ...options, ...more });
  servers.push(server);
  return {
    port: server.port,
    execs: () => execs,
    verbosities,
    fail: (reason) => void (problem = reason),
    renew() {
      current = serving();
      for (const listener of listeners) listener(current);
    },
  };
}

interface Ask {
  readonly identity?: Identity;
  readonly headers?: Readonly<Record<string, string>>;
  readonly agent?: Agent;
  readonly method?: string;
  readonly body?: string;
}

/** Returns status and body. */
function ask(port: number, path: string, { identity, headers = {}, agent, method = 'GET', body }: Ask = {}) {
  const proof = identity === undefined ? {} : { cert: identity.certificate, key: identity.key };
  const common = { host: '127.0.0.1', port, path, method, ca: authority.certificate, headers };
  return new Promise<readonly [number, string]>((resolve, reject) => {
    request({ ...common, ...proof, agent: agent ?? false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.once('end', () => resolve([response.statusCode ?? 0, text]));
    })
      .once('error', reject)
      .end(body);
  });
}

async function secured(port: number): Promise<TLSSocket> {
  const socket = connect({ port, host: '127.0.0.1', ca: authority.certificate });
  await once(socket, 'secureConnect');
  return socket;
}

const serialOf = (socket: TLSSocket): string => socket.getPeerCertificate().serialNumber;

describe('startNodeServer', () => {
  test.each<[string, Identity, number]>([
    ['of its authority', client(authority), 200],
    ['of another with the same name', client(otherAuthority), 401],
    ['that has run out', client(authority, new Date(Date.now() - 1000)), 401],
    ['that is for servers', serving(), 401],
  ])('accepts or rejects a certificate %s', async (_, identity, status) => {
    const { port } = await start();
    expect((await ask(port, '/pods', { identity }))[0]).toBe(status);
  });

  test('authenticates no client with an invalid certificate', async () => {
    const { port } = await start({ access: { ...options.access, anonymous: true } });
    expect((await ask(port, '/pods'))[0]).toBe(200);
    expect((await ask(port, '/pods', { identity: client(otherAuthority) }))[0]).toBe(401);
  });

  test('requests no stream before authorization', async () => {
    const { port, execs } = await start();
    const headers = { connection: 'Upgrade', upgrade: 'SPDY/3.1' };
    const path = '/exec/default/web/c?output=1&command=id';
    expect(await ask(port, path, { headers, method: 'POST' })).toEqual([401, 'Unauthorized\n']);
    expect(execs()).toBe(0);
    const identity = client(authority);
    expect((await ask(port, path, { headers, method: 'POST', identity }))[0]).toBe(500);
    expect(execs()).toBe(1);
  });

  test('uses a new certificate for new connections, and leaves existing ones open', async () => {
    const { port, renew } = await start();
    const identity = client(authority);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    await ask(port, '/pods', { identity, agent });
    const before = await secured(port);
    renew();
    const after = await secured(port);
    expect(serialOf(after)).not.toBe(serialOf(before));
    expect((await ask(port, '/pods', { identity, agent }))[0]).toBe(200);
    expect(before.destroyed).toBe(false);
    for (const socket of [before, after]) socket.destroy();
    agent.destroy();
  });

  test.each([
    '/exec/default/web/c',
    '/containerLogs/default/web/c',
    '/configz',
    '/debug/pprof/',
    '/run/a/b/c',
  ])('has no %s without debugging handlers', async (path) => {
    const { port } = await start({ debuggingHandlers: false });
    const identity = client(authority);
    expect(await ask(port, path, { identity })).toEqual([405, 'Debug endpoints are disabled.\n']);
  });

  test.each<[string, Partial<NodeServerOptions>, string]>([
    ['/logs/', { systemLogs: undefined }, 'logs'],
    ['/debug/pprof/', { profilingHandler: false }, 'profiling'],
    ['/debug/flags/v', { debugFlagsHandler: false }, 'flags'],
  ])('has no %s when disabled', async (path, more, name) => {
    const { port } = await start(more);
    const response = await ask(port, path, { identity: client(authority) });
    expect(response).toEqual([405, `${name} endpoint is disabled.\n`]);
  });

  test('changes the log verbosity', async () => {
    const { port, verbosities } = await start();
    const identity = client(authority);
    const put = (body: string) => ask(port, '/debug/flags/v', { identity, method: 'PUT', body });
    expect(await put('5')).toEqual([200, 'successfully set klog.logging.verbosity to 5']);
    expect((await put('much'))[0]).toBe(400);
    expect((await put('5'.repeat(2000)))[0]).toBe(413);
    expect((await ask(port, '/debug/flags/v', { identity }))[0]).toBe(406);
    expect((await ask(port, '/debug/flags/x', { identity }))[0]).toBe(404);
    expect(verbosities).toEqual([5]);
  });

  test('reports its health, as a whole and by check', async () => {
    const { port, fail } = await start();
    const identity = client(authority);
    for (const path of ['', '/ping', '/log', '/syncloop']) {
      expect(await ask(port, `/healthz${path}`, { identity })).toEqual([200, 'ok']);
    }
    expect((await ask(port, '/healthz/other', { identity }))[0]).toBe(404);
    expect((await ask(port, '/healthz?verbose', { identity }))[1]).toBe(
      '[+]ping ok\n[+]log ok\n[+]syncloop ok\nwaiting for a friend (7 s)\nhealthz check passed\n',
    );
    fail('the runtime is away');
    expect(await ask(port, '/healthz', { identity })).toEqual([
      500,
      '[+]ping ok\n[+]log ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n',
    ]);
    expect(await ask(port, '/healthz/syncloop', { identity })).toEqual([
      500,
      'internal server error: the runtime is away\n',
    ]);
    expect((await ask(port, '/healthz?exclude=syncloop', { identity }))[0]).toBe(200);
    expect((await ask(port, '/healthz/ping', { identity }))[0]).toBe(200);
  });

  test('counts removed images', async () => {
    const { port } = await start();
    const [, text] = await ask(port, '/metrics', { identity: client(authority) });
    expect(text).toContain('agent_image_garbage_collected_total{reason="space"} 2\n');
    expect(text).toContain('agent_image_garbage_collected_bytes_total{reason="space"} 300\n');
    expect(text).toContain('held 1\n');
  });

  test('rejects older TLS versions', async () => {
    const { port } = await start({ minVersion: 'VersionTLS13' });
    const old = connect({ port, host: '127.0.0.1', ca: authority.certificate, maxVersion: 'TLSv1.2' });
    await expect(once(old, 'secureConnect')).rejects.toThrow(/version|closed|reset/i);
  });

  test('uses only its cipher suites', async () => {
    const suite = 'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384';
    const { port } = await start({ cipherSuites: [suite] });
    const options12 = { port, host: '127.0.0.1', ca: authority.certificate, maxVersion: 'TLSv1.2' } as const;
    const socket = connect(options12);
    await once(socket, 'secureConnect');
    expect(socket.getCipher().name).toBe('ECDHE-ECDSA-AES256-GCM-SHA384');
    socket.destroy();
    await expect(start({ cipherSuites: ['TLS_NO_SUCH'] })).rejects.toThrow('TLS_NO_SUCH is unknown');
  });

  test('uses only authenticated suites with forward secrecy', async () => {
    const { port } = await start();
    expect(await negotiatedSuites(port)).toEqual([
      'ECDHE-ECDSA-AES128-GCM-SHA256',
      'ECDHE-ECDSA-AES256-GCM-SHA384',
      'ECDHE-ECDSA-CHACHA20-POLY1305',
      'TLS_AES_128_GCM_SHA256',
      'TLS_AES_256_GCM_SHA384',
      'TLS_CHACHA20_POLY1305_SHA256',
    ]);
  });

  test('responds to authenticated clients despite many idle connections', async () => {
    const { port } = await start();
    const idle = ['127.0.0.1', '127.0.0.2'].flatMap((localAddress) =>
      Array.from({ length: 400 }, () => connectTcp({ port, host: '127.0.0.1', localAddress })),
    );
    for (const socket of idle) socket.on('error', () => undefined).resume();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    await eventually(() => idle.filter(({ closed }) => closed).length === 800 - MOST_CONNECTIONS);
    const identity = client(authority);
    expect((await ask(port, '/pods', { identity, agent }))[0]).toBe(200);
    const more = Array.from({ length: 200 }, () => connectTcp(port, '127.0.0.1'));
    for (const socket of more) socket.on('error', () => undefined).resume();
    await eventually(() => [...idle, ...more].filter(({ closed }) => !closed).length < MOST_CONNECTIONS);
    // Reuse the previous connection.
    const [free] = Object.values(agent.freeSockets);
    expect([free?.length, free?.[0]?.destroyed]).toEqual([1, false]);
    expect((await ask(port, '/pods', { identity, agent }))[0]).toBe(200);
    for (const socket of [...idle, ...more]) socket.destroy();
    agent.destroy();
  });

  test.each([
    [undefined, 200],
    ['http://localhost', 200],
    ['https://127.0.0.1', 401],
    ['https://evil.example', 401],
    ['null', 401],
  ])('handles the certificate of a WebSocket of a page at %s: %i', async (origin, status) => {
    const { port } = await start();
    const headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      ...(origin === undefined ? {} : { origin }),
    };
    const [code] = await ask(port, '/pods', { identity: client(authority), headers });
    // The endpoint does not serve WebSockets.
    expect(code).toBe(status === 200 ? 400 : status);
    const own = { ...headers, origin: `https://127.0.0.1:${port}` };
    expect((await ask(port, '/pods', { identity: client(authority), headers: own }))[0]).toBe(400);
  });

  test('releases both ports when one is in use', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const address = taken.address();
    const readOnlyPort = typeof address === 'object' ? (address?.port ?? 0) : 0;
    await expect(start({ readOnlyPort })).rejects.toThrow('--read-only-port: another program listens on');
    await new Promise((resolve) => taken.close(resolve));
  });
});

/** Subresources of the node by path, from upstream's documentation of node API authorization. */
const PART_OF: Readonly<Record<string, string>> = {
  '/stats': 'stats',
  '/stats/': 'stats',
  '/stats/summary': 'stats',
  '/stats/container': 'stats',
  '/metrics': 'metrics',
  '/metrics/': 'metrics',
  '/metrics/cadvisor': 'metrics',
  '/metrics/probes': 'metrics',
  '/metrics/resource': 'metrics',
  '/logs': 'log',
  '/logs/': 'log',
  '/logs/messages': 'log',
  '/spec': 'spec',
  '/spec/': 'spec',
  '/': 'proxy',
  '/healthz': 'proxy',
  '/healthz/log': 'proxy',
  '/pods': 'proxy',
  '/runningpods/': 'proxy',
  '/configz': 'proxy',
  '/exec/default/web/c': 'proxy',
  '/attach/default/web/c': 'proxy',
  '/portForward/default/web': 'proxy',
  '/run/default/web/c': 'proxy',
  '/containerLogs/default/web/c': 'proxy',
  '/debug/pprof/': 'proxy',
  '/debug/pprof/cmdline': 'proxy',
  '/debug/flags/v': 'proxy',
  '/statsx': 'proxy',
  '/metricsx': 'proxy',
  '/nosuch': 'proxy',
};

const VERB_OF: Readonly<Record<string, string>> = {
  GET: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
  // No role can grant these subresources.
  HEAD: '',
  OPTIONS: '',
};

/** Permissions of each user: verbs and subresources of nodes. */
const ROLES: Readonly<
  Record<string, { readonly verbs: readonly string[]; readonly parts: readonly string[] }>
> = {
  operator: {
    verbs: ['get', 'create', 'update', 'patch', 'delete'],
    parts: ['stats', 'metrics', 'log', 'spec', 'proxy'],
  },
  scraper: { verbs: ['get'], parts: ['stats', 'metrics'] },
  'system:serviceaccount:default:collector': { verbs: ['get'], parts: ['log'] },
  'system:node:n2': { verbs: [], parts: [] },
  nobody: { verbs: [], parts: [] },
};

const mayUse = (name: string, verb: string, part: string): boolean => {
  const role = ROLES[name];
  return role !== undefined && role.verbs.includes(verb) && role.parts.includes(part);
};

const roleReviews: Reviews = {
  userOfToken: (token) =>
    Promise.resolve(ROLES[token] === undefined ? undefined : { name: token, groups: [], extra: {} }),
  mayUse: ({ name }, { verb, subresource }) =>
    Promise.resolve({ allowed: mayUse(name, verb, subresource), reason: '' }),
};

describe.each([true, false])(
  'with anonymous=%s, every client has exactly the permissions of its roles',
  (anonymous) => {
    const access = { tokens: true, anonymous, mode: 'Webhook' } as const;
    const users = [...Object.keys(ROLES), 'unknown', ''];

    test.each(['HTTP/1.1', 'WebSocket'])('by %s', async (protocol) => {
      const { port } = await start({ access }, roleReviews);
      const agent = new Agent({ keepAlive: true, maxSockets: 8 });
      const upgrade = {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': Buffer.alloc(16).toString('base64'),
      };
      const wrong: string[] = [];
      const methods = protocol === 'WebSocket' ? ['GET'] : Object.keys(VERB_OF);
      const cases = Object.keys(PART_OF).flatMap((path) =>
        methods.flatMap((method) => users.map((user) => ({ path, method, user }))),
      );
      await Promise.all(
        cases.map(async ({ path, method, user }) => {
          const headers = {
            ...(user === '' ? {} : { authorization: `Bearer ${user}` }),
            ...(protocol === 'WebSocket' ? upgrade : {}),
          };
          const [status] = await ask(port, path, { method, headers, agent });
          const isKnown = ROLES[user] !== undefined || (user === '' && anonymous);
          const isAllowed = mayUse(user, VERB_OF[method] ?? '', PART_OF[path] ?? '');
          const expected = isAllowed ? 'authorized' : isKnown ? 403 : 401;
          const found = status === 401 || status === 403 ? status : 'authorized';
          if (found !== expected) wrong.push(`${user} ${method} ${path}: ${status}, not ${expected}`);
        }),
      );
      agent.destroy();
      expect(wrong).toEqual([]);
    });
  },
);

test.each([
  '/stats/../exec/default/web/c',
  '/metrics/%2e%2e/pods',
  '/stats%2f..%2fpods',
  '//pods',
  '/stats/..;/pods',
])('a path such as %s gives a scraper no access', async (path) => {
  const access = { tokens: true, anonymous: false, mode: 'Webhook' } as const;
  const { port, execs } = await start({ access }, roleReviews);
  const [status] = await ask(port, path, { headers: { authorization: 'Bearer scraper' } });
  expect(status).toBeGreaterThanOrEqual(400);
  expect(execs()).toBe(0);
});
