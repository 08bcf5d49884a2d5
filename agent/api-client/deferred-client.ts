/** A client that may be used before there are credentials for it: every request waits until there are. */
import type { ApiClient } from './client.ts';

/** The promise for as long as the signal allows. */
function until<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  return Promise.race([promise, aborted.promise]).finally(() => signal.removeEventListener('abort', onAbort));
}

/** Requests reject with what `opening` rejects with, and with the signal's reason while they wait. */
export function deferredClient(opening: Promise<ApiClient>): ApiClient {
  let made: ApiClient | undefined;
  let isClosed = false;
  async function opened(): Promise<void> {
    made = await opening;
    if (isClosed) await made[Symbol.asyncDispose]();
  }
  // Whoever asks is told of a failure; nobody may ask.
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
