/** Client that can be used before credentials are available: requests wait until they are. */
import type { ApiClient } from './client.ts';

/** Awaits the promise until the signal fires. */
function until<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  return Promise.race([promise, aborted.promise]).finally(() => signal.removeEventListener('abort', onAbort));
}

/** Requests reject with the rejection of `opening`, and with the signal's reason while they wait. */
export function deferredClient(opening: Promise<ApiClient>): ApiClient {
  let made: ApiClient | undefined;
  let isClosed = false;
  async function opened(): Promise<void> {
    made = await opening;
    if (isClosed) await made[Symbol.asyncDispose]();
  }
  // Each request rejects on its own; without requests, the rejection must not be unhandled.
  opened().catch(() => undefined);
  return {
    namespace: 'default',
    get: async (address, signal, query) => (await until(opening, signal)).get(address, signal, query),
    list: async (address, signal, query) => (await until(opening, signal)).list(address, signal, query),
    create: async (address, object, signal, query) =>
      (await until(opening, signal)).create(address, object, signal, query),
    update: async (address, object, signal, query) =>
      (await until(opening, signal)).update(address, object, signal, query),
    patch: async (address, patch, signal, query) =>
      (await until(opening, signal)).patch(address, patch, signal, query),
    delete: async (address, signal, options) =>
      (await until(opening, signal)).delete(address, signal, options),
    async *watch(address, signal, query) {
      yield* (await until(opening, signal)).watch(address, signal, query);
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await made?.[Symbol.asyncDispose]();
    },
  };
}
