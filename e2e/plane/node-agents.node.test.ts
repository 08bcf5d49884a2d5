/** Node proxy as seen by agents: requests, authentication, and treatment of responses. */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { Duplex } from 'node:stream';
import { connect, TLSSocket } from 'node:tls';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createAuthority } from '#api/pki/certificate.ts';
import { PORT_FORWARD_TUNNEL, REMOTE_COMMAND_V4, REMOTE_COMMAND_V5 } from '#api/vocabulary.ts';
import { agentCertificate } from './agent-certificate.ts';
import { type Reply, usePlane } from './support.ts';

const plane = usePlane('kubernetes');
const POD = '/api/v1/namespaces/default/pods/web';

/** A scripted agent. */
let agent: Server;
let respond: (message: IncomingMessage, response: ServerResponse) => void;
let upgrade: (message: IncomingMessage, socket: Duplex) => void;
let requested: string[];

beforeAll(async () => {
  const { certificate, key } = await agentCertificate(plane.server.dir, 'n1');
  const { ca } = plane.server.credentials();
  agent = createServer({ cert: certificate, key, ca, requestCert: true, rejectUnauthorized: false });
  agent.on('request', (message, response) => {
    const { socket } = message;
    const who =
      socket instanceof TLSSocket && socket.authorized ? socket.getPeerCertificate().subject.CN : '';
    requested.push(`${message.method} ${message.url} ${String(who)}`);
    respond(message, response);
  });
  agent.on('upgrade', (message: IncomingMessage, socket: Duplex) => {
    requested.push(`${message.method} ${message.url} ${message.headers.authorization ?? ''}`);
    upgrade(message, socket);
  });
  await new Promise<void>((resolve) => agent.listen(0, '127.0.0.1', resolve));
  const bound = agent.address();
  const port = typeof bound === 'object' ? (bound?.port ?? 0) : 0;
  const { nodeAgentEndpointMember } = plane.words;
  for (const [name, at] of [
    ['n1', port],
    ['away', 1],
    ['twin', port],
  ] as const) {
    await plane.post('/api/v1/nodes', { metadata: { name } });
    await plane.patch(`/api/v1/nodes/${name}/status`, {
      status: {
        addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
        daemonEndpoints: { [nodeAgentEndpointMember]: { Port: at } },
      },
    });
  }
  const containers = [{ name: 'main', image: 'x' }];
  for (const [name, nodeName] of [
    ['web', 'n1'],
    ['lost', 'away'],
    ['misled', 'twin'],
  ]) {
    await plane.post('/api/v1/namespaces/default/pods', {
      metadata: { name },
      spec: { nodeName, containers },
    });
  }
});
afterAll(async () => {
  agent.closeAllConnections();
  await new Promise((resolve) => agent.close(resolve));
});
beforeEach(() => {
  requested = [];
});

const says =
  (status: number, text: string, headers: Readonly<Record<string, string>> = {}) =>
  (_: IncomingMessage, response: ServerResponse): void =>
    void response.writeHead(status, headers).end(text);

describe('a log', () => {
  test('is authenticated by a user of its own', async () => {
    respond = says(200, 'a line\n');
    const reply = await plane.get(`${POD}/log?tailLines=5&timestamps=true`);
    expect([reply.status, reply.text, reply.headers['content-type']]).toEqual([
      200,
      'a line\n',
      'text/plain',
    ]);
    const { componentPrefix, agentComponent } = plane.words;
    expect(requested).toEqual([
      `GET /containerLogs/default/web/main?timestamps=true&tailLines=5 ${componentPrefix}-apiserver-${agentComponent}-client`,
    ]);
  });

  test.each([
    [400, 'bad container\n', 400, 'BadRequest', 'bad container'],
    [404, 'pod "web" does not exist\n', 404, 'NotFound', 'pod "web" does not exist'],
    [
      401,
      'Unauthorized',
      500,
      'InternalError',
      'the node agent rejects the credentials of this server: Unauthorized',
    ],
    [500, 'no runtime', 500, 'InternalError', 'no runtime'],
    [302, '', 500, 'InternalError', 'the node agent responded with 302'],
  ])('refused with %s is refused', async (status, text, code, reason, message) => {
    respond = says(status, text, { location: 'http://169.254.169.254/' });
    const { body } = await plane.get(`${POD}/log`);
    expect([body.code, body.reason, body.message]).toEqual([code, reason, message]);
    expect(requested).toHaveLength(1);
  });

  test('of an agent that is away is unavailable', async () => {
    const { body } = await plane.get(POD.replace('web', 'lost') + '/log');
    expect([body.code, body.reason]).toEqual([503, 'ServiceUnavailable']);
  });

  test("of another node's agent is not requested", async () => {
    const { body } = await plane.get(`${POD.replace('web', 'misled')}/log`);
    expect([body.code, body.reason]).toEqual([503, 'ServiceUnavailable']);
    expect(body.message).toContain('its certificate is issued to "system:node:n1"');
    expect((await plane.get('/api/v1/nodes/twin/proxy/pods')).status).toBe(503);
    expect(requested).toEqual([]);
  });

  test('that breaks off ends', async () => {
    respond = (_, response) => {
      response.writeHead(200);
      response.write('begun', () => response.destroy());
    };
    expect((await plane.get(`${POD}/log?follow=true`)).text).toBe('begun');
  });
});

