/** One gRPC connection over a unix socket, and its calls of raw bytes. Connects immediately and reconnects on its
 *  own.
 *  Calls while the peer is unavailable fail immediately with a retryable `Unavailable` (callers decide what
 *  is still wanted once it is available again); calls during the very first attempt wait for its result. Does
 *  not know services. */
import {
  type ChannelCredentials,
  Client,
  Metadata,
  credentials as plainCredentials,
  type ServiceError,
} from '@grpc/grpc-js';
import { CriError, reasonOfCode } from '../errors.ts';
import { abortReason } from './abort.ts';
import { type ChannelState, watchChannelState } from './channel-state.ts';

export interface GrpcChannel {
  /** `path` is `/package.Service/Method`.
   *  @throws CriError, or the signal's reason if it fired */
  readonly unary: (path: string, request: Uint8Array, options: RawCallOptions) => Promise<Uint8Array>;
  /** Opens a server stream; the call starts with the iteration and is cancelled when the iteration stops. */
  readonly stream: (
    path: string,
    request: Uint8Array,
    options: RawCallOptions,
  ) => AsyncGenerator<Uint8Array, void, undefined>;
  readonly state: () => ChannelState;
  /** Calls `listener` at each change. Returns a function that ends the subscription. */
  readonly onStateChange: (listener: (state: ChannelState) => void) => () => void;
  /** Fails calls in flight with `ConnectionClosed` and disconnects. */
  readonly close: () => void;
}

/** Maximum message size in either direction, in bytes. */
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;

const CHANNEL_OPTIONS: Readonly<Record<string, number | string>> = {
  'grpc.default_authority': 'localhost',
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 3000,
  'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
  'grpc.max_send_message_length': MAX_MESSAGE_BYTES,
  'grpc.enable_retries': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_channelz': 0,
};

export interface ChannelSettings {
  /** Unencrypted credentials, for a unix socket. */
  readonly credentials?: ChannelCredentials;
  /** Whether closing cancels the calls in flight; default true. Otherwise they finish before it disconnects. */
  readonly cancelOnClose?: boolean;
}

/** Opens a channel to the socket, which need not exist yet. */
export function openChannel(socketPath: string, settings: ChannelSettings = {}): GrpcChannel {
  const { credentials = plainCredentials.createInsecure(), cancelOnClose = true } = settings;
  const client = new Client(`unix:${socketPath}`, credentials, CHANNEL_OPTIONS);
  const watcher = watchChannelState(client);
  let closed = false;
  const context: CallContext = { client, calls: new Set(), isClosed: () => closed };
  return {
    unary: (...call) => callUnary(context, ...call),
    stream: (...call) => callStream(context, ...call),
    state: watcher.state,
    onStateChange: watcher.onStateChange,
    close() {
      if (closed) return;
      closed = true;
      watcher.close();
      if (cancelOnClose) for (const call of context.calls) call.cancel();
      client.close();
    },
  };
}

interface RawCallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Time limit in ms; 0 means none. */
  readonly timeoutMs: number;
}

/** A client and its calls in flight, which are cancelled when it closes. */
interface CallContext {
  readonly client: Client;
  readonly calls: Set<{ readonly cancel: () => void }>;
  readonly isClosed: () => boolean;
}

const serialize = (bytes: Uint8Array): Buffer =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const deserialize = (bytes: Buffer): Uint8Array => bytes;

function callUnary(
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

async function* callStream(
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
