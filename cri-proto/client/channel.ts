/** One gRPC connection over a unix socket, for calls of raw bytes. Connects immediately and reconnects on its
 *  own.
 *  Calls while the peer is unavailable fail immediately with a retryable `Unavailable` (callers decide what
 *  is still wanted once it is available again); calls during the very first attempt wait for its result. Does
 *  not know services. */
import { type ChannelCredentials, Client, credentials as plainCredentials } from '@grpc/grpc-js';
import { type CallContext, callStream, callUnary, type RawCallOptions } from './call.ts';
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