describe('an agent whose certificate is checked', () => {
  const strict = usePlane('kubernetes', (dir) => checkedBy(dir));

  /** The agent's certificate is of no authority that is trusted here. */
  async function checkedBy(dir: string): Promise<readonly string[]> {
    const now = Date.now();
    const other = createAuthority({ commonName: 'other' }, new Date(now - 60_000), new Date(now + 3_600_000));
    await writeFile(`${dir}/agents.crt`, other.certificate);
    return ['--nodeagent-certificate-authority', `${dir}/agents.crt`];
  }

  test('is not believed, unless the client does not mind', async () => {
    respond = says(200, 'a line\n');
    const bound = agent.address();
    const port = typeof bound === 'object' ? (bound?.port ?? 0) : 0;
    await strict.post('/api/v1/nodes', { metadata: { name: 'n1' } });
    await strict.patch('/api/v1/nodes/n1/status', {
      status: {
        addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
        daemonEndpoints: { [strict.words.nodeAgentEndpointMember]: { Port: port } },
      },
    });
    await strict.post('/api/v1/namespaces/default/pods', {
      metadata: { name: 'web' },
      spec: { nodeName: 'n1', containers: [{ name: 'main', image: 'x' }] },
    });
    expect((await strict.get(`${POD}/log`)).status).toBe(503);
    expect((await strict.get('/api/v1/nodes/n1/proxy/pods')).status).toBe(503);
    expect(requested).toEqual([]);
    expect((await strict.get(`${POD}/log?insecureSkipTLSVerifyBackend=true`)).text).toBe('a line\n');
    // A program that listens on this machine sees no certificate of the server unless it has shown the right one.
    expect(requested).toEqual(['GET /containerLogs/default/web/main ']);
  });
});

