/** Listener: accepts connections (TLS with HTTP/2 and HTTP/1.1, or plain HTTP/1.1). Client certificates are requested and passed on; authenticators
 *  verify them. Protects the server from connections that only consume resources. */
import { constants } from 'node:crypto';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { createSecureServer, type Http2SecureServer, type ServerHttp2Session } from 'node:http2';
import { type AddressInfo, isIPv4, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import {
  createSecureContext,
  type SecureContext,
  type SecureContextOptions,
  type SecureVersion,
} from 'node:tls';
import { limitConnections } from '#api/kit/sockets/connection-limits.ts';
import { refuseMalformed } from '#api/kit/sockets/malformed-requests.ts';
import type { Identity } from '#api/pki/certificate.ts';
import { CIPHER_SUITES } from '#api/pki/cipher-suites.ts';
import { acceptRequests, acceptStreams, createConnectionTable } from './accept.ts';
import { createOpenSockets, type OpenSockets } from './drain.ts';
import type { Exchange } from './exchange.ts';

export interface ServingCertificate {
  /** PEM, the chain after the certificate. */
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
  /** PEM of the CAs whose names are offered to clients for their choice of a certificate. */
  readonly ca?: string | Buffer;
  /** Returns the certificate for a server name that a client sends; `undefined`: the one above. */
  readonly named?: (serverName: string) => Identity | undefined;
}

export interface ListenerOptions {
  /** Absent: plain HTTP/1.1, for a unix socket or a loopback address only. */
  readonly tls?: ServingCertificate;
  /** OpenSSL's spelling; absent: the strong ciphers, the cheapest first. */
  readonly ciphers?: string;
  readonly minVersion?: SecureVersion;
  /** Default 10,000. */
  readonly maxConnections?: number;
  /** Maximum number of connections per address. Default: three quarters of the total. */
  readonly maxConnectionsPerAddress?: number;
  /** Bytes of a request's head. Default 64 KiB. */
  readonly maxHeaderBytes?: number;
  /** Timeout of a TLS handshake and of the head of a request, in ms. Default 15 s. */
  readonly headTimeoutMs?: number;
  /** Idle connections are closed after this time, in ms. Default 120 s. */
  readonly idleTimeoutMs?: number;
  /** Concurrent streams of an HTTP/2 connection, and queued requests of an HTTP/1.1 connection. Default 250. */
  readonly maxStreams?: number;
  /** Probability that a request ends its HTTP/2 connection, after the requests in flight. Default 0. */
  readonly goawayChance?: number;
  /** From 0 to below 1. Default: `Math.random`. */
  readonly random?: () => number;
}

export type ListenAddress =
  | { readonly host: string; readonly port: number }
  | { readonly socketPath: string };

export interface Listener {
  /** Resolves with the port in use; 0 for a unix socket.
   *  @throws ListenError for a non-loopback address without TLS */
  listen(address: ListenAddress): Promise<number>;
  /** Uses this certificate for new connections. @throws if certificate and key don't match */
  setCertificate(certificate: ServingCertificate): void;
  /** Stops accepting connections, closes idle ones, and lets the others finish their request. Resolves once
   *  none is left. */
  drain(): Promise<void>;
  /** Destroys every connection. */
  destroy(): void;
}

export interface ListenerDeps {
  readonly serve: (exchange: Exchange) => void;
  /** Called when accepting a connection fails, for example for lack of file descriptors. */
  onError?(error: Error): void;
}

/** An address that must not be listened on without TLS. */
class ListenError extends Error {
  override readonly name = 'ListenError';
  readonly reason = 'NotLoopback';

  constructor(host: string) {
    super(`can't listen on ${host} without TLS: credentials would be readable on the wire`);
  }
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));

function contextOf(tls: ServingCertificate, options: ListenerOptions): SecureContextOptions {
  return {
    cert: tls.cert,
    key: tls.key,
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
    ciphers: options.ciphers ?? CIPHER_SUITES,
    minVersion: options.minVersion ?? 'TLSv1.2',
    // A resumed session lacks the intermediate certificates that its client sent.
    secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_CIPHER_SERVER_PREFERENCE,
  };
}

interface NamedContexts {
  find(serverName: string): SecureContext | undefined;
  replace(tls: ServingCertificate): void;
}

/** Contexts of the certificates for server names, created on first use. */
function createNamedContexts(initial: ServingCertificate, options: ListenerOptions): NamedContexts {
  let tls = initial;
  let contexts = new WeakMap<Identity, SecureContext>();
  return {
    find(serverName) {
      const found = tls.named?.(serverName);
      if (found === undefined) return undefined;
      const { certificate: cert, key } = found;
      const context = contexts.get(found) ?? createSecureContext(contextOf({ ...tls, cert, key }, options));
      contexts.set(found, context);
      return context;
    },
    replace(next) {
      tls = next;
      contexts = new WeakMap();
    },
  };
}

/** In MB: none. Node counts bytes that a reset stream had queued as in use until the session ends, so a limit
 *  would end sessions whose clients cancel downloads. Other limits bound what a session uses: its streams, their
 *  heads, and the backlog of each. */
const MAX_SESSION_MEMORY = 0xffff_ffff;

