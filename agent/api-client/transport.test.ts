import { once } from 'node:events';
import { createServer as createHttpServer, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from 'node:net';
import type { TLSSocket } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { createAuthority, issueIdentity } from '#api/pki/certificate.ts';
import { createTransport, type Transport } from './transport.ts';

const from = new Date(Date.now() - 1000);
const until = new Date(Date.now() + 3_600_000);
const authority = createAuthority({ commonName: 'ca' }, from, until);
const issue = (commonName: string) =>
  issueIdentity(authority, {
    subject: { commonName },
    dnsNames: [commonName],
    extendedUsages: ['serverAuth', 'clientAuth'],
    notBefore: from,
    notAfter: until,
  });

interface Listening extends AsyncDisposable {
  readonly port: number;
}

async function listen(server: Server): Promise<Listening> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Responds with the name in the client certificate; its own certificate is for `api` only. */
function startApi(): Promise<Listening> {
  const { certificate, key } = issue('api');
  const options = { cert: certificate, key, ca: authority.certificate, requestCert: true };
  return listen(
    createHttpsServer({ ...options, rejectUnauthorized: false }, (request, response) => {
      response.end((request.socket as TLSSocket).getPeerCertificate().subject?.CN ?? 'nobody');
    }),
  );
}

function startConnectProxy(seen: string[]): Promise<Listening> {
  const proxy = createHttpServer();
  proxy.on('connect', (request, socket: Socket) => {
    seen.push(`${request.url} ${request.headers['proxy-authorization']}`);
    const [host = '', port] = (request.url ?? '').split(':');
    const onward = connect(Number(port), host, () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
    onward.on('error', () => socket.destroy());
    socket.pipe(onward).pipe(socket);
  });
  return listen(proxy);
}

/** Handles the greeting, then one CONNECT to an IPv4 address. Source: RFC 1928. */
function startSocksProxy(seen: string[]): Promise<Listening> {
  return listen(
    createTcpServer((socket) => {
      socket.once('data', () => {
        socket.write(Uint8Array.of(5, 0));
        socket.once('data', (request: Buffer) => {
          const address = [...request.subarray(4, 8)].join('.');
          const port = request.readUInt16BE(8);
          seen.push(`${address}:${port}`);
          const onward = connect(port, address, () => {
            socket.write(Uint8Array.of(5, 0, 0, 1, 0, 0, 0, 0, 0, 0));
            socket.pipe(onward).pipe(socket);
          });
          onward.on('error', () => socket.destroy());
        });
      });
    }),
  );
}

const tls = { authority: authority.certificate, serverName: 'api', insecure: false };

async function ask(
  transport: Transport,
  port: number,
  certificate?: { readonly certificate: string; readonly key: string },
): Promise<string> {
  const { dispatcher } = await transport.connectionsFor(certificate);
  const response = await dispatcher.request({
    origin: `https://127.0.0.1:${port}`,
    path: '/',
    method: 'GET',
  });
  return response.body.text();
}

describe('createTransport', () => {
  test('opens new connections for another certificate, and reuses them for the same', async () => {
    await using api = await startApi();
    await using transport = createTransport({ tls });
    const one = issue('one');
    expect(await ask(transport, api.port)).toBe('nobody');
    expect(await ask(transport, api.port, one)).toBe('one');
    expect(await transport.connectionsFor(one)).toBe(await transport.connectionsFor(one));
    expect(await ask(transport, api.port, issue('two'))).toBe('two');
    // A caller that started before the renewal.
    expect(await ask(transport, api.port, one)).toBe('two');
  });

  test('lets requests finish on replaced connections', async () => {
    const arrived = Promise.withResolvers<ServerResponse>();
    const { certificate, key } = issue('api');
    await using api = await listen(
      createHttpsServer({ cert: certificate, key }, (_request, response) => arrived.resolve(response)),
    );
    await using transport = createTransport({ tls });
    const { retired } = await transport.connectionsFor(issue('one'));
    const slow = ask(transport, api.port, undefined);
    const response = await arrived.promise;
    expect(retired.aborted).toBe(true);
    const before = await transport.connectionsFor(undefined);
    const after = await transport.connectionsFor(issue('two'));
    expect([before.retired.aborted, after.retired.aborted]).toEqual([true, false]);
    response.end('late');
    expect(await slow).toBe('late');
    await expect(
      before.dispatcher.request({ origin: `https://127.0.0.1:${api.port}`, path: '/', method: 'GET' }),
    ).rejects.toThrow(/closed|destroyed/);
  });

  test.each([
    ['another name than the certificate has', { ...tls, serverName: 'other' }],
    ['an authority that is not known', { serverName: 'api', insecure: false }],
  ])('rejects %s', async (_, terms) => {
    await using api = await startApi();
    await using transport = createTransport({ tls: terms });
    await expect(ask(transport, api.port)).rejects.toThrow(/certificate/);
  });

  test('verifies no certificate if so configured', async () => {
    await using api = await startApi();
    await using transport = createTransport({ tls: { insecure: true } });
    expect(await ask(transport, api.port)).toBe('nobody');
  });

  test('connects through a proxy with authentication', async () => {
    const seen: string[] = [];
    await using api = await startApi();
    await using proxy = await startConnectProxy(seen);
    await using transport = createTransport({ tls, proxyUrl: `http://me:p%40ss@127.0.0.1:${proxy.port}` });
    expect(await ask(transport, api.port, issue('one'))).toBe('one');
    const login = `Basic ${Buffer.from('me:p@ss').toString('base64')}`;
    expect(seen).toEqual([`127.0.0.1:${api.port} ${login}`]);
  });

  test('connects through a SOCKS proxy', async () => {
    const seen: string[] = [];
    await using api = await startApi();
    await using proxy = await startSocksProxy(seen);
    await using transport = createTransport({ tls, proxyUrl: `socks5://127.0.0.1:${proxy.port}` });
    expect(await ask(transport, api.port, issue('one'))).toBe('one');
    expect(seen).toEqual([`127.0.0.1:${api.port}`]);
  });
});
