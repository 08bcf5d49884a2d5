/** Streaming server: exec, attach and port-forward sessions under URLs that are valid once and for a short time.
 *  Listens on a loopback port from the first session on. */
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createSpdyConnection, type SpdyConnection } from '#api/spdy/connection.ts';
import type { SpdyStream } from '#api/spdy/stream.ts';

/** A session that a URL was created for. */
export interface StreamingSession {
  /** Subprotocols in order of preference; empty accepts a client without one. */
  readonly protocols: readonly string[];
  /** Handles the streams of a client until the session ends. */
  readonly run: (streams: AsyncIterable<SpdyStream>, connection: SpdyConnection) => Promise<void>;
}

export interface StreamingServer {
  /** Returns a URL for one session. */
  register(kind: string, session: StreamingSession): Promise<string>;
  close(): Promise<void>;
}

export interface StreamingServerDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

/** Time for a client to use its URL. */
const TOKEN_MS = 60_000;
const MOST_TOKENS = 1000;
const PROTOCOL_HEADER = 'x-stream-protocol-version';

/** Returns the first protocol of the client that the session supports. */
export function selectProtocol(offered: readonly string[], supported: readonly string[]): string | undefined {
  return offered.find((name) => supported.includes(name));
}

function offeredBy(message: IncomingMessage): readonly string[] {
  const values = message.headersDistinct[PROTOCOL_HEADER] ?? [];
  return values.flatMap((value) => value.split(',')).map((value) => value.trim());
}

function reject(socket: Duplex, status: string, text: string): void {
  const body = `${text}\n`;
  const head = `HTTP/1.1 ${status}\r\nContent-Type: text/plain\r\nConnection: close\r\n`;
  socket.end(`${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}

/** Streams in the order in which the client opens them; ends with the connection. */
function createArrivals(): {
  readonly push: (stream: SpdyStream) => void;
  readonly end: () => void;
  readonly iterate: () => AsyncGenerator<SpdyStream, void, undefined>;
} {
  const waiting: SpdyStream[] = [];
  let news = Promise.withResolvers<void>();
  let isOver = false;
  return {
    push(stream) {
      waiting.push(stream);
      news.resolve();
    },
    end() {
      isOver = true;
      news.resolve();
    },
    async *iterate() {
      for (;;) {
        const next = waiting.shift();
        if (next !== undefined) yield next;
        else if (isOver) return;
        else {
          await news.promise;
          news = Promise.withResolvers();
        }
      }
    },
  };
}

async function serve(
  socket: Duplex,
  head: Buffer,
  protocol: string,
  session: StreamingSession,
): Promise<void> {
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: SPDY/3.1'];
  if (protocol !== '') lines.push(`X-Stream-Protocol-Version: ${protocol}`);
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  const arrivals = createArrivals();
  const connection = createSpdyConnection(socket, { role: 'server', head, onStream: arrivals.push });
  void connection.closed.then(arrivals.end);
  try {
    await session.run(arrivals.iterate(), connection);
  } finally {
    connection.close();
  }
}

export function createStreamingServer({ clock, log }: StreamingServerDeps): StreamingServer {
  const sessions = new Map<string, { readonly session: StreamingSession; readonly expiresMs: number }>();
  const sockets = new Set<Duplex>();
  let listening: Promise<{ readonly server: Server; readonly url: string }> | undefined;

  function take(path: string): StreamingSession | undefined {
    const found = sessions.get(path);
    sessions.delete(path);
    return found === undefined || found.expiresMs < clock.monotonic() ? undefined : found.session;
  }

  function upgrade(message: IncomingMessage, socket: Duplex, head: Buffer): void {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    const session = take(message.url ?? '');
    if (session === undefined) return reject(socket, '404 Not Found', 'unknown or expired session');
    if (message.headers.upgrade?.toLowerCase() !== 'spdy/3.1') {
      return reject(socket, '400 Bad Request', 'upgrade to SPDY/3.1 required');
    }
    const offered = offeredBy(message);
    const protocol = selectProtocol(offered, session.protocols) ?? (offered.length === 0 ? '' : undefined);
    if (protocol === undefined) return reject(socket, '403 Forbidden', 'no common subprotocol');
    serve(socket, head, protocol, session).catch((thrown: unknown) => {
      log.debug({ err: asError(thrown) }, 'Streaming session failed');
      socket.destroy();
    });
  }

  function listen(): Promise<{ readonly server: Server; readonly url: string }> {
    return new Promise((resolve, fail) => {
      const server = createServer((_, response) => void response.writeHead(400).end('upgrade required\n'));
      server.on('upgrade', upgrade);
      server.once('error', fail);
      server.listen(0, '127.0.0.1', () => {
        const address = server.address();
        const port = typeof address === 'object' && address !== null ? address.port : 0;
        server.unref();
        resolve({ server, url: `http://127.0.0.1:${port}` });
      });
    });
  }

  function dropExpired(): void {
    for (const [path, { expiresMs }] of sessions) {
      if (expiresMs >= clock.monotonic() && sessions.size <= MOST_TOKENS) return;
      sessions.delete(path);
    }
  }

  return {
    async register(kind, session) {
      dropExpired();
      const path = `/${kind}/${randomBytes(16).toString('base64url')}`;
      sessions.set(path, { session, expiresMs: clock.monotonic() + TOKEN_MS });
      const { url } = await (listening ??= listen());
      return `${url}${path}`;
    },
    async close() {
      sessions.clear();
      for (const socket of sockets) socket.destroy();
      const opened = await listening?.catch(() => undefined);
      if (opened === undefined) return;
      opened.server.closeAllConnections();
      await new Promise<void>((resolve) => opened.server.close(() => resolve()));
    },
  };
}
