/** Client that waits for the rate limiter before each request. A caller that must decide on the content after
 *  the wait uses the rate limiter itself, with the underlying client. */
import type { ApiClient } from './client.ts';

/** Resolves when a request may be sent; rejects with the signal's reason. */
export type Pace = (signal: AbortSignal) => Promise<void>;

export function pacedClient(client: ApiClient, pace: Pace): ApiClient {
  return {
    get namespace() {
      return client.namespace;
    },
    async get(address, signal, query) {
      await pace(signal);
      return await client.get(address, signal, query);
    },
    async list(address, signal, query) {
      await pace(signal);
      return await client.list(address, signal, query);
    },
    async create(address, object, signal, query) {
      await pace(signal);
      return await client.create(address, object, signal, query);
    },
    async update(address, object, signal, query) {
      await pace(signal);
      return await client.update(address, object, signal, query);
    },
    async patch(address, patch, signal, query) {
      await pace(signal);
      return await client.patch(address, patch, signal, query);
    },
    async delete(address, signal, options) {
      await pace(signal);
      return await client.delete(address, signal, options);
    },
    async *watch(address, signal, query) {
      await pace(signal);
      yield* client.watch(address, signal, query);
    },
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}
