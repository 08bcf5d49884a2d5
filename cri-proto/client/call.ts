/** Single gRPC calls of raw bytes on an existing client. */
import { type Client, Metadata, type ServiceError } from '@grpc/grpc-js';
import { CriError, reasonOfCode } from '../errors.ts';
import { abortReason } from './abort.ts';

export interface RawCallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Time limit in ms; 0 means none. */
  readonly timeoutMs: number;
}

/** A client and its calls in flight, which are cancelled when it closes. */
export interface CallContext {
  readonly client: Client;
  readonly calls: Set<{ readonly cancel: () => void }>;
  readonly isClosed: () => boolean;
}

const serialize = (bytes: Uint8Array): Buffer =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const deserialize = (bytes: Buffer): Uint8Array => bytes;

export function callUnary(
  context: CallContext,
  path: string,
  request: Uint8Array,
  options: RawCallOptions,
): Promise<Uint8Array> {
  const { client, calls } = context;
  const { signal } = options;
  return new Promise((resolve, reject) => {
    requireOpen(context, path, signal);
    const call = client.makeUnaryRequest(
      path,
      serialize,
      deserialize,
      request,
      new Metadata(),
      deadlineOf(options),
      (error, response) => {
        calls.delete(entry);
        signal?.removeEventListener('abort', onAbort);
        if (error !== null) reject(failure(context, path, error));
        else resolve(response ?? new Uint8Array(0));
      },
    );
    const entry = { cancel: () => call.cancel() };
    calls.add(entry);
    function onAbort(): void {
      if (signal !== undefined) reject(abortReason(signal));
      call.cancel();
    }
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

export async function* callStream(
  context: CallContext,
  path: string,
  request: Uint8Array,
  options: RawCallOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { client, calls } = context;
  const { signal } = options;
  requireOpen(context, path, signal);
  const metadata = new Metadata();
  const call = client.makeServerStreamRequest(
    path,
    serialize,
    deserialize,
    request,
    metadata,
    deadlineOf(options),
  );
  // The iteration receives errors as well, but not those after its end.
  call.on('error', () => undefined);
  const entry = { cancel: () => call.cancel() };
  calls.add(entry);
  signal?.addEventListener('abort', entry.cancel, { once: true });
  try {
    for await (const chunk of call) {
      if (chunk instanceof Uint8Array) yield chunk;
    }
    signal?.throwIfAborted();
  } catch (thrown) {
    signal?.throwIfAborted();
    throw isServiceError(thrown) ? failure(context, path, thrown) : thrown;
  } finally {
    calls.delete(entry);
    signal?.removeEventListener('abort', entry.cancel);
    call.cancel();
  }
}

/** Returns the method name in `/package.Service/Method`. */
export function methodOfPath(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function deadlineOf(options: RawCallOptions): { deadline?: number } {
  return options.timeoutMs > 0 ? { deadline: Date.now() + options.timeoutMs } : {};
}

function requireOpen(context: CallContext, path: string, signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw abortReason(signal);
  if (context.isClosed()) throw connectionClosed(path, undefined);
}

function failure(context: CallContext, path: string, cause: ServiceError): CriError {
  if (context.isClosed()) return connectionClosed(path, cause);
  const { code, details } = cause;
  return new CriError({ reason: reasonOfCode(code), method: methodOfPath(path), details, cause });
}

function connectionClosed(path: string, cause: ServiceError | undefined): CriError {
  const method = methodOfPath(path);
  return new CriError({ reason: 'ConnectionClosed', method, details: 'connection closed', cause });
}

function isServiceError(thrown: unknown): thrown is ServiceError {
  return (
    thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'number' && 'details' in thrown
  );
}
