import { generateKeyPairSync } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from 'node:net';
import {
  Server as GrpcServer,
  ServerCredentials,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import forge from 'node-forge';
import { afterEach, describe, expect, test } from 'vitest';
import type { HTTPGetAction, Probe } from '#api/gen/core-v1.ts';
import { CriError } from '#cri/errors.ts';
import { encodeHealthRequest } from './grpc-health.ts';
import { type ProbeResult } from './probe-types.ts';
import { createProbeRunner } from './runner.ts';

const open: (() => void)[] = [];
afterEach(() => {
  for (const close of open.splice(0)) close();
});

async function listen(server: Server | TcpServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

const run = (probe: Probe, signal: AbortSignal = new AbortController().signal): Promise<ProbeResult> =>
  createProbeRunner({
    execSync: () => Promise.reject(new Error('no exec here')),
    userAgent: 'prober/test',
  })(
    {
      probe,
      container: { name: 'app', ports: [{ name: 'http', containerPort: 1 }] },
      containerId: 'c1',
      podIP: '127.0.0.1',
      timeoutMs: 5000,
    },
    signal,
  );

describe('HTTP', () => {
  const serve = (listener: RequestListener): Promise<number> => listen(createServer(listener));
  const get = async (listener: RequestListener, action: Partial<HTTPGetAction> = {}): Promise<ProbeResult> =>
    run({ httpGet: { port: await serve(listener), ...action } });

  test.each<[number, ProbeResult['outcome']]>([
    [200, 'success'],
    [204, 'success'],
    [304, 'warning'],
    [302, 'warning'],
    [400, 'failure'],
    [404, 'failure'],
    [503, 'failure'],
  ])('status %d is %s', async (statusCode, outcome) => {
    expect(await get((_, response) => response.writeHead(statusCode).end())).toMatchObject({ outcome });
  });

  test('requests the path with its query and a user agent', async () => {
    let seen: IncomingMessage | undefined;
    await get(
      (request, response) => {
        seen = request;
        response.end('fine');
      },
      {
        path: '/a b?x=1&y=/',
        httpHeaders: [
          { name: 'X-Two', value: '1' },
          { name: 'x-two', value: '2' },
        ],
      },
    );
    expect(seen?.url).toBe('/a%20b?x=1&y=/');
    expect(seen?.headers).toMatchObject({
      'user-agent': 'prober/test',
      accept: '*/*',
      'x-two': '1, 2',
      connection: 'close',
    });
  });

  test('the action may set host and user agent, and omit Accept', async () => {
    let seen: IncomingMessage | undefined;
    const httpHeaders = [
      { name: 'Host', value: 'shop.example' },
      { name: 'User-Agent', value: 'mine' },
      { name: 'Accept', value: '' },
    ];
    await get(
      (request, response) => {
        seen = request;
        response.end();
      },
      { httpHeaders },
    );
    expect(seen?.headers).toMatchObject({ host: 'shop.example', 'user-agent': 'mine' });
    expect(seen?.headers).not.toHaveProperty('accept');
  });

  test('a path that looks like another host stays a path', async () => {
    let url: string | undefined;
    const result = await get(
      (request, response) => {
        url = request.url;
        response.end();
      },
      { path: '//192.0.2.1/x' },
    );
    expect(result.outcome).toBe('success');
    expect(url).toBe('//192.0.2.1/x');
  });

  test('follows redirects within the host', async () => {
    const other = await serve((_, response) => response.writeHead(200).end('there'));
    const result = await get((request, response) => {
      const location = request.url === '/' ? '/next' : `http://127.0.0.1:${other}/`;
      response.writeHead(302, { location }).end();
    });
    expect(result).toEqual({ outcome: 'success', output: 'there' });
  });

  test.each([
    ['another host', 'http://localhost:1/'],
    ['another protocol', 'ftp://127.0.0.1/'],
    ['nonsense', 'http://['],
  ])('does not follow a redirect to %s', async (_, location) => {
    const result = await get((_request, response) => response.writeHead(301, { location }).end());
    const output = `redirect to ${location} was not followed (301)`;
    expect(result).toEqual({ outcome: 'warning', output });
  });

  test('truncates the target of a redirect', async () => {
    const location = `http://localhost:1/${'x'.repeat(5000)}`;
    const result = await get((_request, response) => response.writeHead(301, { location }).end());
    expect(result.output).toContain('redirect to http://localhost:1/xxx');
    expect(result.output.length).toBeLessThan(600);
  });

  test('stops following a redirect loop', async () => {
    const result = await get((_, response) => response.writeHead(302, { location: '/' }).end());
    expect(result).toMatchObject({ outcome: 'failure' });
    expect(result.output).toContain('10 redirects');
  });

  test('reads 10 KiB of an endless body and closes the connection', async () => {
    const hungUp = Promise.withResolvers<void>();
    const result = await get((_, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(4096)));
      };
      response.on('drain', more).on('close', hungUp.resolve);
      more();
    });
    expect(result.outcome).toBe('success');
    expect(result.output).toHaveLength(10 * 1024);
    await hungUp.promise;
  });

  test.each<[string, RequestListener]>([
    ['hangs up', (_, response) => response.destroy()],
    [
      'breaks off its body',
      (_, response) => {
        response.writeHead(200, { 'content-length': 10 }).write('x', () => response.destroy());
      },
    ],
  ])('a server that %s fails', async (_, listener) => {
    expect(await get(listener)).toMatchObject({ outcome: 'failure' });
  });

  test('a header that cannot be sent fails', async () => {
    const httpHeaders = [{ name: 'X-Bad', value: 'a\nb' }];
    expect(await get((_, response) => response.end(), { httpHeaders })).toMatchObject({ outcome: 'failure' });
  });

  test('rejects when it is aborted', async () => {
    const abort = new AbortController();
    const port = await serve(() => abort.abort(new Error('given up')));
    await expect(run({ httpGet: { port } }, abort.signal)).rejects.toThrow('given up');
  });

  test('accepts any certificate', async () => {
    const server = createTlsServer(expiredCertificate(), (_, response) => response.end('secret'));
    const port = await listen(server);
    const result = await run({ httpGet: { port, scheme: 'HTTPS' } });
    expect(result).toEqual({ outcome: 'success', output: 'secret' });
  });
});

