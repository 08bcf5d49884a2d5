/** Accepts requests: creates an exchange for each request on a connection, whatever its meaning. */

import type { X509Certificate } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Http2SecureServer, IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { createFramer } from './chunk-frames.ts';
import type { ConnectionInfo, Exchange } from './exchange.ts';
import { Http1Exchange, UpgradeExchange } from './exchange-http1.ts';
import { Http2Exchange } from './exchange-http2.ts';

/** A connection as the listener tracks it. */
export interface Connection extends ConnectionInfo {
  /** The newest response on an HTTP/1.1 connection. */
  reply: ServerResponse | undefined;
  /** Pipelined requests on an HTTP/1.1 connection that wait for the response to the one before. */
  waiting: number;
  /** The connection was upgraded to another protocol. */
  upgraded: boolean;
}

/** Takes the peer's address as an argument, because a closed socket has lost it. */
type OnProven = (peer: Pick<Socket, 'remoteAddress' | 'remotePort'>) => void;

/** Maximum number of certificates read after the client's own; longer chains are truncated. */
const LONGEST_CHAIN = 10;

function intermediatesOf(certificate: X509Certificate): readonly X509Certificate[] {
  const chain: X509Certificate[] = [];
  let last = certificate;
  while (chain.length < LONGEST_CHAIN) {
    const next = last.issuerCertificate;
    if (next === undefined || next.fingerprint256 === last.fingerprint256) break;
    chain.push(next);
    last = next;
  }
  return chain;
}

function describeConnection(socket: Socket, onProven: OnProven): Connection {
  const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
  const { remoteAddress, remotePort } = socket;
  const unknownFlow = `\n${remoteAddress ?? ''}`;
  const connection = {
    remoteAddress: remoteAddress ?? '',
    flow: unknownFlow,
    unknownFlow,
    certificate,
    intermediates: certificate === undefined ? [] : intermediatesOf(certificate),
    reply: undefined,
    waiting: 0,
    upgraded: false,
    proven: false,
    prove() {
      connection.proven = true;
      onProven({ remoteAddress, remotePort });
    },
  };
  return connection;
}

export interface ConnectionTable {
  /** `key` is the socket or the HTTP/2 session; `socketOf` is called for the first request only. */
  of(key: object, socketOf: () => Socket): Connection;
  /** Undefined before the first request. */
  find(key: object): Connection | undefined;
}

/** @param onProven called once per connection, when a request on it authenticates */
export function createConnectionTable(onProven: OnProven): ConnectionTable {
  const known = new WeakMap<object, Connection>();
  return {
    of(key, socketOf) {
      const found = known.get(key);
      if (found !== undefined) return found;
      const info = describeConnection(socketOf(), onProven);
      known.set(key, info);
      return info;
    },
    find: (key) => known.get(key),
  };
}

/** Protocols that an upgrade may select; other upgrade offers are ignored. */
const UPGRADES = /^(?:websocket|spdy\/3\.1)$/i;

/** Serves the requests of an HTTP/1.1 connection one after the other, so that one connection uses no more of
 *  the server than one request does. */
function awaitTurn(connection: Connection, reply: ServerResponse, most: number, begin: () => void): void {
  connection.waiting += 1;
  if (connection.waiting > most) {
    reply.req.socket.destroy();
    return;
  }
  reply.once('socket', () => {
    connection.waiting -= 1;
    begin();
  });
}

export interface AcceptDeps {
  readonly serve: (exchange: Exchange) => void;
  readonly connections: ConnectionTable;
  /** Pipelined requests of a connection that wait. */
  readonly maxWaiting: number;
  /** Connections are to be closed after their response. */
  isDraining: boolean;
}

/** Creates the exchanges of HTTP/1.1 requests and upgrades. */
export function acceptRequests(server: Server | Http2SecureServer, deps: AcceptDeps): void {
  const { connections, maxWaiting } = deps;
  const isDraining = (): boolean => deps.isDraining;
  const frame = createFramer();
  const serve =
    (expectsContinue: boolean) =>
    (message: IncomingMessage, reply: ServerResponse): void => {
      const { socket } = message;
      const connection = connections.of(socket, () => socket);
      connection.reply = reply;
      const begin = (): void =>
        deps.serve(new Http1Exchange({ message, reply, connection, expectsContinue, isDraining, frame }));
      // Pipelined: its turn comes after the response to the request before it, and never if the client
      // leaves, which such a reply does not report.
      if (reply.socket === null) awaitTurn(connection, reply, maxWaiting, begin);
      else begin();
    };
  const events: NodeJS.EventEmitter = server;
  events.on('request', serve(false));
  events.on('checkContinue', serve(true));
  events.on('upgrade', (message: IncomingMessage, socket: Duplex, head: Buffer) => {
    const connection = connections.of(message.socket, () => message.socket);
    // Bytes of the response before it would mix with those of the other protocol.
    if (connection.reply?.writableEnded === false) {
      socket.destroy();
      return;
    }
    connection.upgraded = true;
    deps.serve(new UpgradeExchange(message, socket, head, connection));
  });
  Object.assign(server, {
    shouldUpgradeCallback: (message: IncomingMessage) => UPGRADES.test(message.headers.upgrade ?? ''),
  });
}

/** Creates the exchanges of HTTP/2 streams. */
export function acceptStreams(
  server: Http2SecureServer,
  { serve, connections }: Pick<AcceptDeps, 'serve' | 'connections'>,
): void {
  // Node has registered its own listener there, which would create HTTP/1.1-like objects for each stream.
  server.removeAllListeners('stream');
  server.on(
    'stream',
    (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _flags: number, rawHeaders: string[]) => {
      const { session } = stream;
      if (session === undefined) return;
      const connection = connections.of(session, () => session.socket);
      serve(new Http2Exchange({ stream, headers, rawHeaders, connection }));
    },
  );
}
