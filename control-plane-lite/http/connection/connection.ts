/** Facts about a connection, read once and shared by all requests on it. */
import type { X509Certificate } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

export interface ConnectionInfo {
  /** Empty on a unix socket. */
  readonly remoteAddress: string;
  /** The verified client certificate. The same object for every request of the connection, so that results
   *  can be cached by its identity. */
  readonly certificate: X509Certificate | undefined;
  readonly intermediates: readonly X509Certificate[];
  /** A request on the connection has authenticated. */
  readonly proven: boolean;
  prove(): void;
}

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
  const connection = {
    remoteAddress: remoteAddress ?? '',
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
