/** WebSocket channel: turns an upgraded connection into an output of WebSocket frames; input is read and
 *  discarded. Any page may connect: a page of another origin was not authenticated by a client certificate,
 *  which a browser sends on its own, but by a token that the page knows. */
import type { Upgrade } from '../connection/exchange.ts';
import { readSubprotocols } from '../request/subprotocols.ts';
import type { Channel } from './channel.ts';

export interface WebSocketOptions {
  /** Whether frames are binary if no subprotocol decides. */
  readonly binary: boolean;
  /** Domain of the API groups, part of the subprotocols' names. */
  readonly domain: string;
  /** Whole lines to add to the handshake. */
  readonly headers: readonly string[];
}

export type FrameForm = 'text' | 'binary' | 'base64';

/** Maximum size of a message from a client, which has no input to send. */
const MOST_FROM_CLIENT_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

/** Returns the subprotocol to select: the first of the offered ones that is known, else the first. */
export function chooseSubprotocol(offered: readonly string[], domain: string): string | undefined {
  const known = new Set([`base64.binary.${domain}`, `binary.${domain}`]);
  return offered.find((protocol) => known.has(protocol)) ?? offered[0];
}

function frameForm(protocol: string, options: WebSocketOptions): FrameForm {
  if (protocol === `base64.binary.${options.domain}`) return 'base64';
  if (protocol === `binary.${options.domain}`) return 'binary';
  return options.binary ? 'binary' : 'text';
}

/** Text gets a frame per line, because clients read one event per frame. Nothing is copied. */
export function* splitLines(bytes: Buffer): Generator<Buffer> {
  let start = 0;
  while (start < bytes.length) {
    const newline = bytes.indexOf(NEWLINE, start);
    const end = newline < 0 ? bytes.length : newline + 1;
    yield start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end);
    start = end;
  }
}

/** `undefined`: the handshake was invalid and has been rejected. */
export async function acceptWebSocket(
  upgrade: Upgrade,
  options: WebSocketOptions,
): Promise<Channel | undefined> {
  const { WebSocketServer } = await import('ws');
  const { message, socket, head, begun } = upgrade;
  if (socket.destroyed) return undefined;
  const offered = readSubprotocols(message.headers['sec-websocket-protocol'], options.domain).protocols;
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: MOST_FROM_CLIENT_BYTES,
    handleProtocols: () => chooseSubprotocol(offered, options.domain) ?? false,
  });
  server.on('headers', (lines) => void lines.push(...options.headers));
  return new Promise((resolve) => {
    const refused = (): void => resolve(undefined);
    socket.once('close', refused);
    server.handleUpgrade(message, socket, head, (client) => {
      begun();
      socket.off('close', refused);
      const form = frameForm(client.protocol, options);
      client.on('error', () => client.terminate());
      // Frames are read to respond to pings and to notice a closing client.
      client.on('message', () => undefined);
      resolve({
        get backlogBytes() {
          return client.bufferedAmount;
        },
        write(bytes) {
          if (form === 'binary') client.send(bytes, { binary: true });
          else
            for (const line of splitLines(bytes)) {
              client.send(form === 'base64' ? line.toString('base64') : line, { binary: false });
            }
          return bytes.length;
        },
        end: () => client.close(1000),
        cut: () => client.terminate(),
        onClose: (listener) => void client.once('close', listener),
        onDrain: (listener) => void socket.once('drain', listener),
      });
    });
  });
}
