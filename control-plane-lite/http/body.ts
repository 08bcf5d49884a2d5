/** Reads whole request bodies, within a limit that also holds for what a compressed body grows to. */
import { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { InputType } from 'node:zlib';
import { asError, type Clock } from '#api/kit/clock.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { ClientGoneError } from './exchange.ts';

export const DEFAULT_BODY_LIMIT_BYTES: number = 3 * 1024 * 1024;

export interface BodyOptions {
  readonly limitBytes: number;
  /** Of `Content-Length` and `Content-Encoding`. */
  readonly contentLength: string | undefined;
  readonly contentEncoding: string | undefined;
  /** Is handed the function that gives the reading up. */
  readonly onAbort?: (giveUp: (error: Error) => void) => void;
}

const tooLarge = (limitBytes: number): StatusError =>
  new StatusError('RequestEntityTooLarge', `Request entity too large: limit is ${limitBytes}`);

/** Collects a stream's bytes; a stream of one chunk is not copied. */
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
    // A body that was read to its end closes as well; the error is made for the others only.
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
      else if ('code' in error && error.code === 'ERR_BUFFER_TOO_LARGE') reject(tooLarge(limitBytes));
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

/** The whole body, decompressed.
 *  @throws StatusError RequestEntityTooLarge, BadRequest, UnsupportedMediaType
 *  @throws ClientGoneError */
export async function readBody(source: Readable, options: BodyOptions): Promise<Buffer> {
  const encoding = encodingOf(options.contentEncoding);
  if (Number(options.contentLength ?? 0) > options.limitBytes) throw tooLarge(options.limitBytes);
  const body = await collect(source, options);
  return encoding === 'identity' ? body : inflate(body, encoding, options.limitBytes);
}

/** What of a body that nobody wants is still taken in, so that its sender sees the answer. */
const DISCARD_BYTES = 16 * 1024 * 1024;
const DISCARD_MS = 10_000;

/** Takes in the rest of a body that was answered without being read, within limits; then cuts it off. */
export function discardBody(source: Readable, clock: Clock, cut: () => void): void {
  if (source.readableEnded || source.destroyed) return;
  let left = DISCARD_BYTES;
  const timer = clock.setTimer(cut, DISCARD_MS);
  // A message of HTTP/1.1 that has been answered is not told of the end of its connection.
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