function expiredCertificate(): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = forge.pki.publicKeyFromPem(publicKey);
  certificate.serialNumber = '01';
  certificate.validity.notBefore = new Date(0);
  certificate.validity.notAfter = new Date(1000);
  certificate.setSubject([{ name: 'commonName', value: 'elsewhere' }]);
  certificate.setIssuer([{ name: 'commonName', value: 'nobody' }]);
  certificate.sign(forge.pki.privateKeyFromPem(privateKey), forge.md.sha256.create());
  return { key: privateKey, cert: forge.pki.certificateToPem(certificate) };
}

describe('TCP', () => {
  test('an open port is success, a closed one failure', async () => {
    const server = createTcpServer((socket) => socket.destroy());
    const port = await listen(server);
    expect(await run({ tcpSocket: { port } })).toEqual({ outcome: 'success', output: '' });
    await new Promise((resolve) => server.close(resolve));
    expect(await run({ tcpSocket: { port } })).toMatchObject({ outcome: 'failure' });
  });

  test('rejects when it is aborted', async () => {
    const signal = AbortSignal.abort(new Error('given up'));
    await expect(run({ tcpSocket: { port: 1 } }, signal)).rejects.toThrow('given up');
  });
});

describe('gRPC', () => {
  async function serve(implementation: UntypedServiceImplementation): Promise<number> {
    const server = new GrpcServer();
    open.push(() => server.forceShutdown());
    const path = '/grpc.health.v1.Health/Check';
    const bytes = (message: Buffer): Buffer => message;
    const method = { path, requestStream: false, responseStream: false } as const;
    const codec = {
      requestSerialize: bytes,
      requestDeserialize: bytes,
      responseSerialize: bytes,
      responseDeserialize: bytes,
    };
    if (implementation['check'] !== undefined) {
      server.addService({ check: { ...method, ...codec } }, implementation);
    }
    return new Promise((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
        error === null ? resolve(port) : reject(error),
      );
    });
  }
  type Callback = (error: { code: number; details: string } | null, respond?: Buffer) => void;
  const serviceOf = (...bytes: number[]): UntypedServiceImplementation => ({
    check: (_: unknown, respond: Callback) => respond(null, Buffer.from(bytes)),
  });

  test.each<[string, UntypedServiceImplementation, ProbeResult['outcome'], RegExp]>([
    ['SERVING', serviceOf(8, 1), 'success', /healthy/],
    ['NOT_SERVING', serviceOf(8, 2), 'failure', /"NOT_SERVING"/],
    ['an empty response', serviceOf(), 'failure', /"UNKNOWN"/],
    ['no message', serviceOf(0xff), 'failure', /failed/],
    ['no such method', {}, 'failure', /does not implement/],
    [
      'an error',
      {
        check: (_: unknown, respond: Callback) =>
          respond({ code: status.NOT_FOUND, details: 'no such service' }),
      },
      'failure',
      /no such service/,
    ],
  ])('%s is %s', async (_, implementation, outcome, output) => {
    const result = await run({ grpc: { port: await serve(implementation) } });
    expect(result).toMatchObject({ outcome });
    expect(result.output).toMatch(output);
  });

  test('requests the service with a user agent', async () => {
    const seen = Promise.withResolvers<[Buffer, unknown]>();
    const port = await serve({
      check: (
        call: { request: Buffer; metadata: { get: (key: string) => unknown[] } },
        respond: Callback,
      ) => {
        seen.resolve([call.request, call.metadata.get('user-agent')[0]]);
        respond(null, Buffer.from([8, 1]));
      },
    });
    await run({ grpc: { port, service: 'db' } });
    const [request, userAgent] = await seen.promise;
    expect(request).toEqual(encodeHealthRequest('db'));
    expect(userAgent).toMatch(/^prober\/test /);
  });

  test('a closed port fails', async () => {
    const server = createTcpServer();
    const port = await listen(server);
    await new Promise((resolve) => server.close(resolve));
    expect(await run({ grpc: { port } })).toMatchObject({ outcome: 'failure' });
  });

  test('rejects when it is aborted', async () => {
    const abort = new AbortController();
    const port = await serve({ check: () => abort.abort(new Error('given up')) });
    await expect(run({ grpc: { port } }, abort.signal)).rejects.toThrow('given up');
  });
});

