/** Streaming responses: a chunked body, an HTTP/2 stream, or WebSocket frames for clients that request them. Slow
 *  clients are disconnected. */

import { type Clock, type Timer } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { acceptsGzip } from '../connection/accept-encoding.ts';
import { ClientGoneError } from '../connection/exchange.ts';
import type { GzipStream } from '../connection/gzip-stream.ts';
import type { StreamResponse, StreamSink } from '../contract.ts';
import type { ServerRequest } from '../request/server-request.ts';
import type { Channel } from './channel.ts';
import { acceptWebSocket } from './websocket.ts';
import { commonHeaders } from './write-response.ts';

/** Resolves when the stream is over, whichever side ended it. */
export type Streamer = (request: ServerRequest, response: StreamResponse) => Promise<void>;

export interface StreamerOptions extends BacklogLimits {
  /** Time that owners of streams have for their final messages when the server stops, in ms. Default 1 s. */
  readonly partingMs?: number;
  /** Whether streams are compressed for clients that accept it. Default true. */
  readonly compress?: boolean;
  /** Domain of the API groups in the server's vocabulary. */
  readonly domain: string;
}

/** Larger than a connection's buffer, and small compared to the allowed backlog. */
const DRAIN_BYTES = 256 * 1024;
/** Time in which a client may read the remaining bytes after its stream has ended, in ms. */
const LEFT_MS = 30_000;

function openBody(request: ServerRequest, response: StreamResponse, gzip?: GzipStream): Channel {
  const { exchange } = request;
  const headers = commonHeaders(request, response.contentType);
  if (gzip !== undefined) headers.push('Content-Encoding', 'gzip', 'Vary', 'Accept-Encoding');
  exchange.writeHead(200, headers);
  exchange.flushHead();
  if (gzip !== undefined) exchange.write(gzip.head);
  return {
    get backlogBytes() {
      return exchange.backlogBytes;
    },
    write(bytes, readers) {
      const sent = gzip?.write(bytes, readers) ?? bytes;
      exchange.write(sent);
      return sent.length;
    },
    end: () => exchange.end(gzip?.end()),
    cut: () => exchange.destroy(),
    onClose: (listener) => exchange.onClose(listener),
    onDrain: (listener) => exchange.onDrain(listener),
  };
}

/** Written bytes are flushed in their time, but nothing waits for a client that does not read. */
function endChannel(channel: Channel, clock: Clock, withinMs: number): void {
  channel.end();
  if (channel.backlogBytes === 0) return;
  const timer = clock.setTimer(() => channel.cut(), withinMs);
  channel.onClose(() => timer.cancel());
}

/** Connects a response with a channel until one of them ends. */
function carry(
  deps: { readonly clock: Clock },
  options: StreamerOptions,
  request: ServerRequest,
  response: StreamResponse,
  channel: Channel,
): Promise<void> {
  const { partingMs = 1000, stalledMs = LEFT_MS } = options;
  return new Promise((resolve, reject) => {
    let over = false;
    let stop: (() => void) | undefined;
    let goOn: (() => void) | undefined;
    let parting: Timer | undefined;
    const guard = createBacklogGuard(
      { clock: deps.clock, backlogBytes: () => channel.backlogBytes, cut: () => channel.cut() },
      options,
    );
    function finish(): void {
      goOn?.();
      if (over) return;
      over = true;
      guard.stop();
      parting?.cancel();
      stop?.();
      resolve();
    }
    const sink: StreamSink = {
      write(bytes, readers = 1) {
        if (!over) guard.wrote(channel.write(bytes, readers));
      },
      end() {
        if (over) return;
        endChannel(channel, deps.clock, request.abortReason === undefined ? stalledMs : partingMs);
        finish();
      },
      drained() {
        if (over || channel.backlogBytes < DRAIN_BYTES) return undefined;
        return new Promise((taken) => {
          goOn = taken;
          channel.onDrain(taken);
        });
      },
    };
    channel.onClose(finish);
    try {
      stop = response.start(sink);
    } catch (error) {
      over = true;
      guard.stop();
      reject(asError(error));
      return;
    }
    if (over) stop();
    else
      request.onAbort(() => {
        if (!over) parting = deps.clock.setTimer(() => sink.end(), partingMs);
      });
  });
}

