/** Sends one request to the API server: headers, one retry with renewed credentials after a 401, and JSON if
 *  the server rejects protobuf. Throws for error responses. */

import type { Dispatcher } from 'undici';
import { impersonationHeaders } from '#api/client-config/impersonation.ts';
import type { ResolvedClientConfig } from '#api/client-config/resolve.ts';
import { asError } from '#api/kit/errno.ts';
import { trimEnd } from '#api/kit/text/trim-end.ts';
import type { ApiProtobuf } from '#api/protobuf/api-protobuf.ts';
import { type CredentialDeps, createCredentials } from './credentials/create-credentials.ts';
import { type Credential, isSameCredential } from './credentials/credentials.ts';
import { ApiRequestError, readApiFailure, ServerUnreachableError } from './errors.ts';
import type { JsonObject } from './object-fields.ts';
import { readLimited } from './read-limited.ts';
import { ResponseFormatError, readResponse } from './read-response.ts';
import { createTransport, type Transport } from './transport.ts';
import { isProtobufType, type WireBody, type WireForm, type WireForms } from './wire-form.ts';

export type ApiClientDeps = CredentialDeps;

export interface ApiClientOptions {
  readonly userAgent: string;
  /** Timeout of a complete response, in ms; a watch only has to start within it. Default 30 s. */
  readonly timeoutMs?: number;
  /** For a client with many watches: use HTTP/2 if the server supports it. Default false. */
  readonly multiplex?: boolean;
  /** Maximum number of connections. Default 16; more for many watches on a server without HTTP/2. */
  readonly connections?: number;
  /** Used for types with a protobuf form unless the server rejects it. Default: only JSON. */
  readonly protobuf?: WireForm;
}

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path with its query. */
  readonly path: string;
  /** Key for remembering rejected protobuf. */
  readonly resource: string;
  /** An object, encoded in the form that the server accepts. */
  readonly object?: JsonObject;
  /** A body with only one form. */
  readonly body?: WireBody;
}

/** A successful response. */
export interface SuccessResponse {
  readonly status: number;
  readonly contentType: string | readonly string[] | undefined;
  readonly body: Dispatcher.ResponseData['body'];
  /** Fires when the connections of the response are replaced. */
  readonly retired: AbortSignal;
}

const TIMEOUT_MS = 30_000;
const LARGEST_FAILURE_BYTES = 1024 * 1024;

export const timeoutMsOf = ({ timeoutMs }: Pick<ApiClientOptions, 'timeoutMs'>): number =>
  timeoutMs ?? TIMEOUT_MS;

export interface Sender {
  /** Returns a successful response, after renewing the credentials if necessary. `begin` returns the signal
   *  of an attempt: obtaining credentials may take longer than a request, since a user may have to log in. */
  send(call: Call, signal: AbortSignal, begin: () => AbortSignal): Promise<SuccessResponse>;
  readonly close: () => Promise<void>;
}

type Attempt = (call: Call, used: Credential, signal: AbortSignal) => Promise<SuccessResponse>;

/** Sends a request once, without retries. */
function createAttempt(
  { clock, requested }: Pick<ApiClientDeps, 'clock' | 'requested'>,
  transport: Transport,
  config: ResolvedClientConfig,
  options: ApiClientOptions,
  forms: WireForms,
): Attempt {
  const base = new URL(config.server);
  const prefix = trimEnd(base.pathname, '/');
  const { impersonate } = config;
  const always = {
    'user-agent': options.userAgent,
    ...(impersonate === undefined ? {} : impersonationHeaders(impersonate)),
  };

  function headersOf(
    { resource }: Call,
    { authorization }: Credential,
    body: WireBody | undefined,
  ): Record<string, string | string[]> {
    const headers: Record<string, string | string[]> = { accept: forms.accept(resource) };
    for (const [name, value] of Object.entries(always)) {
      headers[name] = typeof value === 'string' ? value : [...value];
    }
    if (body !== undefined) headers['content-type'] = body.contentType;
    if (authorization !== undefined) headers['authorization'] = authorization;
    return headers;
  }

  return async (call, used, signal) => {
    const { dispatcher, retired } = await transport.connectionsFor(used.certificate);
    const beganMs = clock.monotonic();
    let isMeasured = false;
    const measure = (code: string): void => {
      if (!isMeasured) requested?.(call.method, base.host, code, clock.monotonic() - beganMs);
      isMeasured = true;
    };
    const body = call.object === undefined ? call.body : forms.encode(call.resource, call.object);
    try {
      const response = await dispatcher.request({
        origin: base.origin,
        path: prefix + call.path,
        method: call.method,
        headers: headersOf(call, used, body),
        body: body?.bytes ?? null,
        headersTimeout: timeoutMsOf(options),
        signal,
      });
      // Readers get failures from the read; the failure of an unread body must not end the process.
      response.body.on('error', () => undefined);
      const { statusCode: status, headers } = response;
      measure(String(status));
      const result = { status, contentType: headers['content-type'], body: response.body, retired };
      await checkResponse(result, options.protobuf?.codec);
      return result;
    } catch (thrown) {
      signal.throwIfAborted();
      if (thrown instanceof ApiRequestError) throw thrown;
      const cause = asError(thrown);
      measure('<error>');
      throw new ServerUnreachableError(`${config.server} did not respond: ${cause.message}`, { cause });
    }
  };
}