describe('exec', () => {
  const exec = (execSync: Parameters<typeof createProbeRunner>[0]['execSync']): Promise<ProbeResult> =>
    createProbeRunner({ execSync, userAgent: '' })(
      {
        probe: { exec: { command: ['cat', '/ready'] } },
        container: { name: 'app' },
        containerId: 'c1',
        podIP: '',
        timeoutMs: 3000,
      },
      new AbortController().signal,
    );
  const result = (exitCode: number, stdout = '', stderr = '') => ({
    exitCode,
    stdout: Buffer.from(stdout),
    stderr: Buffer.from(stderr),
  });

  test('runs the command in the container with the timeout', async () => {
    let seen: unknown;
    await exec((containerId, argv, timeoutMs) => {
      seen = { containerId, argv, timeoutMs };
      return Promise.resolve(result(0));
    });
    expect(seen).toEqual({ containerId: 'c1', argv: ['cat', '/ready'], timeoutMs: 3000 });
  });

  test.each<[string, ReturnType<typeof result>, ProbeResult]>([
    ['exit code 0', result(0, 'yes\n'), { outcome: 'success', output: 'yes' }],
    ['another exit code', result(3, 'out\n', 'err\n'), { outcome: 'failure', output: 'out\nerr' }],
    ['much output', result(1, 'x'.repeat(20_000), 'y'), { outcome: 'failure', output: 'x'.repeat(10_240) }],
  ])('%s', async (_, respond, expected) => {
    expect(await exec(() => Promise.resolve(respond))).toEqual(expected);
  });

  test('a command that takes too long fails', async () => {
    const error = new CriError({ reason: 'DeadlineExceeded', method: 'ExecSync', details: 'timeout' });
    expect(await exec(() => Promise.reject(error))).toEqual({
      outcome: 'failure',
      output: 'command timed out after 3s',
    });
  });

  test('an unavailable runtime is an unknown outcome', async () => {
    const error = new CriError({ reason: 'Unavailable', method: 'ExecSync', details: 'gone' });
    await expect(exec(() => Promise.reject(error))).rejects.toBe(error);
  });
});

test.each<[string, Probe, RegExp]>([
  ['an unknown port name', { tcpSocket: { port: 'admin' } }, /no port "admin"/],
  ['no handler', {}, /no handler/],
])('%s is an unknown outcome', async (_, probe, output) => {
  const result = await run(probe);
  expect(result.outcome).toBe('unknown');
  expect(result.output).toMatch(output);
});

test('a gRPC probe without the feature gate GRPCContainerProbe has no result', async () => {
  const disabled = createProbeRunner({
    execSync: () => Promise.reject(new Error('no exec here')),
    userAgent: 'prober/test',
    grpcProbes: false,
  });
  const target = { container: { name: 'app' }, containerId: 'c1', podIP: '127.0.0.1', timeoutMs: 5000 };
  const result = await disabled({ ...target, probe: { grpc: { port: 1 } } }, new AbortController().signal);
  expect(result.outcome).toBe('unknown');
  expect(result.output).toContain('GRPCContainerProbe');
});
