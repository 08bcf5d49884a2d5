/** Connection to a container runtime: both CRI services on one socket. */
import { createMessageTypes, type MessageTypes } from '#api/codec/protobuf/message.ts';
import type { Logger } from '#api/kit/logger.ts';
import criV1 from '../data/cri-v1.json' with { type: 'json' };
import type { ImageService, RuntimeService } from '../gen/cri-v1.ts';
import { type GrpcChannel, openChannel } from './channel.ts';
import { type ChannelState, untilState } from './channel-state.ts';
import { DEFAULT_REQUEST_TIMEOUT_MS, defaultTimeoutMs } from './deadlines.ts';
import { parseEndpoint } from './endpoint.ts';
import { type HoldConnection, openLastingChannel } from './lasting-channel.ts';
import { type CriVersion, negotiateVersion } from './negotiation.ts';
import { createMethods } from './service.ts';

export interface ConnectOptions {
  /** `unix:///run/…` or a path. */
  readonly endpoint: string;
  readonly log: Logger;
  /** Base timeout of a call in ms (`--runtime-request-timeout`); default 2 minutes.
   *  @see defaultTimeoutMs */
  readonly requestTimeoutMs?: number;
  /** With a holder, calls that create, start or remove continue when this process is killed. */
  readonly hold?: HoldConnection;
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
  const runtime = createMethods({ channel: runtimeChannel, types, timeoutMs }, criV1.services.RuntimeService);
  const images = createMethods({ channel: imageChannel, types, timeoutMs }, criV1.services.ImageService);
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
