/** Channel whose calls continue when this process is killed. A runtime cancels calls of a disconnected peer,
 *  and one that is interrupted during the start of a container may report a failed container, or lose its
 *  process (observed with containerd 1.6). Therefore another process holds the connection open as well. */
import type { Socket } from 'node:net';
import { type CallCredentials, ChannelCredentials, credentials } from '@grpc/grpc-js';
import { type GrpcChannel, methodOfPath, openChannel } from './channel.ts';

/** Another process that holds the connection. */
export interface ConnectionHolder {
  /** Called before the first call starts, and after the last call in flight has ended. If this process dies
   *  while calls are in flight, the holder keeps the connection until they had time to finish. */
  readonly underWay: (some: boolean) => void;
  /** Releases the connection immediately. */
  readonly release: () => void;
}

/** Starts a holder of the connection with this file descriptor. */
export type HoldConnection = (fd: number) => ConnectionHolder;

/** Calls that must not be interrupted. They ignore signals: once started, they are always completed. */
const LASTING: ReadonlySet<string> = new Set([
  'RunPodSandbox',
  'StopPodSandbox',
  'RemovePodSandbox',
  'CreateContainer',
  'StartContainer',
  'RemoveContainer',
  'ExecSync',
]);

/** Uses `plain`, except for mutating calls, which use a separate connection that is held. */
export function openLastingChannel(socketPath: string, hold: HoldConnection): GrpcChannel {
  const plain = openChannel(socketPath);
  const holders = new Map<Socket, ConnectionHolder>();
  let calls = 0;
  let closed = false;
  const lasting = openChannel(socketPath, {
    cancelOnClose: false,
    credentials: observedCredentials((socket) => {
      const fd = descriptorOf(socket);
      if (fd === undefined) return;
      const holder = hold(fd);
      if (calls > 0) holder.underWay(true);
      holders.set(socket, holder);
      socket.once('close', () => {
        if (!closed) holder.release();
        holders.delete(socket);
      });
    }),
  });

  function count(change: 1 | -1): void {
    calls += change;
    if (calls === 0 || (calls === 1 && change === 1))
      for (const holder of holders.values()) holder.underWay(calls > 0);
  }

  async function unary(...call: Parameters<GrpcChannel['unary']>): Promise<Uint8Array> {
    if (!LASTING.has(methodOfPath(call[0]))) return plain.unary(...call);
    count(1);
    try {
      return await lasting.unary(...call);
    } finally {
      count(-1);
    }
  }

  const state = () => (plain.state() === 'connected' ? lasting.state() : 'away');
  return {
    unary,
    stream: plain.stream,
    state,
    onStateChange(listener) {
      let last = state();
      const onChange = (): void => {
        const next = state();
        if (next === last) return;
        last = next;
        listener(next);
      };
      const stops = [plain.onStateChange(onChange), lasting.onStateChange(onChange)];
      return () => stops.forEach((stop) => stop());
    },
    close() {
      closed = true;
      plain.close();
      lasting.close();
      for (const [socket, holder] of holders) {
        if (calls === 0) holder.release();
        // Without closing the connection to the runtime: the holder keeps it until this process has exited
        // and the calls in flight had their time.
        else socket.destroy();
      }
    },
  };
}

/** The descriptor is not part of the public interface of Node, which uses it to pass a socket to a child
 *  process. */
function descriptorOf(socket: Socket): number | undefined {
  const handle: unknown = Reflect.get(socket, '_handle');
  const fd: unknown = typeof handle === 'object' && handle !== null ? Reflect.get(handle, 'fd') : undefined;
  return typeof fd === 'number' && fd >= 0 ? fd : undefined;
}

type Connector = ReturnType<ChannelCredentials['_createSecureConnector']>;

/** Calls `onSocket` with every socket as soon as it is connected, including after reconnects. */
function observedCredentials(onSocket: (socket: Socket) => void): ChannelCredentials {
  return new ObservedCredentials(credentials.createInsecure(), onSocket);
}

class ObservedCredentials extends ChannelCredentials {
  readonly #inner: ChannelCredentials;
  readonly #onSocket: (socket: Socket) => void;

  constructor(inner: ChannelCredentials, onSocket: (socket: Socket) => void) {
    super();
    this.#inner = inner;
    this.#onSocket = onSocket;
  }

  override compose(callCredentials: CallCredentials): ChannelCredentials {
    return this.#inner.compose(callCredentials);
  }

  override _isSecure(): boolean {
    return false;
  }

  override _equals(other: ChannelCredentials): boolean {
    return this === other;
  }

  override _createSecureConnector(
    ...target: Parameters<ChannelCredentials['_createSecureConnector']>
  ): Connector {
    // oxlint-disable-next-line no-underscore-dangle -- the only place between a socket and its first byte
    const inner = this.#inner._createSecureConnector(...target);
    return {
      connect: (socket) => {
        this.#onSocket(socket);
        return inner.connect(socket);
      },
      waitForReady: () => inner.waitForReady(),
      getCallCredentials: () => inner.getCallCredentials(),
      destroy: () => inner.destroy(),
    };
  }
}
