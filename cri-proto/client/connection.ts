/** Connection to a container runtime: both CRI services on one socket, with the default timeouts of their calls
 *  and the version of CRI that the runtime supports.
 *
 *  Uses CRI v1 and falls back to v1alpha2, whose messages are the same under another path. No extra call is
 *  needed: the first one that v1 does not implement is repeated with v1alpha2. The result is valid until the
 *  connection breaks; the runtime may return with another version. */
import { createMessageTypes, type MessageTypes } from '#api/codec/protobuf/message.ts';
import type { Logger } from '#api/kit/logger.ts';
import criV1 from '../data/cri-v1.json' with { type: 'json' };
import { isUnimplemented } from '../errors.ts';
import type { ImageService, RuntimeService } from '../gen/cri-v1.ts';
import { type GrpcChannel, openChannel } from './channel.ts';
import { type ChannelState, untilState } from './channel-state.ts';
import { parseEndpoint } from './endpoint.ts';
import { type HoldConnection, openLastingChannel } from './lasting-channel.ts';
import { createMethods, type ObserveCall } from './service.ts';

export interface ConnectOptions {
  /** `unix:///run/…` or a path. */
  readonly endpoint: string;
  readonly log: Logger;
  /** Base timeout of a call in ms (`--runtime-request-timeout`); default 2 minutes.
   *  @see defaultTimeoutMs */
  readonly requestTimeoutMs?: number;
  /** With a holder, calls that create, start or remove continue when this process is killed. */
  readonly hold?: HoldConnection;
  /** Observes every unary call. */
  readonly observe?: ObserveCall;
}

export interface CriConnection {
  readonly endpoint: string;
  readonly runtime: RuntimeService;
  readonly images: ImageService;
  /** The raw connection, for other services of the runtime on the same socket. */
  readonly channel: GrpcChannel;
  /** While `away`, calls fail immediately with a retryable `Unavailable`. */
  readonly state: () => ChannelState;
  /** Calls `listener` at each change. Returns a function that ends the subscription. */
  readonly onStateChange: (listener: (state: ChannelState) => void) => () => void;
  /** Resolves when connected. Rejects with the signal's reason. */
  readonly whenConnected: (signal?: AbortSignal) => Promise<void>;
  /** CRI version of the last response; undefined after the connection broke. */
  readonly criVersion: () => CriVersion | undefined;
  /** Fails calls in flight with `ConnectionClosed` and disconnects. */
  readonly close: () => void;
}

/** Base without `--runtime-request-timeout`, in ms. */
const DEFAULT_REQUEST_TIMEOUT_MS = 120_000;

const V1 = '/runtime.v1.';
const V1_ALPHA2 = '/runtime.v1alpha2.';

/** Starts connecting and returns immediately; the runtime may start later.
 *  @throws EndpointError for an endpoint that is not a unix socket */
export function connectRuntime(options: ConnectOptions): CriConnection {
  const path = parseEndpoint(options.endpoint);
  const channel = options.hold === undefined ? openChannel(path) : openLastingChannel(path, options.hold);
  return connectOver(channel, createMessageTypes(criV1), options);
}

/** Creates both services on an existing channel.
 *  @param types of the package `runtime.v1`; connections of one process may share them */
export function connectOver(
  channel: GrpcChannel,
  types: MessageTypes,
  options: Omit<ConnectOptions, 'hold'>,
): CriConnection {
  const { endpoint, requestTimeoutMs = DEFAULT_REQUEST_TIMEOUT_MS } = options;
  const log = options.log.child({ component: 'cri', endpoint });
  channel.onStateChange((state) => {
    if (state === 'connected') log.info({}, 'Runtime connected');
    else log.warn({}, 'Runtime connection lost');
  });
  const timeoutMs = (rpc: string, request: object): number =>
    defaultTimeoutMs(rpc, request, requestTimeoutMs);
  const runtimeChannel = negotiateVersion(channel);
  const imageChannel = negotiateVersion(channel);
  const common = { types, timeoutMs, observe: options.observe };
  const runtime = createMethods({ ...common, channel: runtimeChannel }, criV1.services.RuntimeService);
  const images = createMethods({ ...common, channel: imageChannel }, criV1.services.ImageService);
  if (!isRuntimeService(runtime) || !isImageService(images))
    throw new TypeError('the descriptors contain no CRI services');
  return {
    endpoint,
    runtime,
    images,
    channel,
    state: channel.state,
    onStateChange: channel.onStateChange,
    whenConnected: (signal) => untilState(channel, 'connected', signal),
    criVersion: () => runtimeChannel.version() ?? imageChannel.version(),
    close: channel.close,
  };
}

/** The interfaces are generated from the table of the methods; checking the first name is sufficient. */
const isRuntimeService = (methods: object): methods is RuntimeService => 'version' in methods;
const isImageService = (methods: object): methods is ImageService => 'listImages' in methods;

/** Returns the timeout of a call in ms; 0 means none. Calls with a timeout in their request get the base
 *  added to it, for the cleanup of the runtime. `baseMs` is the configured request timeout. */
export function defaultTimeoutMs(rpc: string, request: object, baseMs: number): number {
  switch (rpc) {
    // The duration of a pull depends on the registry; the puller monitors its progress.
    case 'PullImage':
    case 'GetContainerEvents':
      return 0;
    // The runtime may pull the sandbox image.
    case 'RunPodSandbox':
      return 2 * baseMs;
    case 'StopContainer':
    case 'CheckpointContainer':
      return baseMs + requestedMs(request);
    // CRI: a command without a timeout may run indefinitely.
    case 'ExecSync': {
      const requested = requestedMs(request);
      return requested === 0 ? 0 : baseMs + requested;
    }
    default:
      return baseMs;
  }
}

function requestedMs(request: object): number {
  const seconds = 'timeout' in request ? request.timeout : undefined;
  if (typeof seconds !== 'bigint' && typeof seconds !== 'number') return 0;
  return Math.max(Number(seconds), 0) * 1000;
}

type CriVersion = 'v1' | 'v1alpha2';

export interface NegotiatingChannel extends Pick<GrpcChannel, 'unary' | 'stream'> {
  /** Version of the last response; undefined before the first one. */
  readonly version: () => CriVersion | undefined;
}

/** Wraps `channel`: accepts paths of CRI v1 and sends those that the runtime supports. One per service. */
function negotiateVersion(channel: GrpcChannel): NegotiatingChannel {
  let version: CriVersion | undefined;
  channel.onStateChange(() => {
    version = undefined;
  });

  async function unary(...call: Parameters<GrpcChannel['unary']>): Promise<Uint8Array> {
    const [path, request, options] = call;
    const older = path.replace(V1, V1_ALPHA2);
    if (version === 'v1alpha2') return channel.unary(older, request, options);
    try {
      const response = await channel.unary(path, request, options);
      version = 'v1';
      return response;
    } catch (thrown) {
      if (version === 'v1' || !isUnimplemented(thrown)) throw thrown;
      const response = await channel.unary(older, request, options);
      version = 'v1alpha2';
      return response;
    }
  }

  // v1alpha2 has no streaming calls.
  return { unary, stream: channel.stream, version: () => version };
}
