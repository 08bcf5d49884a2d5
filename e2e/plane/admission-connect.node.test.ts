/** Admission of connections to pods, nodes and services, before any part of them reaches an agent.
 *  Source: operation CONNECT, document 2 §2.2 and 2.6. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { Duplex } from 'node:stream';
import { connect } from 'node:tls';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { REMOTE_COMMAND_V4 } from '#api/vocabulary.ts';
import { type Recorder, type ReviewRequest, startRecorder } from './admission-recorder.ts';
import { agentCertificate } from './agent-certificate.ts';
import { type Json, usePlane } from './support.ts';

const plane = usePlane('kubernetes');
const DEFAULT = '/api/v1/namespaces/default';
const POD = `${DEFAULT}/pods/web`;

let recorder: Recorder;
let agent: Server;
/** Requests that reached the agent. */
let reached: string[];

beforeAll(async () => {
  const { certificate, key } = await agentCertificate(plane.server.dir, 'n1');
  agent = createServer({ cert: certificate, key });
  agent.on('request', (message, response) => {
    reached.push(`${message.method} ${message.url}`);
    response.end('reached');
  });
  agent.on('upgrade', (message, socket: Duplex) => {
    reached.push(`${message.method} ${message.url}`);
    socket.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
  });
  await new Promise<void>((resolve) => agent.listen(0, '127.0.0.1', resolve));
  const bound = agent.address();
  const port = typeof bound === 'object' ? (bound?.port ?? 0) : 0;
  await plane.post('/api/v1/nodes', { metadata: { name: 'n1' } });
  await plane.patch('/api/v1/nodes/n1/status', {
    status: {
      addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
      daemonEndpoints: { [plane.words.nodeAgentEndpointMember]: { Port: port } },
    },
  });
  const spec = { nodeName: 'n1', containers: [{ name: 'main', image: 'x' }] };
  await plane.post(`${DEFAULT}/pods`, { metadata: { name: 'web' }, spec });
  await plane.post(`${DEFAULT}/services`, { metadata: { name: 'web' }, spec: { ports: [{ port: 80 }] } });
  recorder = await startRecorder(plane);
});
afterAll(async () => {
  await recorder[Symbol.asyncDispose]();
  agent.closeAllConnections();
  await new Promise((resolve) => agent.close(resolve));
});
beforeEach(() => {
  reached = [];
  recorder.requested.length = 0;
  recorder.judge = () => ({ allowed: true });
});

type Protocol = 'plain' | 'SPDY' | 'WebSocket';

const UPGRADES: Readonly<Record<Protocol, string>> = {
  plain: '',
  SPDY: `Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: ${REMOTE_COMMAND_V4}\r\n`,
  WebSocket: `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: ${REMOTE_COMMAND_V4}\r\n`,
};

/** The status of the response to a request as it goes over the wire. */
async function statusOf(method: string, path: string, protocol: Protocol): Promise<number> {
  const url = new URL(plane.server.url);
  const { ca, cert, key } = plane.server.credentials();
  const options = { host: url.hostname, port: Number(url.port), ca, cert, key };
  const socket = connect({ ...options, ALPNProtocols: ['http/1.1'] });
  await once(socket, 'secureConnect');
  const close = protocol === 'plain' ? 'Connection: close\r\n' : '';
  socket.write(
    `${method} ${path} HTTP/1.1\r\nHost: x\r\n${close}${UPGRADES[protocol]}Content-Length: 0\r\n\r\n`,
  );
  let text = '';
  for await (const part of socket as AsyncIterable<Buffer>) {
    text += part.toString();
    if (text.includes('\r\n\r\n')) socket.end();
  }
  return Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]);
}

const options = (kind: string, more: Json = {}): Json => ({ kind, apiVersion: 'v1', ...more });
const exec = options('PodExecOptions', {
  stdin: true,
  stdout: true,
  container: 'main',
  command: ['sh', '-c'],
});

