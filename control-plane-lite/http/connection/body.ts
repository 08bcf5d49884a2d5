/** Reads whole request bodies within a limit, which also applies to the decompressed size. */
import { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { InputType } from 'node:zlib';
import type { Clock } from '#api/kit/clock.ts';
import { asError, hasCode } from '#api/kit/errno.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { ClientGoneError } from './exchange.ts';

export const DEFAULT_BODY_LIMIT_BYTES: number = 3 * 1024 * 1024;

export interface BodyOptions {
  readonly limitBytes: number;
  /** Of `Content-Length` and `Content-Encoding`. */
  readonly contentLength: string | undefined;
  readonly contentEncoding: string | undefined;
  /** Receives the function that cancels reading. */
  readonly onAbort?: (giveUp: (error: Error) => void) => void;
}

const tooLarge = (limitBytes: number): StatusError =>
  new StatusError('RequestEntityTooLarge', `Request entity too large: limit is ${limitBytes}`);

/** Collects the bytes of a stream; the chunk of a single-chunk stream is not copied. */
function collect(source: Readable, options: BodyOptions): Promise<Buffer> {
  const { limitBytes } = options;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let settled = false;
    const settle = (act: () => void): void => {
      if (settled) return;
      settled = true;
      source.off('data', onData);
      act();
    };
    const giveUp = (error: Error): void => settle(() => reject(error));
    function onData(chunk: Buffer): void {
      size += chunk.length;
      if (size > limitBytes) giveUp(tooLarge(limitBytes));
      else chunks.push(chunk);
    }
    source.on('data', onData);
    source.once('end', () =>
      settle(() =>
        resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)),
      ),
    );
    // The stream of a completely read body closes as well; only the others need the error.
    const leave = (): void => settle(() => reject(new ClientGoneError()));
    source.once('error', leave);
    source.once('close', leave);
    options.onAbort?.(giveUp);
  });
}

type Inflate = (
  data: InputType,
  options: { maxOutputLength: number },
  done: (error: Error | null, result: Buffer) => void,
) => void;

async function inflate(body: Buffer, encoding: 'gzip' | 'deflate', limitBytes: number): Promise<Buffer> {
  const { gunzip, inflate: inflateZlib } = await import('node:zlib');
  const run: Inflate = encoding === 'gzip' ? gunzip : inflateZlib;
  return new Promise((resolve, reject) => {
    run(body, { maxOutputLength: limitBytes }, (error, result) => {
      if (error === null) resolve(result);
      else if (hasCode(error, 'ERR_BUFFER_TOO_LARGE')) reject(tooLarge(limitBytes));
      else {
        const detail = `the request body is no ${encoding} data`;
        reject(new StatusError('BadRequest', detail, { cause: asError(error) }));
      }
    });
  });
}

function encodingOf(text: string | undefined): 'identity' | 'gzip' | 'deflate' {
  if (text === undefined) return 'identity';
  const encoding = text.trim().toLowerCase();
  if (encoding === '' || encoding === 'identity') return 'identity';
  if (encoding === 'gzip' || encoding === 'x-gzip') return 'gzip';
  if (encoding === 'deflate') return 'deflate';
  throw new StatusError(
    'UnsupportedMediaType',
    `the content encoding ${JSON.stringify(text.slice(0, 64))} is not supported; gzip and deflate are`,
  );
}

/** Returns the whole body, decompressed.
 *  @throws StatusError RequestEntityTooLarge, BadRequest, UnsupportedMediaType
 *  @throws ClientGoneError */
export async function readBody(source: Readable, options: BodyOptions): Promise<Buffer> {
  const encoding = encodingOf(options.contentEncoding);
  if (Number(options.contentLength ?? 0) > options.limitBytes) throw tooLarge(options.limitBytes);
  const body = await collect(source, options);
  return encoding === 'identity' ? body : inflate(body, encoding, options.limitBytes);
}

/** Bytes of an unread body that are still consumed, so that its sender receives the response. */
const DISCARD_BYTES = 16 * 1024 * 1024;
const DISCARD_MS = 10_000;

/** Consumes the rest of a body that its handler did not read, within limits; then closes the connection. */
export function discardBody(source: Readable, clock: Clock, cut: () => void): void {
  if (source.readableEnded || source.destroyed) return;
  let left = DISCARD_BYTES;
  const timer = clock.setTimer(cut, DISCARD_MS);
  // Node emits no `close` on an HTTP/1.1 message whose response is complete.
  const connection = source instanceof IncomingMessage ? source.socket : undefined;
  const stop = (): void => {
    timer.cancel();
    connection?.off('close', stop);
  };
  source.once('end', stop);
  source.once('close', stop);
  connection?.once('close', stop);
  source.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) cut();
  });
  source.resume();
}
