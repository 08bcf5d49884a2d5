/** Recording proxy between an agent and its API server, with its own certificate: records media types, and
 *  can reject protobuf like a server that does not support it. */
import { once } from 'node:events';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { Agent as Upstream } from 'undici';
import { createAuthority, issueIdentity } from '#api/pki/certificate.ts';
import { VOCABULARIES, type Vocabulary } from '#api/vocabulary.ts';
import type { TestPlane } from '#plane/main.fixture.ts';

export interface Exchanged {
  readonly method: string;
  /** Without its query. */
  readonly path: string;
  readonly isWatch: boolean;
  /** Media types without their parameters. */
  readonly sent: string;
  readonly responseType: string;
  readonly status: number;
}

export interface RecordingProxy extends AsyncDisposable {
  readonly url: string;
  /** PEM of the authority that vouches for the proxy. */
  readonly authority: string;
  readonly exchanges: readonly Exchanged[];
}

const bare = (type: string | readonly string[] | undefined): string =>
  String(type ?? '').split(';', 1)[0] ?? '';

const isProtobuf = (text: string): boolean =>
  Object.values<Vocabulary>(VOCABULARIES).some(({ protobufContentType }) =>
    text.includes(protobufContentType),
  );

/** Headers that belong to one connection, or to the protocol of one. */
const OF_CONNECTION = /^(?::.*|connection|keep-alive|transfer-encoding|host|http2-settings|upgrade)$/i;

function passedOn(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string | string[]> {
  const kept: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !OF_CONNECTION.test(name)) kept[name] = value;
  }
  return kept;
}

/** @param refuses 415 for bodies in protobuf, 406 for clients that accept only protobuf */
export async function startRecordingProxy(
  plane: TestPlane,
  { refuses = false }: { readonly refuses?: boolean } = {},
): Promise<RecordingProxy> {
  const from = new Date(Date.now() - 60_000);
  const until = new Date(Date.now() + 3_600_000);
  const authority = createAuthority({ commonName: 'proxy-ca' }, from, until);
  const { certificate, key } = issueIdentity(authority, {
    subject: { commonName: 'proxy' },
    ipAddresses: ['127.0.0.1'],
    extendedUsages: ['serverAuth'],
    notBefore: from,
    notAfter: until,
  });
  const upstream = new Upstream({
    connect: { ca: plane.credentials().ca },
    bodyTimeout: 0,
    connections: 256,
  });
  const exchanges: Exchanged[] = [];

  async function pass(request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> {
    const { method, url, headers } = request;
    const sent = bare(headers['content-type']);
    const note = (status: number, responseType: string): void => {
      const path = url.split('?', 1)[0] ?? '';
      exchanges.push({ method, path, isWatch: url.includes('watch=true'), sent, responseType, status });
    };
    const refusal = isProtobuf(sent) ? 415 : isProtobuf(headers.accept ?? '') ? 406 : 0;
    if (refuses && refusal !== 0) {
      request.resume();
      note(refusal, 'text/plain');
      response.writeHead(refusal, { 'content-type': 'text/plain' }).end('no protobuf here');
      return;
    }
    const result = await upstream.request({
      origin: plane.url,
      path: url,
      method,
      headers: passedOn(headers),
      body: method === 'GET' ? null : request,
    });
    note(result.statusCode, bare(result.headers['content-type']));
    response.writeHead(result.statusCode, passedOn(result.headers));
    response.stream?.on('close', () => result.body.destroy());
    await pipeline(result.body, response);
  }

  const server = createSecureServer({ cert: certificate, key, allowHTTP1: true }, (request, response) => {
    // Clients that disconnect in the middle are ignored.
    pass(request, response).catch(() => response.destroy());
  });
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
  });
  server.on('sessionError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    authority: authority.certificate,
    exchanges,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await upstream.destroy();
    },
  };
}