/** Path, what admission sees of it, and what the agent does. */
const STREAMS: readonly (readonly [string, Json, string])[] = [
  [
    `${POD}/exec?command=sh&command=-c&stdin=1&stdout=true&stderr=false&container=main`,
    exec,
    '/exec/default/web/main?input=1&output=1&command=sh&command=-c',
  ],
  [
    `${POD}/attach?stdout=1&stderr=1`,
    options('PodAttachOptions', { stdout: true, stderr: true }),
    '/attach/default/web/main?output=1&error=1',
  ],
  [
    `${POD}/portforward?ports=80&ports=81`,
    options('PodPortForwardOptions', { ports: [80, 81] }),
    '/portForward/default/web?port=80%2C81',
  ],
];
const PROXIES: readonly (readonly [string, Json])[] = [
  [
    '/api/v1/nodes/n1/proxy/run/default/web/main?cmd=id',
    options('NodeProxyOptions', { path: '/run/default/web/main' }),
  ],
  ['/api/v1/nodes/n1/proxy/', options('NodeProxyOptions', { path: '/' })],
  ['/api/v1/nodes/n1/proxy', options('NodeProxyOptions')],
  [`${DEFAULT}/pods/http:web:8080/proxy/a%20b/`, options('PodProxyOptions', { path: '/a b/' })],
  [`${DEFAULT}/services/web:80/proxy/a`, options('ServiceProxyOptions', { path: '/a' })],
];
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'] as const;

interface Case {
  readonly method: string;
  readonly protocol: Protocol;
  readonly path: string;
  /** Expected admission request. */
  readonly seen: Json;
}

const STREAM_CASES: readonly (Case & { readonly at: string })[] = STREAMS.flatMap(([path, seen, at]) =>
  ['GET', 'POST'].flatMap((method) =>
    (['plain', 'SPDY', 'WebSocket'] as const).map((protocol) => ({ method, protocol, path, seen, at })),
  ),
);
const CASES: readonly Case[] = [
  ...STREAM_CASES,
  ...PROXIES.flatMap(([path, seen]) =>
    METHODS.map((method) => ({ method, protocol: 'plain' as const, path, seen })),
  ),
  ...PROXIES.slice(0, 1).flatMap(([path, seen]) =>
    (['SPDY', 'WebSocket'] as const).map((protocol) => ({ method: 'GET', protocol, path, seen })),
  ),
];

describe.each(CASES)('$method ($protocol) $path', ({ method, protocol, path, seen }) => {
  const [, resource, name, subResource] = /(pods|services|nodes)\/([^/]+)\/([a-z]+)/.exec(path) ?? [];

  test.each(['mutating', 'validating'])('a %s webhook refuses it before an agent hears of it', async (by) => {
    recorder.judge = (requested) =>
      requested.by === by ? { allowed: false, status: { code: 418, message: 'no' } } : { allowed: true };
    expect(await statusOf(method, path, protocol)).toBe(418);
    expect(reached).toEqual([]);
    const common = {
      operation: 'CONNECT',
      kind: { group: '', version: 'v1', kind: seen['kind'] },
      resource: { group: '', version: 'v1', resource },
      subResource,
      name,
      object: seen,
      oldObject: null,
      options: null,
    };
    const requested = by === 'mutating' ? ['mutating'] : ['mutating', 'validating'];
    expect(recorder.requested).toMatchObject(requested.map((each) => ({ ...common, by: each })));
    // Nothing of what is stored, either.
    expect(recorder.requested.map(({ object }) => object)).toEqual(requested.map(() => seen));
    expect(recorder.requested[0]?.namespace).toBe(resource === 'nodes' ? undefined : 'default');
  });
});

test.each(STREAM_CASES.filter(({ protocol }) => protocol !== 'plain'))(
  '$method ($protocol) $path is passed on once it is admitted',
  async ({ method, protocol, path, at }) => {
    await statusOf(method, path, protocol);
    expect(reached).toEqual([`${method} ${at}`]);
  },
);

describe('a connection that admission changes', () => {
  const patch = (value: unknown, path: string) => (requested: ReviewRequest) =>
    requested.by === 'validating'
      ? { allowed: true }
      : {
          allowed: true,
          patchType: 'JSONPatch',
          patch: Buffer.from(JSON.stringify([{ op: 'replace', path, value }])).toString('base64'),
        };

  test('proceeds as it was changed', async () => {
    recorder.judge = patch(['true'], '/command');
    await statusOf('POST', `${POD}/exec?command=sh&stdout=1`, 'SPDY');
    expect(reached).toEqual(['POST /exec/default/web/main?output=1&command=true']);
  });

  test('to another path leads there', async () => {
    recorder.judge = patch('/healthz', '/path');
    await statusOf('GET', '/api/v1/nodes/n1/proxy/run/x', 'plain');
    expect(reached).toEqual(['GET /healthz']);
  });
});

test('a log is read without being admitted', async () => {
  recorder.judge = () => ({ allowed: false });
  expect((await plane.get(`${POD}/log`)).text).toBe('reached');
  expect(recorder.requested).toEqual([]);
});

test('an invalid number is rejected before any call', async () => {
  expect((await plane.get(`${POD}/portforward?ports=x`)).status).toBe(400);
  expect(recorder.requested).toEqual([]);
});
