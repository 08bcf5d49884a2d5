/** Upgrades a client's connection to WebSocket, in both directions. */
import type { WebSocket } from 'ws';
import type { RawExchange } from '../../http/contract.ts';

/** Maximum size of a message; terminal and pipe input arrives in far smaller ones. */
const LARGEST_MESSAGE = 4 * 1024 * 1024;

/** Resolves with a paused socket, which its owner resumes once it listens for messages. `undefined`: the handshake
 *  was invalid and has been rejected, or the client is gone. */
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
  // The port-forward subprotocol contains a slash, which the library does not accept in a subprotocol.
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
      client.pause();
      resolve(client);
    });
  });
}
