/** Minimal API server client: one method for each verb, one retry with renewed credentials after a 401, JSON
 *  if the server rejects protobuf. Pacing, retries and resuming of watches are left to its callers. */

import type { ResolvedClientConfig } from '#api/client-config/resolve.ts';
import { createExchange } from './exchange.ts';
import type { JsonObject } from './object-fields.ts';
import { type ObjectAddress, type Query, type ResourceAddress, resourcePath } from './resource-path.ts';
import type { ApiClientDeps, ApiClientOptions, Call } from './sender.ts';
import type { WatchEvent } from './watch-events.ts';
import { resourceKey } from './wire-form.ts';

export type PatchType = 'json' | 'merge' | 'strategic' | 'apply';
export type Json = JsonObject;

/** Every method throws ApiRequestError for an error response, ServerUnreachableError without a response, the
 *  errors of the credentials if none are available, and the signal's reason when it fires. */
export interface ApiClient extends AsyncDisposable {
  /** Default namespace of requests. */
  readonly namespace: string;
  get(address: ObjectAddress, signal: AbortSignal, query?: Query): Promise<Json>;
  list(address: ResourceAddress, signal: AbortSignal, query?: Query): Promise<Json>;
  create(
    address: ResourceAddress | ObjectAddress,
    object: Json,
    signal: AbortSignal,
    query?: Query,
  ): Promise<Json>;
  update(address: ObjectAddress, object: Json, signal: AbortSignal, query?: Query): Promise<Json>;
  patch(
    address: ObjectAddress,
    patch: { readonly type: PatchType; readonly content: unknown },
    signal: AbortSignal,
    query?: Query,
  ): Promise<Json>;
  /** @param options members of DeleteOptions */
  delete(address: ObjectAddress, signal: AbortSignal, options?: Json): Promise<Json>;
  /** Yields events until the server ends the watch. */
  watch(address: ResourceAddress, signal: AbortSignal, query?: Query): AsyncGenerator<WatchEvent, void>;
}

const PATCH_TYPES: Readonly<Record<PatchType, string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
};

/** Creates a client that reuses its connections until it is disposed of. */
export function createApiClient(
  deps: ApiClientDeps,
  config: ResolvedClientConfig,
  options: ApiClientOptions,
): ApiClient {
  const exchange = createExchange(deps, config, options);
  const get = (address: ResourceAddress | ObjectAddress, query?: Query): Call => ({
    method: 'GET',
    path: resourcePath(address, query),
    resource: resourceKey(address),
  });
  const withObject = (
    method: 'POST' | 'PUT' | 'DELETE',
    address: ResourceAddress | ObjectAddress,
    object: Json,
    query?: Query,
  ): Call => ({ ...get(address, query), method, object });

  return {
    namespace: config.namespace,
    get: (address, signal, query) => exchange.call(get(address, query), signal),
    list: (address, signal, query) => exchange.call(get(address, query), signal),
    create: (address, object, signal, query) =>
      exchange.call(withObject('POST', address, object, query), signal),
    update: (address, object, signal, query) =>
      exchange.call(withObject('PUT', address, object, query), signal),
    patch: (address, { type, content }, signal, query) => {
      const body = { contentType: PATCH_TYPES[type], bytes: JSON.stringify(content) };
      return exchange.call({ ...get(address, query), method: 'PATCH', body }, signal);
    },
    delete: (address, signal, members = {}) =>
      exchange.call(
        withObject('DELETE', address, { apiVersion: 'v1', kind: 'DeleteOptions', ...members }),
        signal,
      ),
    watch: (address, signal, query) => exchange.watch(get(address, { ...query, watch: true }), signal),
    [Symbol.asyncDispose]: exchange.close,
  };
}
