/** A small client of the API server: one method for each verb, credentials renewed once after a 401, and a hook that
 *  paces requests. Retries and resuming a watch are its callers' business. */

import type { Dispatcher } from 'undici';
import { impersonationHeaders } from '#api/client-config/impersonation.ts';
import type { ResolvedClientConfig } from '#api/client-config/resolve.ts';
import { parseJsonText } from '#api/codec/json-text.ts';
import { asError, type Timer } from '#api/kit/clock.ts';
import { type CredentialDeps, createCredentials } from './create-credentials.ts';
import { type Credential, isSameCredential } from './credentials.ts';
import { ApiRequestError, readApiFailure, ServerUnreachableError } from './errors.ts';
import { readLimited } from './read-limited.ts';
import { type ObjectAddress, type Query, type ResourceAddress, resourcePath } from './resource-path.ts';
import { createTransport } from './transport.ts';
import { type WatchEvent, watchEvents } from './watch-events.ts';

export interface ApiClientDeps extends CredentialDeps {
  /** Called before each request; waits as long as the limit of requests asks. Default: no limit. */
  readonly pace?: (signal: AbortSignal) => Promise<void>;
}

export interface ApiClientOptions {
  readonly userAgent: string;
  /** For a whole answer, in ms; a watch only has to begin within it. Default 30 s. */
  readonly timeoutMs?: number;
  /** For a client with many watches: requests share connections where the server can do so. Default false. */
  readonly multiplex?: boolean;
}

export type PatchType = 'json' | 'merge' | 'strategic' | 'apply';
export type Json = Readonly<Record<string, unknown>>;

/** Every method throws ApiRequestError where the server refuses, ServerUnreachableError where it does not answer, the
 *  errors of the credentials where there are none, and the signal's reason when it fires. */
export interface ApiClient extends AsyncDisposable {
  /** Where requests go that name no namespace of their own. */
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
  /** Events until the server ends the watch. */
  watch(address: ResourceAddress, signal: AbortSignal, query?: Query): AsyncGenerator<WatchEvent, void>;
}

interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With its query. */
  readonly path: string;
  readonly contentType?: string;
  readonly body?: string;
}

const TIMEOUT_MS = 30_000;
const LARGEST_ANSWER_BYTES = 256 * 1024 * 1024;
const LARGEST_FAILURE_BYTES = 1024 * 1024;
const JSON_TYPE = 'application/json';
const PATCH_TYPES: Readonly<Record<PatchType, string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
};

