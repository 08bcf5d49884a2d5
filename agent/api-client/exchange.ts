/** Requests to the API server with decoded responses: complete objects, and watches. */
import type { ResolvedClientConfig } from '#api/client-config/resolve.ts';
import type { Timer } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { ApiRequestError, readApiFailure, ServerUnreachableError } from './errors.ts';
import type { JsonObject } from './object-fields.ts';
import { readLimited } from './read-limited.ts';
import { ResponseFormatError, readResponse } from './read-response.ts';
import {
  type ApiClientDeps,
  type ApiClientOptions,
  type Call,
  createSender,
  type SuccessResponse,
  timeoutMsOf,
} from './sender.ts';
import { createTurns, type Turns } from './turns.ts';
import { type WatchEvent, WatchFormatError, watchEvents } from './watch-events.ts';
import { watchFrameEvents } from './watch-frames.ts';
import { createWireForms, isProtobufType } from './wire-form.ts';

export interface Exchange {
  /** @throws ApiRequestError, ServerUnreachableError, ResponseFormatError; what credentials throw */
  call(request: Call, signal: AbortSignal): Promise<JsonObject>;
  /** Yields events until the server ends the watch. @throws the same, and WatchFormatError */
  watch(request: Call, signal: AbortSignal): AsyncGenerator<WatchEvent, void>;
  readonly close: () => Promise<void>;
}

const LARGEST_RESPONSE_BYTES = 256 * 1024 * 1024;

/** Uses persistent connections until it is closed. */
export function createExchange(
  deps: ApiClientDeps,
  config: ResolvedClientConfig,
  options: ApiClientOptions,
): Exchange {
  const codec = options.protobuf?.codec;
  const forms = createWireForms(deps.clock, options.protobuf);
  const sender = createSender(deps, config, options, forms);
  const timeoutMs = timeoutMsOf(options);
  const late = (): ServerUnreachableError =>
    new ServerUnreachableError(`${config.server} did not respond within ${timeoutMs} ms`);

  async function ask(request: Call, outer: AbortSignal): Promise<JsonObject> {
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
      const { status, contentType, body } = await sender.send(request, outer, begin);
      const bytes = await readLimited(body, LARGEST_RESPONSE_BYTES);
      const value = await readResponse({ contentType, bytes }, codec, createTurns(deps.clock));
      if (value === undefined) throw readApiFailure(status, undefined, bytes.toString('utf8', 0, 1000));
      return value;
    } catch (thrown) {
      outer.throwIfAborted();
      throw brokenOff(thrown, signal);
    } finally {
      timer?.cancel();
    }
  }

  /** After an undecodable protobuf response, requests JSON for that resource from then on, and repeats a read
   *  at once. */
  async function call(request: Call, outer: AbortSignal): Promise<JsonObject> {
    try {
      return await ask(request, outer);
    } catch (thrown) {
      if (!(thrown instanceof ResponseFormatError)) throw thrown;
      forms.refused(request.resource);
      deps.log.warn({ err: thrown, resource: request.resource }, 'Failed to decode response; using JSON');
      if (request.method !== 'GET') throw thrown;
      return await ask(request, outer);
    }
  }

  /** Undici and the system identify broken connections by a code; errors of this module have a reason
   *  instead. */
  function brokenOff(thrown: unknown, signal: AbortSignal): Error {
    const error = asError(thrown);
    if ('reason' in error) return error;
    if (signal.aborted) return asError(signal.reason);
    if (!('code' in error)) return error;
    return new ServerUnreachableError(`${config.server} closed the connection: ${error.message}`, {
      cause: error,
    });
  }

  const events = ({ contentType, body }: SuccessResponse, turns: Turns): AsyncGenerator<WatchEvent, void> =>
    codec !== undefined && isProtobufType(contentType)
      ? watchFrameEvents(body, codec, turns)
      : watchEvents(body, turns);

  async function* watch(request: Call, signal: AbortSignal): AsyncGenerator<WatchEvent, void> {
    const response = await sender.send(request, signal, () => signal);
    const { retired } = response;
    // Ends the watch as if the server had: its reader continues over the new connections.
    const end = (): void => void response.body.destroy();
    retired.addEventListener('abort', end, { once: true });
    try {
      if (!retired.aborted) yield* events(response, createTurns(deps.clock));
    } catch (thrown) {
      signal.throwIfAborted();
      if (retired.aborted && !(thrown instanceof ApiRequestError)) return;
      // The next watch may be decodable as JSON.
      if (thrown instanceof WatchFormatError && isProtobufType(response.contentType)) {
        forms.refused(request.resource);
      }
      throw brokenOff(thrown, signal);
    } finally {
      retired.removeEventListener('abort', end);
      response.body.destroy();
    }
  }

  return { call, watch, close: sender.close };
}
