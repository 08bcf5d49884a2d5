/** Limits the connections of a listening server: as many as its port may have, shared by the addresses of its clients,
 *  and with room for authenticated clients. Connections of a unix socket are not counted. */
import type { Server, Socket } from 'node:net';
import { clientNetwork, createConnectionShares, type ShareOptions } from './connection-shares.ts';

export interface ConnectionLimits {
  /** The client on this connection has shown who it is: no other makes it leave. With TLS, either socket will do. */
  prove(socket: Pick<Socket, 'remoteAddress' | 'remotePort'>): void;
}

/** A connection's other end, which the socket of a TLS connection and the one below it have in common. */
const peerOf = ({ remoteAddress, remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>): string =>
  `${remoteAddress} ${remotePort}`;

export function limitConnections(server: Server, options: ShareOptions): ConnectionLimits {
  const shares = createConnectionShares(options);
  const open = new Map<string, Socket>();
  server.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined) return;
    const peer = peerOf(socket);
    const leaving = shares.arrive(peer, clientNetwork(remoteAddress));
    if (leaving === peer) {
      socket.destroy();
      return;
    }
    open.set(peer, socket);
    socket.once('close', () => {
      if (open.get(peer) !== socket) return;
      open.delete(peer);
      shares.leave(peer);
    });
    if (leaving === undefined) return;
    const left = open.get(leaving);
    open.delete(leaving);
    left?.destroy();
  });
  return { prove: (socket) => shares.prove(peerOf(socket)) };
}
