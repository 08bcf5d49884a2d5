/** Streaming server for tests, based only on the frame codec, with the behaviour of CRI runtimes: drops data
 *  on streams before accepting them, never sends window updates, and ends streams by resets. */
import { createServer, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { createFrameReader } from '#api/spdy/frame-reader.ts';
import { encodeFrame, type SpdyFrame } from '#api/spdy/frames.ts';
import { createHeaderCompressor, createHeaderDecompressor } from '#api/spdy/headers.ts';
import { REMOTE_COMMAND_V4 } from '#api/vocabulary.ts';

export interface ServerSession {
  /** Resolves when the client has opened a stream of each of these types. */
  opened(...types: readonly string[]): Promise<void>;
  /** All data received on a stream so far. */
  received(type: string): string;
  /** Resolves when the client closed its half of a stream. */
  halfClosed(type: string): Promise<void>;
  /** Resolves at the next window update, ping or reset from the client. */
  readonly frames: readonly SpdyFrame[];
  send(type: string, data: string | Uint8Array): void;
  sendFrame(frame: Exclude<SpdyFrame, { kind: 'unknown' }>): void;
  idOf(type: string): number;
  /** Sends a status on the error stream, then ends like the runtimes. */
  finish(status: object | string): void;
  /** Closes the connection abruptly. */
  cut(): void;
  readonly closed: Promise<void>;
}

export interface SpdyTestServer extends AsyncDisposable {
  readonly url: string;
}

export interface SpdyTestServerOptions {
  readonly run: (session: ServerSession) => Promise<void>;
  /** Subprotocol of the response. */
  readonly protocol?: string;
  /** Rejects with this status and body instead. */
  readonly refuse?: { readonly status: number; readonly body: string };
}

function createSession(socket: Duplex): ServerSession {
  const compressor = createHeaderCompressor();
  const decompressor = createHeaderDecompressor();
  const reader = createFrameReader();
  const ids = new Map<string, number>();
  const types = new Map<number, string>();
  const inbound = new Map<string, string>();
  const finished = new Set<string>();
  const frames: SpdyFrame[] = [];
  let waiters: (() => void)[] = [];

  const sendFrame = (frame: Exclude<SpdyFrame, { kind: 'unknown' }>): void => {
    if (!socket.destroyed) socket.write(encodeFrame(frame));
  };
  async function until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => waiters.push(resolve));
  }
  function idOf(type: string): number {
    const id = ids.get(type);
    if (id === undefined) throw new Error(`the client opened no stream ${type}`);
    return id;
  }
  function take(frame: SpdyFrame): void {
    frames.push(frame);
    if (frame.kind === 'synStream') {
      const [type = ''] = decompressor.decompress(frame.headerBlock)['streamtype'] ?? [];
      ids.set(type, frame.streamId);
      // Accepted only after one turn of the event loop, like a busy server.
      setImmediate(() => {
        types.set(frame.streamId, type);
        sendFrame({
          kind: 'synReply',
          streamId: frame.streamId,
          fin: false,
          headerBlock: compressor.compress({}),
        });
        wake();
      });
    }
    if (frame.kind !== 'data') return;
    const type = types.get(frame.streamId);
    if (type === undefined) return;
    inbound.set(type, (inbound.get(type) ?? '') + Buffer.from(frame.data).toString());
    if (frame.fin) finished.add(type);
  }
  function wake(): void {
    const woken = waiters;
    waiters = [];
    for (const resume of woken) resume();
  }
  socket.on('data', (bytes: Buffer) => {
    for (const frame of reader.feed(bytes)) take(frame);
    wake();
  });
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => {
    socket.on('close', () => resolve());
  });
  socket.on('end', () => socket.end());

  return {
    frames,
    closed,
    opened: (...wanted) => until(() => wanted.every((type) => [...types.values()].includes(type))),
    received: (type) => inbound.get(type) ?? '',
    halfClosed: (type) => until(() => finished.has(type)),
    send: (type, data) => {
      sendFrame({ kind: 'data', streamId: idOf(type), fin: false, data: Buffer.from(data) });
    },
    sendFrame,
    idOf,
    finish(status) {
      const text = typeof status === 'string' ? status : JSON.stringify(status);
      sendFrame({ kind: 'data', streamId: idOf('error'), fin: false, data: Buffer.from(text) });
      for (const streamId of ids.values()) sendFrame({ kind: 'rstStream', streamId, status: 5 });
      sendFrame({ kind: 'goAway', lastStreamId: 0, status: 0 });
      socket.end();
    },
    cut: () => void socket.destroy(),
  };
}

/** Listens on a loopback port until disposed. A failure of `run` fails the disposal. */
export async function startSpdyServer(options: SpdyTestServerOptions): Promise<SpdyTestServer> {
  const sockets = new Set<Duplex>();
  const runs: Promise<void>[] = [];
  const server: Server = createServer((_, response) => {
    response.writeHead(options.refuse?.status ?? 500).end(options.refuse?.body);
  });
  if (options.refuse === undefined) {
    server.on('upgrade', (_, socket) => {
      sockets.add(socket);
      const lines = [
        'HTTP/1.1 101 Switching Protocols',
        'Connection: Upgrade',
        'Upgrade: SPDY/3.1',
        `X-Stream-Protocol-Version: ${options.protocol ?? REMOTE_COMMAND_V4}`,
      ];
      socket.write(`${lines.join('\r\n')}\r\n\r\n`);
      runs.push(options.run(createSession(socket)));
    });
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return {
    url: `http://127.0.0.1:${port}/exec/token`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await Promise.all(runs);
    },
  };
}