describe('a stream', () => {
  /** Returns the whole response to a SPDY request, with the bytes after the head. */
  async function spdy(path: string, protocol = 'SPDY/3.1', more = ''): Promise<string> {
    const url = new URL(plane.server.url);
    const { ca, cert, key } = plane.server.credentials();
    const socket = connect({
      host: url.hostname,
      port: Number(url.port),
      ca,
      cert,
      key,
      ALPNProtocols: ['http/1.1'],
    });
    await once(socket, 'secureConnect');
    socket.write(
      `${protocol === 'websocket' ? 'GET' : 'POST'} ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\nContent-Length: 0\r\nX-Stream-Protocol-Version: a\r\n${more}\r\n`,
    );
    let text = '';
    for await (const part of socket as AsyncIterable<Buffer>) {
      text += part.toString();
      if (text.endsWith('ready')) socket.write('ping');
      if (text.endsWith('pong')) socket.end();
    }
    return text;
  }

  test('is passed on byte by byte', async () => {
    upgrade = (_, socket) => {
      socket.write(
        'HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: a\r\n\r\nready',
      );
      socket.once('data', (data: Buffer) => {
        expect(data.toString()).toBe('ping');
        socket.end('pong');
      });
    };
    const text = await spdy(`${POD}/exec?command=a&command=b&stdout=1&stdin=1`);
    expect(text).toMatch(/^HTTP\/1\.1 101 [\s\S]*X-Stream-Protocol-Version: a[\s\S]*\r\n\r\nreadypong$/);
    expect(requested).toEqual(['POST /exec/default/web/main?input=1&output=1&command=a&command=b ']);
  });

  const WAYS: readonly string[] = [
    `${POD}/exec?command=a&stdout=1`,
    `${POD}/attach?stdout=1`,
    `${POD}/portforward`,
    '/api/v1/nodes/n1/proxy/exec/',
  ];
  const key = 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
  const offering = (protocol: string): string => `${key}Sec-WebSocket-Protocol: ${protocol}\r\n`;
  const CLIENTS: Readonly<Record<string, readonly [protocol: string, headers: string]>> = {
    SPDY: ['SPDY/3.1', ''],
    WebSocket: ['websocket', offering(REMOTE_COMMAND_V4)],
    'WebSocket of the newest version': [
      'websocket',
      offering(`${REMOTE_COMMAND_V5}, ${PORT_FORWARD_TUNNEL}`),
    ],
  };

  test.each(
    Object.entries(CLIENTS).flatMap(([name, client]) =>
      WAYS.flatMap((path) => [200, 302, 307].map((code) => [name, path, code, client] as const)),
    ),
  )(
    'of %s to %s is not redirected if the agent responds with %i',
    async (_name, path, code, [protocol, more]) => {
      upgrade = (_, socket) => {
        socket.end(`HTTP/1.1 ${code} X\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n`);
      };
      const text = await spdy(path, protocol, more);
      expect(text).toMatch(/^HTTP\/1\.1 502 /);
      expect(text).toContain(`invalid upgrade response: status code ${code}`);
      expect(text).not.toContain('169.254');
      expect(requested).toHaveLength(1);
    },
  );

  test("that the agent rejects fails with the agent's error", async () => {
    upgrade = (_, socket) => {
      socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 6\r\n\r\nno pod');
    };
    expect(await spdy(WAYS[0] ?? '')).toMatch(/^HTTP\/1\.1 404 .*no pod$/s);
  });

  test.each([
    ['does not respond', () => undefined],
    [
      'opens no stream',
      (socket: Duplex) =>
        socket.write(
          `HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: ${REMOTE_COMMAND_V4}\r\n\r\n`,
        ),
    ],
  ])('whose client leaves an agent that %s ends there as well', async (_name, begin) => {
    const reached = Promise.withResolvers<Duplex>();
    upgrade = (_message, socket) => {
      begin(socket);
      reached.resolve(socket.resume());
    };
    const { hostname, port } = new URL(plane.server.url);
    const client = connect({ host: hostname, port: Number(port), ...plane.server.credentials() });
    await once(client, 'secureConnect');
    const [protocol, headers] = CLIENTS['WebSocket of the newest version'] ?? [];
    client.write(
      `GET ${WAYS[0]} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n${headers}\r\n`,
    );
    const atAgent = await reached.promise;
    const ended = once(atAgent, 'close');
    client.destroy();
    await expect(ended).resolves.toBeDefined();
  });

  const REFUSAL = 'container not found ("main")';
  test.each([
    ['with its length', `Content-Length: ${REFUSAL.length}\r\n\r\n${REFUSAL}`],
    ['up to the end of the connection', `Connection: close\r\n\r\n${REFUSAL}`],
    [
      'in chunks',
      `Transfer-Encoding: chunked\r\n\r\n${REFUSAL.length.toString(16)}\r\n${REFUSAL}\r\n0\r\n\r\n`,
    ],
  ])('that the agent refuses in plain text reaches the client as it is: %s', async (_, rest) => {
    upgrade = (__, socket) => {
      socket.end(`HTTP/1.1 500 Internal Server Error\r\nContent-Type: text/plain; charset=utf-8\r\n${rest}`);
    };
    for (const way of ['exec?command=a&stdout=1', 'attach?stdout=1', 'portforward?ports=80']) {
      const text = await spdy(`${POD}/${way}`);
      const [head = '', body = ''] = text.split('\r\n\r\n', 2);
      expect(head).toMatch(/^HTTP\/1\.1 500 /);
      expect(head.toLowerCase()).toContain(`\r\ncontent-length: ${REFUSAL.length}`);
      expect(head.toLowerCase()).not.toContain('transfer-encoding');
      expect(body).toBe(REFUSAL);
    }
  });

  test('of an agent that is away is unavailable', async () => {
    expect(await spdy(POD.replace('web', 'lost') + '/exec?command=a&stdout=1')).toMatch(/^HTTP\/1\.1 503 /);
  });
});

describe('a proxied request', () => {
  test('stays behind the server', async () => {
    respond = says(302, '', { location: '/elsewhere?a=1' });
    const viaProxy = (path: string): Promise<Reply> => plane.get(`/api/v1/nodes/n1/proxy/${path}`);
    const reply = await viaProxy('here');
    expect([reply.status, reply.headers['location']]).toEqual([302, '/api/v1/nodes/n1/proxy/elsewhere?a=1']);
    expect(requested.map((line) => line.split(' ')[1])).toEqual(['/here']);
  });

  test('does not forward the client’s credentials', async () => {
    const seen: string[] = [];
    respond = (message, response) => {
      seen.push(...Object.keys(message.headers));
      response.end();
    };
    const masters = { 'impersonate-user': 'ada', 'impersonate-group': 'system:masters' };
    const reply = await plane.get('/api/v1/nodes/n1/proxy/x', {
      ...masters,
      'x-remote-user': 'bob',
      origin: 'https://page.example',
    });
    expect(reply.status).toBe(200);
    expect(seen.filter((name) => /^(?:authorization|origin|impersonate-|x-remote-)/.test(name))).toEqual([]);
    expect(seen).toContain('x-forwarded-uri');
  });
});
