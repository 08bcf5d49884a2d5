/** Observes the connectivity of a gRPC client, and keeps it connecting. */

import { type Client, connectivityState } from '@grpc/grpc-js';
import { createListeners } from '#api/kit/listeners.ts';
import { abortReason } from './abort.ts';

/** `away`: disconnected, and trying to connect. */
export type ChannelState = 'connected' | 'away';

export interface StateWatcher {
  readonly state: () => ChannelState;
  /** Calls `listener` at each change. Returns a function that ends the subscription. */
  readonly onStateChange: (listener: (state: ChannelState) => void) => () => void;
  readonly close: () => void;
}

/** Connects immediately, and again whenever the channel becomes idle: gRPC itself would wait for the next
 *  call. */
export function watchChannelState(client: Client): StateWatcher {
  const channel = client.getChannel();
  const listeners = createListeners<[state: ChannelState]>('runtime connection');
  let state: ChannelState = 'away';
  let closed = false;

  function follow(): void {
    if (closed) return;
    const current = channel.getConnectivityState(true);
    const next = current === connectivityState.READY ? 'connected' : 'away';
    channel.watchConnectivityState(current, Number.POSITIVE_INFINITY, follow);
    if (next === state) return;
    state = next;
    listeners.notify(next);
  }

  follow();
  return {
    state: () => state,
    onStateChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      closed = true;
      state = 'away';
      listeners.clear();
    },
  };
}

/** Maximum interval of a Node timer, in ms. */
const LONG_MS = 2 ** 31 - 1;

/** Resolves when the channel reaches `wanted`, immediately if it is there. Rejects with the signal's reason. */
export function untilState(
  channel: Pick<StateWatcher, 'state' | 'onStateChange'>,
  wanted: ChannelState,
  signal: AbortSignal | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(abortReason(signal));
    if (channel.state() === wanted) return resolve();
    // A connecting gRPC channel does not keep the process alive, but a waiting caller must.
    const keepAlive = setInterval(() => undefined, LONG_MS);
    const stop = channel.onStateChange((state) => {
      if (state !== wanted) return;
      end();
      resolve();
    });
    function end(): void {
      clearInterval(keepAlive);
      stop();
      signal?.removeEventListener('abort', onAbort);
    }
    function onAbort(): void {
      end();
      if (signal !== undefined) reject(abortReason(signal));
    }
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
