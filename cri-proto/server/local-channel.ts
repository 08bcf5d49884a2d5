/** Channel to services of this process. Encodes and decodes every message as on the wire: a handler gets complete
 *  requests, and neither side can change objects of the other. */
import type { MessageType } from '#api/codec/protobuf/message.ts';
import { asError } from '#api/kit/errno.ts';
import { abortReason } from '../client/abort.ts';
import { type GrpcChannel, methodOfPath } from '../client/channel.ts';
import type { ChannelState } from '../client/channel-state.ts';
import { methodName } from '../client/service.ts';
import { CriError } from '../errors.ts';
import { reasonOf } from './rejection.ts';
import type { ServedMethod, ServedService, ServedStream } from './served-service.ts';

/** Availability of the services. */
export interface LocalState {
  readonly state: () => ChannelState;
  readonly onStateChange: (listener: (state: ChannelState) => void) => () => void;
}

interface Route {
  readonly request: MessageType;
  readonly response: MessageType;
  readonly method: ServedMethod | undefined;
  readonly stream: ServedStream | undefined;
}

function routesOf(services: readonly ServedService[]): ReadonlyMap<string, Route> {
  const routes = new Map<string, Route>();
  for (const { types, rpcs, methods, streams = {} } of services) {
    for (const { rpc, path, request, response } of rpcs) {
      const method = methods[methodName(rpc)];
      const stream = streams[methodName(rpc)];
      if (method === undefined && stream === undefined) continue;
      routes.set(path, { request: types.type(request), response: types.type(response), method, stream });
    }
  }
  return routes;
}

function failure(path: string, thrown: unknown): CriError {
  const cause = asError(thrown);
  return new CriError({
    reason: reasonOf(thrown),
    method: methodOfPath(path),
    details: cause.message,
    cause,
  });
}

/** Rejects with the reason of the signal, or after the timeout; the work itself goes on, as in a runtime. */
async function bounded<T>(
  work: Promise<T>,
  path: string,
  { signal, timeoutMs }: { readonly signal?: AbortSignal | undefined; readonly timeoutMs: number },
): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => {
    if (signal !== undefined) reject(abortReason(signal));
  };
  const details = `no response within ${timeoutMs / 1000} s`;
  const expire = (): void =>
    reject(new CriError({ reason: 'DeadlineExceeded', method: methodOfPath(path), details }));
  const timer = timeoutMs > 0 ? setTimeout(expire, Math.min(timeoutMs, 2 ** 31 - 1)) : undefined;
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }
}

/** @param onClose called when the channel is closed */
export function createLocalChannel(
  services: readonly ServedService[],
  local: LocalState,
  onClose: () => void,
): GrpcChannel {
  const routes = routesOf(services);
  const closing = new AbortController();

  function find(path: string, signal: AbortSignal | undefined): Route {
    if (signal?.aborted === true) throw abortReason(signal);
    const method = methodOfPath(path);
    if (closing.signal.aborted)
      throw new CriError({ reason: 'ConnectionClosed', method, details: 'connection closed' });
    const route = routes.get(path);
    if (route === undefined)
      throw new CriError({ reason: 'Unimplemented', method, details: `unknown method ${path}` });
    if (local.state() === 'connected') return route;
    throw new CriError({ reason: 'Unavailable', method, details: 'the container runtime is not connected' });
  }

  return {
    async unary(path, request, options) {
      const route = find(path, options.signal);
      const { method } = route;
      if (method === undefined) throw failure(path, new Error('not a unary method'));
      const work = async (): Promise<Uint8Array> => {
        try {
          return route.response.encode(await method(route.request.decode(request)));
        } catch (thrown) {
          throw failure(path, thrown);
        }
      };
      return bounded(work(), path, options);
    },
    async *stream(path, request, { signal }) {
      const route = find(path, signal);
      if (route.stream === undefined) throw failure(path, new Error('not a stream'));
      const stop = new AbortController();
      const signals = [closing.signal, stop.signal, ...(signal === undefined ? [] : [signal])];
      try {
        for await (const message of route.stream(route.request.decode(request), AbortSignal.any(signals))) {
          yield route.response.encode(message);
        }
        if (signal?.aborted === true) throw abortReason(signal);
      } catch (thrown) {
        if (signal?.aborted === true) throw abortReason(signal);
        throw failure(path, thrown);
      } finally {
        stop.abort();
      }
    },
    state: () => (closing.signal.aborted ? 'away' : local.state()),
    onStateChange: local.onStateChange,
    close() {
      if (closing.signal.aborted) return;
      closing.abort();
      onClose();
    },
  };
}