/** Uses persistent connections until it is closed. */
export function createSender(
  deps: ApiClientDeps,
  config: ResolvedClientConfig,
  options: ApiClientOptions,
  forms: WireForms,
): Sender {
  const credentials = createCredentials(deps, config);
  const { multiplex = false, connections } = options;
  const transport = createTransport(config, {
    multiplex,
    ...(connections === undefined ? {} : { connections }),
  });
  const once = createAttempt(deps, transport, config, options, forms);

  const closing = new AbortController();
  /** Replaces the connections immediately instead of at the next request, for clients with nothing but
   *  watches. */
  async function takeOver(): Promise<void> {
    try {
      const { certificate } = await credentials.current(closing.signal);
      if (!closing.signal.aborted) await transport.connectionsFor(certificate);
    } catch (thrown) {
      deps.log.debug({ err: asError(thrown) }, 'Failed to read renewed credentials');
    }
  }
  const endRenewals = deps.onRenewed?.(() => void takeOver());

  /** Repeats the request in JSON if the server rejects protobuf or cannot produce it. */
  async function inEitherForm(
    call: Call,
    used: Credential,
    begin: () => AbortSignal,
  ): Promise<SuccessResponse> {
    const wasProtobuf = forms.isProtobuf(call.resource);
    try {
      return await once(call, used, begin());
    } catch (thrown) {
      if (!wasProtobuf || !(thrown instanceof ApiRequestError) || !isRefusedForm(thrown, call)) throw thrown;
      forms.refused(call.resource);
      return await once(call, used, begin());
    }
  }

  /** Returns credentials for a retry; undefined if no newer ones are available. */
  async function renewed(used: Credential, signal: AbortSignal): Promise<Credential | undefined> {
    try {
      await credentials.refused(used, signal);
      const next = await credentials.current(signal);
      return isSameCredential(next, used) ? undefined : next;
    } catch (thrown) {
      signal.throwIfAborted();
      deps.log.warn({ err: asError(thrown), server: config.server }, 'Failed to renew rejected credentials');
      return undefined;
    }
  }

  return {
    async send(call, signal, begin) {
      const used = await credentials.current(signal);
      try {
        return await inEitherForm(call, used, begin);
      } catch (thrown) {
        if (!(thrown instanceof ApiRequestError) || thrown.status !== 401) throw thrown;
        const next = await renewed(used, signal);
        if (next === undefined) throw thrown;
        return await inEitherForm(call, next, begin);
      }
    },
    async close() {
      endRenewals?.();
      closing.abort(new Error('the client was closed'));
      await transport[Symbol.asyncDispose]();
    },
  };
}

/** 406 for the form of the response, 415 for that of the body. A patch has only one form. */
const isRefusedForm = ({ status }: ApiRequestError, { object }: Call): boolean =>
  status === 406 || (status === 415 && object !== undefined);

/** Throws for an error response. */
async function checkResponse(
  { status, contentType, body }: Omit<SuccessResponse, 'retired'>,
  codec: ApiProtobuf | undefined,
): Promise<void> {
  if (status >= 200 && status < 300) return;
  const bytes = await readLimited(body, LARGEST_FAILURE_BYTES);
  const text = isProtobufType(contentType) ? '' : bytes.toString('utf8');
  let failure: JsonObject | undefined;
  try {
    failure = await readResponse({ contentType, bytes }, codec, () => undefined);
  } catch (thrown) {
    if (!(thrown instanceof ResponseFormatError)) throw thrown;
  }
  throw readApiFailure(status, failure, text);
}