/** Returns whole lines. */
function handshakeHeaders({ id, admission }: ServerRequest): readonly string[] {
  const lines = [`Audit-Id: ${id}`];
  const flow = admission?.flow.headers ?? [];
  for (let at = 0; at < flow.length; at += 2) lines.push(`${flow[at]}: ${flow[at + 1]}`);
  return lines;
}

export function createStreamer(deps: { readonly clock: Clock }, options: StreamerOptions): Streamer {
  let gzip: Promise<() => GzipStream> | undefined;

  /** Loads the compressor when a client first accepts compression. */
  async function gzipFor(
    { headers }: ServerRequest,
    { compressible = false }: StreamResponse,
  ): Promise<GzipStream | undefined> {
    if (!compressible || options.compress === false || !acceptsGzip(headers['accept-encoding']))
      return undefined;
    gzip ??= import('../connection/gzip-stream.ts').then(({ createGzip }) => createGzip());
    return (await gzip)();
  }

  return async (request, response) => {
    const { exchange } = request;
    if (exchange.upgrade === undefined) {
      request.status = 200;
      if (request.method !== 'HEAD') {
        const stream = await gzipFor(request, response);
        // Otherwise its owner would not learn that the stream never starts.
        if (request.exchange.closed) throw new ClientGoneError();
        return carry(deps, options, request, response, openBody(request, response, stream));
      }
      request.exchange.writeHead(200, commonHeaders(request, response.contentType));
      return request.exchange.end();
    }
    if (response.webSocket === undefined || request.headers.upgrade?.toLowerCase() !== 'websocket') {
      throw new StatusError('BadRequest', 'this request does not offer the required protocol upgrade');
    }
    const channel = await acceptWebSocket(exchange.upgrade, {
      binary: response.webSocket.binary,
      domain: options.domain,
      headers: handshakeHeaders(request),
    });
    if (channel === undefined) {
      request.status = 400;
      return request.abort(new ClientGoneError());
    }
    request.status = 101;
    return carry(deps, options, request, response, channel);
  };
}

export interface BacklogLimits {
  /** Default 8 MiB. */
  readonly maxBytes?: number;
  /** Longest time without progress while bytes are queued, in ms. Default 30 s. */
  readonly stalledMs?: number;
}

export interface BacklogDeps {
  readonly clock: Clock;
  /** Number of bytes queued now. */
  readonly backlogBytes: () => number;
  readonly cut: () => void;
}

export interface BacklogGuard {
  /** Must be called after every write. */
  wrote(bytes: number): void;
  stop(): void;
}

/** Disconnects a slow client: immediately when its backlog exceeds the limit, and after a while without progress. */
export function createBacklogGuard(deps: BacklogDeps, limits: BacklogLimits = {}): BacklogGuard {
  const { maxBytes = 8 * 1024 * 1024, stalledMs = 30_000 } = limits;
  let writtenBytes = 0;
  let takenBytes = 0;
  let timer: Timer | undefined;

  function look(): void {
    timer = undefined;
    const waiting = deps.backlogBytes();
    const taken = writtenBytes - waiting;
    if (waiting === 0) return;
    if (taken <= takenBytes) return deps.cut();
    takenBytes = taken;
    timer = deps.clock.setTimer(look, stalledMs);
  }

  return {
    wrote(bytes) {
      writtenBytes += bytes;
      const waiting = deps.backlogBytes();
      if (waiting > maxBytes) return deps.cut();
      if (waiting === 0 || timer !== undefined) return;
      // Bytes queued now were just written; only progress from now on counts.
      takenBytes = writtenBytes - waiting;
      timer = deps.clock.setTimer(look, stalledMs);
    },
    stop() {
      timer?.cancel();
      timer = undefined;
    },
  };
}
