/** Writer of finite responses: head, body chunks with backpressure, compression of large bodies. */
import type { Gzip } from 'node:zlib';
import type { Clock } from '#api/kit/clock.ts';
import { acceptsGzip } from '../connection/accept-encoding.ts';
import type { Exchange } from '../connection/exchange.ts';
import type { BytesResponse } from '../contract.ts';
import type { ServerRequest } from '../request/server-request.ts';
import { formatWarnings } from './warnings.ts';

/** Smaller bodies are not worth the compression time. */
const COMPRESS_FROM_BYTES = 128 * 1024;
/** Maximum size of a write: small chunks are joined, large ones cut. A client that cancels its request then leaves
 *  little in the connection's queue. */
const BLOCK_BYTES = 256 * 1024;
/** A smaller backlog is left to the connection. */
const BACKLOG_BYTES = 16 * 1024;
/** A client that reads nothing for so long is disconnected. */
const STALLED_MS = 30_000;

/** Returns the headers common to all responses, as a flat list. */
export function commonHeaders(
  request: ServerRequest,
  contentType: string,
  cacheControl = 'no-cache, private',
): string[] {
  const headers = ['Audit-Id', request.id, 'Cache-Control', cacheControl, 'Content-Type', contentType];
  if (request.admission !== undefined) {
    for (const text of request.admission.flow.headers) headers.push(text);
  }
  if (request.warnings !== undefined) headers.push('Warning', formatWarnings(request.warnings));
  if (request.extraHeaders !== undefined) headers.push(...request.extraHeaders);
  return headers;
}

/** Joins small chunks into blocks, and cuts large ones without a copy.
 *  @param room returns memory for the next block */
function* blocksOf(pieces: readonly Buffer[], room: () => Buffer): Generator<Buffer> {
  let block: Buffer | undefined;
  let size = 0;
  for (const piece of pieces) {
    if (block !== undefined && size + piece.length > BLOCK_BYTES) {
      yield block.subarray(0, size);
      block = undefined;
      size = 0;
    }
    if (piece.length >= BLOCK_BYTES) {
      for (let start = 0; start < piece.length; start += BLOCK_BYTES) {
        yield piece.subarray(start, start + BLOCK_BYTES);
      }
    } else {
      block ??= room();
      size += piece.copy(block, size);
    }
  }
  if (block !== undefined) yield block.subarray(0, size);
}

const newRoom = (): Buffer => Buffer.allocUnsafe(BLOCK_BYTES);

/** Returns the same memory for each block, as long as the connection has taken the one before. */
function reusedRoom(exchange: Exchange): () => Buffer {
  let room: Buffer | undefined;
  return () => {
    if (room === undefined || exchange.backlogBytes > 0) room = newRoom();
    return room;
  };
}

/** Waits until the client has read the written bytes or is gone; disconnects it if it reads nothing.
 *  Registers one close listener, however often it waits. */
function drainOf(exchange: Exchange, clock: Clock): () => Promise<void> {
  let goOn: (() => void) | undefined;
  exchange.onClose(() => goOn?.());
  return () =>
    new Promise((resolve) => {
      if (exchange.closed) return resolve();
      const timer = clock.setTimer(() => exchange.destroy(), STALLED_MS);
      goOn = (): void => {
        timer.cancel();
        resolve();
      };
      exchange.onDrain(goOn);
    });
}

/** Bytes still queued after the last write must go out as well, without anything waiting for them. */
function endWatched(exchange: Exchange, clock: Clock, last?: Buffer): void {
  // Nothing else would cancel the timer of a client that is gone.
  if (exchange.closed) return;
  exchange.end(last);
  if (exchange.backlogBytes < BACKLOG_BYTES) return;
  const timer = clock.setTimer(() => exchange.destroy(), STALLED_MS);
  exchange.onClose(() => timer.cancel());
}

async function writeBlocks(exchange: Exchange, pieces: readonly Buffer[], clock: Clock): Promise<void> {
  const drained = drainOf(exchange, clock);
  for (const block of blocksOf(pieces, reusedRoom(exchange))) {
    if (exchange.closed) return;
    if (!exchange.write(block)) await drained();
  }
  endWatched(exchange, clock);
}

/** Waits until the stream takes more or is destroyed. */
function whenWritable(gzip: Gzip): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      gzip.off('drain', done);
      gzip.off('close', done);
      resolve();
    };
    gzip.on('drain', done);
    gzip.on('close', done);
  });
}

async function writeCompressed(exchange: Exchange, pieces: readonly Buffer[], clock: Clock): Promise<void> {
  const { createGzip } = await import('node:zlib');
  const gzip: Gzip = createGzip({ level: 1 });
  const feeding = (async () => {
    for (const block of blocksOf(pieces, newRoom)) {
      if (exchange.closed || gzip.destroyed) break;
      if (!gzip.write(block)) await whenWritable(gzip);
    }
    // Ends the reader's input, even if the output has no use any more.
    if (!gzip.destroyed) gzip.end();
  })();
  const drained = drainOf(exchange, clock);
  for await (const chunk of gzip) {
    if (exchange.closed) break;
    if (Buffer.isBuffer(chunk) && !exchange.write(chunk)) await drained();
  }
  if (exchange.closed) gzip.destroy();
  else endWatched(exchange, clock);
  await feeding;
}

function wholeOf(pieces: readonly Buffer[], size: number): Buffer {
  const [first] = pieces;
  return first !== undefined && pieces.length === 1 ? first : Buffer.concat(pieces, size);
}

/** Writes a response. The promise resolves once everything was handed to the connection; small responses need
 *  none. */
export function writeBytes(
  request: ServerRequest,
  response: BytesResponse,
  { clock, compress: mayCompress }: { readonly clock: Clock; readonly compress: boolean },
): Promise<void> | undefined {
  const { exchange } = request;
  const { body } = response;
  const pieces: readonly Buffer[] = Buffer.isBuffer(body) ? [body] : body;
  let size = 0;
  for (const piece of pieces) size += piece.length;
  const headers = commonHeaders(request, response.contentType, response.cacheControl);
  for (const name in response.headers) headers.push(name, response.headers[name] ?? '');
  request.status = response.status;
  const isHead = exchange.method === 'HEAD';
  const compress =
    mayCompress &&
    size >= COMPRESS_FROM_BYTES &&
    response.status === 200 &&
    response.headers?.['Content-Encoding'] === undefined &&
    acceptsGzip(exchange.headers['accept-encoding']);
  if (size >= COMPRESS_FROM_BYTES) headers.push('Vary', 'Accept-Encoding');
  if (compress && !isHead) {
    headers.push('Content-Encoding', 'gzip');
    exchange.writeHead(200, headers);
    return writeCompressed(exchange, pieces, clock);
  }
  if (response.status !== 204) headers.push('Content-Length', String(size));
  exchange.writeHead(response.status, headers);
  if (isHead || size === 0) exchange.end();
  else if (size < COMPRESS_FROM_BYTES) endWatched(exchange, clock, wholeOf(pieces, size));
  else return writeBlocks(exchange, pieces, clock);
  return undefined;
}
