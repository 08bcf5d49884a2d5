/** One request to the API server: its headers, credentials renewed once after a 401, and JSON where the server refuses
 *  protobuf. Throws for an answer that is a failure. */

import type { Dispatcher } from 'undici';
import { impersonationHeaders } from '#api/client-config/impersonation.ts';
import type { ResolvedClientConfig } from '#api/client-config/resolve.ts';
import type { ApiProtobuf } from '#api/codec/api-protobuf.ts';
import { asError } from '#api/kit/clock.ts';
import { trimEnd } from '#api/kit/trim-end.ts';
import { type CredentialDeps, createCredentials } from './create-credentials.ts';
import { type Credential, isSameCredential } from './credentials.ts';
import { ApiRequestError, readApiFailure, ServerUnreachableError } from './errors.ts';
import type { JsonObject } from './object-fields.ts';
import { AnswerFormatError, readAnswer } from './read-answer.ts';
import { readLimited } from './read-limited.ts';
import { createTransport, type Transport } from './transport.ts';
import { isProtobufType, type WireBody, type WireForm, type WireForms } from './wire-form.ts';

export type ApiClientDeps = CredentialDeps;

export interface ApiClientOptions {
  readonly userAgent: string;
  /** For a whole answer, in ms; a watch only has to begin within it. Default 30 s. */
  readonly timeoutMs?: number;
  /** For a client with many watches: requests share connections where the server can do so. Default false. */
  readonly multiplex?: boolean;
  /** At once. Default 16; for a client with many watches whose server can't share connections, more. */
  readonly connections?: number;
  /** Spoken where types have it and the server takes it. Default: JSON alone. */
  readonly protobuf?: WireForm;
}

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With its query. */
  readonly path: string;
  /** What refusals of protobuf are remembered by. */
  readonly resource: string;
  /** An object, in the form that the server takes. */
  readonly object?: JsonObject;
  /** A body that has one form only. */
  readonly body?: WireBody;
}

/** An answer that is no failure. */
export interface Answered {
  readonly status: number;
  readonly contentType: string | readonly string[] | undefined;
  readonly body: Dispatcher.ResponseData['body'];
  /** Fires when other connections take the place of those that the answer comes over. */
  readonly retired: AbortSignal;
}

const TIMEOUT_MS = 30_000;
const LARGEST_FAILURE_BYTES = 1024 * 1024;

export const timeoutMsOf = ({ timeoutMs }: Pick<ApiClientOptions, 'timeoutMs'>): number =>
  timeoutMs ?? TIMEOUT_MS;

export interface Sender {
  /** The answer, if it is no failure, once credentials were renewed if they had to be. `begin` gives the signal of an
   *  attempt: getting credentials may take longer than a request, as a person may have to log in. */
  send(call: Call, signal: AbortSignal, begin: () => AbortSignal): Promise<Answered>;
  readonly close: () => Promise<void>;
}

type Attempt = (call: Call, used: Credential, signal: AbortSignal) => Promise<Answered>;

/** One request as it stands, and nothing after it. */
function createAttempt(
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
    const body = call.object === undefined ? call.body : forms.encode(call.resource, call.object);
    try {
      const answer = await dispatcher.request({
        origin: base.origin,
        path: prefix + call.path,
        method: call.method,
        headers: headersOf(call, used, body),
        body: body?.bytes ?? null,
        headersTimeout: timeoutMsOf(options),
        signal,
      });
      // Readers are told of failures by the read; a body that nobody reads must not end the process.
      answer.body.on('error', () => undefined);
      const { statusCode: status, headers } = answer;
      const answered = { status, contentType: headers['content-type'], body: answer.body, retired };
      await checkAnswer(answered, options.protobuf?.codec);
      return answered;
    } catch (thrown) {
      signal.throwIfAborted();
      if (thrown instanceof ApiRequestError) throw thrown;
      const cause = asError(thrown);
      throw new ServerUnreachableError(`${config.server} did not answer: ${cause.message}`, { cause });
    }
  };
}

/** Requests over connections that are kept until they are closed. */
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
  const once = createAttempt(transport, config, options, forms);

  const closing = new AbortController();
  /** Other connections take over at once, and don't wait for the next request: watches may be all there is. */
  async function takeOver(): Promise<void> {
    try {
      const { certificate } = await credentials.current(closing.signal);
      if (!closing.signal.aborted) await transport.connectionsFor(certificate);
    } catch (thrown) {
      deps.log.debug({ err: asError(thrown) }, 'Renewed credentials could not be read yet');
    }
  }
  const endRenewals = deps.onRenewed?.(() => void takeOver());

  /** Once more in JSON, where the server says that it takes or has nothing else. */
  async function inEitherForm(call: Call, used: Credential, begin: () => AbortSignal): Promise<Answered> {
    const wasProtobuf = forms.isProtobuf(call.resource);
    try {
      return await once(call, used, begin());
    } catch (thrown) {
      if (!wasProtobuf || !(thrown instanceof ApiRequestError) || !isRefusedForm(thrown, call)) throw thrown;
      forms.refused(call.resource);
      return await once(call, used, begin());
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

/** 406 for the form of the answer, 415 for that of the body. A patch has one form only. */
const isRefusedForm = ({ status }: ApiRequestError, { object }: Call): boolean =>
  status === 406 || (status === 415 && object !== undefined);

/** Throws for an answer that is a failure. */
async function checkAnswer(
  { status, contentType, body }: Omit<Answered, 'retired'>,
  codec: ApiProtobuf | undefined,
): Promise<void> {
  if (status >= 200 && status < 300) return;
  const bytes = await readLimited(body, LARGEST_FAILURE_BYTES);
  const text = isProtobufType(contentType) ? '' : bytes.toString('utf8');
  let failure: JsonObject | undefined;
  try {
    failure = await readAnswer({ contentType, bytes }, codec, () => undefined);
  } catch (thrown) {
    if (!(thrown instanceof AnswerFormatError)) throw thrown;
  }
  throw readApiFailure(status, failure, text);
}
