/** Connection limits of a listening server: a maximum per port, shared by the addresses of its clients,
 *  with priority for authenticated clients. Connections of a unix socket are not counted. */
import type { Server, Socket } from 'node:net';
import { clientNetwork, createConnectionShares, type ShareOptions } from './connection-shares.ts';

export interface ConnectionLimits {
  /** Marks the connection as authenticated: it is never closed in favour of others. With TLS, either
   *  socket is accepted. */
  prove(socket: Pick<Socket, 'remoteAddress' | 'remotePort'>): void;
}

/** Remote end of a connection, which a TLS socket and its underlying socket have in common. */
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
