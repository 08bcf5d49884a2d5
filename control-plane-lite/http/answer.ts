/** Brings answers to clients, and failures as Status objects. */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { discardBody } from './body.ts';
import type { ApiResponse, BytesResponse, RawResponse } from './contract.ts';
import { ClientGoneError } from './exchange.ts';
import { closeRecord, type Passage } from './passage.ts';
import type { RequestState } from './request-state.ts';
import { writeBytes } from './respond.ts';
import { type EncodeStatus, statusResponse } from './status-response.ts';
import type { Streamer } from './stream.ts';

export interface AnswerDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly encodeStatus: EncodeStatus;
  readonly streamer: Streamer;
}

/** What is counted for clients that left before they were answered. */
const CLIENT_GONE = 499;

async function answerBytes(deps: AnswerDeps, passage: Passage, response: BytesResponse): Promise<void> {
  const { state } = passage;
  const { body } = state.exchange;
  const written = writeBytes(state, response, deps.clock);
  if (written !== undefined) await written;
  if (body !== undefined && state.bodyBytes === undefined) {
    discardBody(body, deps.clock, () => state.exchange.destroy());
  }
  closeRecord(passage, response);
}

async function answerRaw(passage: Passage, response: RawResponse): Promise<void> {
  const { exchange } = passage.state;
  const closed = new Promise<void>((resolve) => exchange.onClose(resolve));
  const raw = exchange.takeRaw();
  await response.run(raw);
  passage.record?.started();
  if (!exchange.closed) await closed;
  passage.state.status = raw.kind === 'plain' ? raw.reply.statusCode : 101;
  closeRecord(passage, undefined);
}

/** Resolves when the answer is out, for streams when they are over. */
export async function answer(deps: AnswerDeps, passage: Passage, response: ApiResponse): Promise<void> {
  switch (response.kind) {
    case 'bytes':
      return answerBytes(deps, passage, response);
    case 'stream': {
      const over = deps.streamer(passage.state, response);
      passage.record?.started();
      await over;
      return closeRecord(passage, undefined);
    }
    case 'raw':
      return answerRaw(passage, response);
    default:
      return response satisfies never;
  }
}

/** A failure without a Status of its own is a fault of the server: the log gets all of it, the client nothing. */
function statusErrorOf(log: Logger, state: RequestState, error: Error): StatusError {
  if (error instanceof StatusError) return error;
  const known = state.abortReason;
  if (known instanceof StatusError) return known;
  log.error({ err: error, auditID: state.id, method: state.method, path: state.info.path }, 'Request failed');
  return new StatusError(
    'InternalError',
    `Internal error occurred: the server's log tells more under audit ID ${state.id}`,
  );
}

/** Answers a failure if anything can be answered still, else ends the exchange. */
export async function answerFailure(deps: AnswerDeps, passage: Passage, error: Error): Promise<void> {
  const { state } = passage;
  const { exchange } = state;
  if (exchange.closed || error instanceof ClientGoneError) {
    state.status = CLIENT_GONE;
    exchange.destroy();
    return closeRecord(passage, undefined);
  }
  const failure = statusErrorOf(deps.log, state, error);
  if (exchange.begun) {
    exchange.destroy();
    return closeRecord(passage, undefined);
  }
  return answerBytes(deps, passage, statusResponse(failure, state.headers.accept, deps.encodeStatus));
}
