/** Drains HTTP/1.1 connections at shutdown: closes idle ones immediately and the others after their current
 *  response. Node itself leaves connections open that have made no request yet, or whose response had already
 *  started. */
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { ConnectionTable } from './accept.ts';

export interface OpenSockets {
  /** A connection was accepted; the TLS handshake is still pending if `secure`. */
  accepted(socket: Socket, secure: boolean): void;
  /** The TLS handshake is complete. */
  secured(socket: TLSSocket): void;
  endWhenIdle(): void;
  destroyAll(): void;
}

const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

function track(set: Set<Socket>, socket: Socket): void {
  set.add(socket);
  socket.once('close', () => set.delete(socket));
}

export function createOpenSockets(connections: ConnectionTable): OpenSockets {
  const all = new Set<Socket>();
  const http1 = new Set<Socket>();
  const handshaking = new Map<string, Socket>();

  function endAfterResponse(socket: Socket): void {
    const connection = connections.find(socket);
    if (connection?.upgraded === true) return;
    const reply = connection?.reply;
    if (reply === undefined || reply.writableFinished || reply.destroyed) socket.destroy();
    else reply.once('close', () => socket.destroySoon());
  }

  return {
    accepted(socket, secure) {
      track(all, socket);
      if (!secure) return track(http1, socket);
      const peer = peerOf(socket);
      handshaking.set(peer, socket);
      socket.once('close', () => handshaking.delete(peer));
      return undefined;
    },
    secured(socket) {
      handshaking.delete(peerOf(socket));
      if (socket.alpnProtocol !== 'h2') track(http1, socket);
    },
    endWhenIdle() {
      for (const socket of handshaking.values()) socket.destroy();
      for (const socket of http1) endAfterResponse(socket);
    },
    destroyAll() {
      for (const socket of all) socket.destroy();
    },
  };
}
