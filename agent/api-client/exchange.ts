/** Requests to the API server with their answers: whole objects, and watches. */
import type { ResolvedClientConfig } from '#api/client-config/resolve.ts';
import { asError, type Timer } from '#api/kit/clock.ts';
import { ApiRequestError, readApiFailure, ServerUnreachableError } from './errors.ts';
import type { JsonObject } from './object-fields.ts';
import { AnswerFormatError, readAnswer } from './read-answer.ts';
import { readLimited } from './read-limited.ts';
import {
  type Answered,
  type ApiClientDeps,
  type ApiClientOptions,
  type Call,
  createSender,
  timeoutMsOf,
} from './sender.ts';
import { createTurns, type Turns } from './turns.ts';
import { type WatchEvent, WatchFormatError, watchEvents } from './watch-events.ts';
import { watchFrameEvents } from './watch-frames.ts';
import { createWireForms, isProtobufType } from './wire-form.ts';

export interface Exchange {
  /** @throws ApiRequestError, ServerUnreachableError, AnswerFormatError; what credentials throw */
  call(request: Call, signal: AbortSignal): Promise<JsonObject>;
  /** Events until the server ends the watch. @throws the same, and WatchFormatError */
  watch(request: Call, signal: AbortSignal): AsyncGenerator<WatchEvent, void>;
  readonly close: () => Promise<void>;
}

const LARGEST_ANSWER_BYTES = 256 * 1024 * 1024;

/** Over connections that are kept until they are closed. */
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
    new ServerUnreachableError(`${config.server} did not answer within ${timeoutMs} ms`);

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
      const bytes = await readLimited(body, LARGEST_ANSWER_BYTES);
      const value = await readAnswer({ contentType, bytes }, codec, createTurns(deps.clock));
      if (value === undefined) throw readApiFailure(status, undefined, bytes.toString('utf8', 0, 1000));
      return value;
    } catch (thrown) {
      outer.throwIfAborted();
      throw brokenOff(thrown, signal);
    } finally {
      timer?.cancel();
    }
  }

  /** What we cannot read in protobuf is asked for in JSON from then on, and at once where asking changes nothing. */
  async function call(request: Call, outer: AbortSignal): Promise<JsonObject> {
    try {
      return await ask(request, outer);
    } catch (thrown) {
      if (!(thrown instanceof AnswerFormatError)) throw thrown;
      forms.refused(request.resource);
      deps.log.warn({ err: thrown, resource: request.resource }, 'Answer was asked for in JSON instead');
      if (request.method !== 'GET') throw thrown;
      return await ask(request, outer);
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

  const events = ({ contentType, body }: Answered, turns: Turns): AsyncGenerator<WatchEvent, void> =>
    codec !== undefined && isProtobufType(contentType)
      ? watchFrameEvents(body, codec, turns)
      : watchEvents(body, turns);

  async function* watch(request: Call, signal: AbortSignal): AsyncGenerator<WatchEvent, void> {
    const answer = await sender.send(request, signal, () => signal);
    const { retired } = answer;
    // As if the server had ended it: whoever follows goes on over the connections that are there now.
    const end = (): void => void answer.body.destroy();
    retired.addEventListener('abort', end, { once: true });
    try {
      if (!retired.aborted) yield* events(answer, createTurns(deps.clock));
    } catch (thrown) {
      signal.throwIfAborted();
      if (retired.aborted && !(thrown instanceof ApiRequestError)) return;
      // The next one may be readable in JSON.
      if (thrown instanceof WatchFormatError && isProtobufType(answer.contentType)) {
        forms.refused(request.resource);
      }
      throw brokenOff(thrown, signal);
    } finally {
      retired.removeEventListener('abort', end);
      answer.body.destroy();
    }
  }

  return { call, watch, close: sender.close };
}
