/** Unencrypted credentials that expose each new socket before gRPC uses it. */
import type { Socket } from 'node:net';
import { type CallCredentials, ChannelCredentials, credentials } from '@grpc/grpc-js';

type Connector = ReturnType<ChannelCredentials['_createSecureConnector']>;

/** Calls `onSocket` with every socket as soon as it is connected, including after reconnects. */
export function observedCredentials(onSocket: (socket: Socket) => void): ChannelCredentials {
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
