/** Changes a client's connection to WebSocket, both ways. */
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { RawExchange } from '../../http/contract.ts';

/** Bytes of one message; what is typed or piped comes in far smaller ones. */
const LARGEST_MESSAGE = 4 * 1024 * 1024;

/** `undefined`: the handshake was no sound one and was answered so, or the client is gone. */
export async function acceptClient(
  { message, socket, head, begun }: RawExchange & { readonly kind: 'upgrade' },
  protocol: string,
  auditId: string,
): Promise<WebSocket | undefined> {
  const { WebSocketServer } = await import('ws');
  if (socket.destroyed) return undefined;
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: LARGEST_MESSAGE,
  });
  // That of port forwarding has a slash in it, which the library does not take for a subprotocol.
  Object.assign(message.headers, { 'sec-websocket-protocol': undefined });
  server.on('headers', (lines) => {
    lines.push(`Sec-WebSocket-Protocol: ${protocol}`, `Audit-Id: ${auditId}`);
  });
  return new Promise((resolve) => {
    const refused = (): void => resolve(undefined);
    socket.once('close', refused);
    server.handleUpgrade(message, socket, head, (client) => {
      begun();
      socket.off('close', refused);
      client.on('error', () => client.terminate());
      resolve(client);
    });
  });
}

/** The client's connection as a stream of the bytes in its messages. */
export async function byteStreamOf(client: WebSocket): Promise<Duplex> {
  const { createWebSocketStream } = await import('ws');
  return createWebSocketStream(client);
}
