/** What is known of a connection, looked up once and kept for all requests on it. */
import type { X509Certificate } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

export interface ConnectionInfo {
  /** Empty on a unix socket. */
  readonly remoteAddress: string;
  /** What the client proved to have the key of. The same object for every request of the connection, so that what
   *  was found out about it can be kept by its identity. */
  readonly certificate: X509Certificate | undefined;
  readonly intermediates: readonly X509Certificate[];
  /** A request on it has shown who its client is. */
  readonly proven: boolean;
  prove(): void;
}

/** A connection as the listener sees it. */
export interface Connection extends ConnectionInfo {
  /** The newest answer on a connection of HTTP/1.1. */
  reply: ServerResponse | undefined;
  /** Requests on a connection of HTTP/1.1 that wait for the answer to the one before them. */
  waiting: number;
  /** It speaks another protocol now. */
  upgraded: boolean;
}

/** Receives the peer's address, since a closed socket no longer knows it. */
type OnProven = (peer: Pick<Socket, 'remoteAddress' | 'remotePort'>) => void;

/** Certificates looked at behind the client's own; longer chains are cut. */
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
  /** `key` is the socket or the HTTP/2 session; `socketOf` is asked for the first request only. */
  of(key: object, socketOf: () => Socket): Connection;
  /** Undefined where there was no request yet. */
  find(key: object): Connection | undefined;
}

/** @param onProven called once for each connection whose client has authenticated */
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