function parseObject(text: string): Json | undefined {
  try {
    const value: unknown = parseJsonText(text);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

interface Sender {
  /** The answer, if it is no failure, once credentials were renewed if they had to be. `begin` gives the signal of an
   *  attempt: getting credentials may take longer than a request, as a person may have to log in. */
  send(call: Call, signal: AbortSignal, begin: () => AbortSignal): Promise<Dispatcher.ResponseData>;
  readonly close: () => Promise<void>;
}

function createSender(deps: ApiClientDeps, config: ResolvedClientConfig, options: ApiClientOptions): Sender {
  const credentials = createCredentials(deps, config);
  const { multiplex = false } = options;
  const transport = createTransport(config, { multiplex });
  const base = new URL(config.server);
  const prefix = base.pathname.replace(/\/+$/, '');
  const { impersonate } = config;
  const always = {
    accept: JSON_TYPE,
    'user-agent': options.userAgent,
    ...(impersonate === undefined ? {} : impersonationHeaders(impersonate)),
  };

  function headersOf(call: Call, { authorization }: Credential): Record<string, string | string[]> {
    const headers: Record<string, string | string[]> = {};
    for (const [name, value] of Object.entries(always)) {
      headers[name] = typeof value === 'string' ? value : [...value];
    }
    if (call.contentType !== undefined) headers['content-type'] = call.contentType;
    if (authorization !== undefined) headers['authorization'] = authorization;
    return headers;
  }

  async function once(call: Call, used: Credential, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const dispatcher = await transport.dispatcherFor(used.certificate);
    try {
      const answer = await dispatcher.request({
        origin: base.origin,
        path: prefix + call.path,
        method: call.method,
        headers: headersOf(call, used),
        body: call.body ?? null,
        headersTimeout: options.timeoutMs ?? TIMEOUT_MS,
        signal,
      });
      // Readers are told of failures by the read; a body that nobody reads must not end the process.
      answer.body.on('error', () => undefined);
      await checkAnswer(answer);
      return answer;
    } catch (thrown) {
      signal.throwIfAborted();
      if (thrown instanceof ApiRequestError) throw thrown;
      const cause = asError(thrown);
      throw new ServerUnreachableError(`${config.server} did not answer: ${cause.message}`, { cause });
    }
  }

  /** What to try again with; undefined where nothing newer is to be had. */
  async function renewed(used: Credential, signal: AbortSignal): Promise<Credential | undefined> {
    try {
      await credentials.refused(used, signal);
      const next = await credentials.current(signal);
      return isSameCredential(next, used) ? undefined : next;
    } catch (thrown) {
      signal.throwIfAborted();
      deps.log.warn(
        { err: asError(thrown), server: config.server },
        'Refused credentials could not be renewed',
      );
      return undefined;
    }
  }

  return {
    async send(call, signal, begin) {
      await deps.pace?.(signal);
      const used = await credentials.current(signal);
      try {
        return await once(call, used, begin());
      } catch (thrown) {
        if (!(thrown instanceof ApiRequestError) || thrown.status !== 401) throw thrown;
        const next = await renewed(used, signal);
        if (next === undefined) throw thrown;
        return await once(call, next, begin());
      }
    },
    async close() {
      await transport[Symbol.asyncDispose]();
    },
  };
}

/** Throws for an answer that is a failure. */
async function checkAnswer(answer: Dispatcher.ResponseData): Promise<void> {
  const { statusCode, body } = answer;
  if (statusCode >= 200 && statusCode < 300) return;
  const text = (await readLimited(body, LARGEST_FAILURE_BYTES)).toString('utf8');
  throw readApiFailure(statusCode, parseObject(text), text);
}

/** A client that keeps its connections until it is disposed of. */
export function createApiClient(
  deps: ApiClientDeps,
  config: ResolvedClientConfig,
  options: ApiClientOptions,
): ApiClient {
  const sender = createSender(deps, config, options);
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  const late = (): ServerUnreachableError =>
    new ServerUnreachableError(`${config.server} did not answer within ${timeoutMs} ms`);

  async function call(request: Call, outer: AbortSignal): Promise<Json> {
    let timer: Timer | undefined;
    let signal = outer;
    const begin = (): AbortSignal => {
      const deadline = new AbortController();
      timer?.cancel();
      timer = deps.clock.setTimer(() => deadline.abort(late()), timeoutMs);
      signal = AbortSignal.any([outer, deadline.signal]);
      return signal;
    };
    try {
      const answer = await sender.send(request, outer, begin);
      const text = (await readLimited(answer.body, LARGEST_ANSWER_BYTES)).toString('utf8');
      const value = parseObject(text);
      if (value === undefined) throw readApiFailure(answer.statusCode, undefined, text);
      return value;
    } catch (thrown) {
      outer.throwIfAborted();
      throw brokenOff(thrown, signal);
    } finally {
      timer?.cancel();
    }
  }

  /** Undici and the system name broken connections by a code; our own errors have a reason instead. */
  function brokenOff(thrown: unknown, signal: AbortSignal): Error {
    const error = asError(thrown);
    if ('reason' in error) return error;
    if (signal.aborted) return asError(signal.reason);
    if (!('code' in error)) return error;
    return new ServerUnreachableError(`${config.server} broke off: ${error.message}`, { cause: error });
  }

  const withBody = (
    method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    content: unknown,
    contentType = JSON_TYPE,
  ): Call => ({ method, path, contentType, body: JSON.stringify(content) });

  async function* watch(
    address: ResourceAddress,
    signal: AbortSignal,
    query: Query = {},
  ): AsyncGenerator<WatchEvent, void> {
    const request = { method: 'GET', path: resourcePath(address, { ...query, watch: true }) } as const;
    const answer = await sender.send(request, signal, () => signal);
    try {
      yield* watchEvents(answer.body);
    } catch (thrown) {
      signal.throwIfAborted();
      throw brokenOff(thrown, signal);
    } finally {
      answer.body.destroy();
    }
  }

  return {
    namespace: config.namespace,
    get: (address, signal, query) => call({ method: 'GET', path: resourcePath(address, query) }, signal),
    list: (address, signal, query) => call({ method: 'GET', path: resourcePath(address, query) }, signal),
    create: (address, object, signal, query) =>
      call(withBody('POST', resourcePath(address, query), object), signal),
    update: (address, object, signal, query) =>
      call(withBody('PUT', resourcePath(address, query), object), signal),
    patch: (address, { type, content }, signal, query) =>
      call(withBody('PATCH', resourcePath(address, query), content, PATCH_TYPES[type]), signal),
    delete: (address, signal, object = {}) =>
      call(
        withBody('DELETE', resourcePath(address), { apiVersion: 'v1', kind: 'DeleteOptions', ...object }),
        signal,
      ),
    watch,
    [Symbol.asyncDispose]: sender.close,
  };
}