interface ServerState {
  draining: boolean;
  readonly sockets: OpenSockets;
  readonly sessions: Set<ServerHttp2Session>;
}

function createTlsServer(
  tls: ServingCertificate,
  options: ListenerOptions,
  named: NamedContexts | undefined,
): Http2SecureServer {
  const { maxHeaderBytes = 64 * 1024, headTimeoutMs = 15_000, maxStreams = 250 } = options;
  const http1 = httpOptions(options);
  return createSecureServer({
    ...contextOf(tls, options),
    ...http1,
    allowHTTP1: true,
    requestCert: true,
    rejectUnauthorized: false,
    SNICallback: (name, respond) => respond(null, named?.find(name)),
    handshakeTimeout: headTimeoutMs,
    settings: {
      maxConcurrentStreams: maxStreams,
      maxHeaderListSize: maxHeaderBytes,
      initialWindowSize: 256 * 1024,
      enablePush: false,
    },
    maxSessionMemory: MAX_SESSION_MEMORY,
    maxHeaderListPairs: 256,
    streamResetBurst: 1000,
    streamResetRate: 100,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
  });
}

function httpOptions(options: ListenerOptions): object {
  const { maxHeaderBytes = 64 * 1024, headTimeoutMs = 15_000, idleTimeoutMs = 120_000 } = options;
  return {
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: headTimeoutMs,
    // The pipeline limits the time for reading bodies; proxied bodies may take unlimited time.
    requestTimeout: 0,
    keepAliveTimeout: idleTimeoutMs,
    connectionsCheckingInterval: Math.min(5000, headTimeoutMs),
  };
}

/** Closes idle HTTP/2 sessions without streams; Node itself would leave them open. */
function watchSession(
  session: ServerHttp2Session,
  { idleTimeoutMs = 120_000, goawayChance = 0, random = Math.random }: ListenerOptions,
  state: ServerState,
): void {
  let streams = 0;
  state.sessions.add(session);
  session.once('close', () => state.sessions.delete(session));
  session.on('error', () => session.destroy());
  session.on('stream', (stream) => {
    streams += 1;
    // Sends GOAWAY; streams that are open end by themselves.
    if (goawayChance > 0 && random() < goawayChance) session.close();
    stream.once('close', () => (streams -= 1));
  });
  session.setTimeout(idleTimeoutMs, () => {
    if (streams === 0) session.close();
  });
  if (state.draining) session.close();
}

export function createListener(deps: ListenerDeps, options: ListenerOptions): Listener {
  const { tls, maxConnections = 10_000, maxStreams = 250 } = options;
  const { maxConnectionsPerAddress } = options;
  const named = tls === undefined ? undefined : createNamedContexts(tls, options);
  const secure = tls === undefined ? undefined : createTlsServer(tls, options, named);
  const server = secure ?? createServer({ ...httpOptions(options), noDelay: true, keepAlive: true });
  const limits = limitConnections(server, {
    most: maxConnections,
    ...(maxConnectionsPerAddress === undefined ? {} : { mostPerAddress: maxConnectionsPerAddress }),
  });
  const connections = createConnectionTable((peer) => limits.prove(peer));
  const sockets = createOpenSockets(connections);
  const state: ServerState = { draining: false, sockets, sessions: new Set() };
  server.on('connection', (socket: Socket) => sockets.accepted(socket, secure !== undefined));
  secure?.on('secureConnection', (socket) => sockets.secured(socket));
  // Failed handshakes and malformed heads; the socket is unusable.
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) =>
    refuseMalformed(error, socket, hasResponse(connections.find(socket)?.reply)),
  );
  const accepted = {
    serve: deps.serve,
    connections,
    maxWaiting: maxStreams,
    isDraining: false,
  };
  acceptRequests(server, accepted);
  if (secure !== undefined) {
    acceptStreams(secure, accepted);
    secure.on('session', (session) => watchSession(session, options, state));
  }

  return {
    async listen(address) {
      if (secure === undefined && 'host' in address && !isLoopback(address.host)) {
        throw new ListenError(address.host);
      }
      const port = await listen(server, address);
      server.on('error', (error: Error) => deps.onError?.(error));
      return port;
    },
    setCertificate(certificate) {
      secure?.setSecureContext(contextOf(certificate, options));
      named?.replace(certificate);
    },
    drain() {
      state.draining = true;
      accepted.isDraining = true;
      return new Promise((resolve) => {
        // This closes HTTP/2 sessions with GOAWAY.
        server.close(() => resolve());
        sockets.endWhenIdle();
      });
    },
    destroy() {
      for (const session of state.sessions) session.destroy();
      sockets.destroyAll();
    },
  };
}

function listen(server: Server | Http2SecureServer, address: ListenAddress): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    const target = 'socketPath' in address ? { path: address.socketPath } : address;
    server.listen({ ...target, backlog: 1024 }, () => {
      server.off('error', reject);
      resolve(portOf(server.address()));
    });
  });
}

const portOf = (address: AddressInfo | string | null): number =>
  address === null || typeof address === 'string' ? 0 : address.port;

/** Reports whether a response to the request has started; an error in its body then gets no second one. */
const hasResponse = (reply: ServerResponse | undefined): boolean =>
  reply?.headersSent === true && !(reply.writableFinished && reply.req.complete);
