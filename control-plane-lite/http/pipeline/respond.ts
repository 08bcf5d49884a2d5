/** Response step: writes responses, and failures as Status objects. */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { discardBody } from '../connection/body.ts';
import { ClientGoneError } from '../connection/exchange.ts';
import type { ApiResponse, BytesResponse, RawResponse } from '../contract.ts';
import type { ServerRequest } from '../request/server-request.ts';
import { type EncodeStatus, statusResponse } from '../response/status-response.ts';
import type { Streamer } from '../response/stream.ts';
import { writeBytes } from '../response/write-response.ts';

export interface RespondDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly encodeStatus: EncodeStatus;
  readonly streamer: Streamer;
  /** Whether responses are compressed for clients that accept it. */
  readonly compress: boolean;
}

/** Status code counted for clients that left before the response. */
const CLIENT_GONE = 499;

async function respondBytes(
  deps: RespondDeps,
  request: ServerRequest,
  response: BytesResponse,
): Promise<void> {
  const { exchange } = request;
  const { body } = exchange;
  const written = writeBytes(request, response, deps);
  if (written !== undefined) await written;
  if (body !== undefined && request.bodyBytes === undefined) {
    discardBody(body, deps.clock, () => exchange.destroy());
  }
  request.closeRecord(response);
}

async function respondRaw(request: ServerRequest, response: RawResponse): Promise<void> {
  const { exchange } = request;
  const closed = new Promise<void>((resolve) => exchange.onClose(resolve));
  const raw = exchange.takeRaw();
  request.passedOn = true;
  request.initialized();
  await response.run(raw);
  request.record?.started();
  if (!exchange.closed) await closed;
  request.status = raw.kind === 'plain' ? raw.reply.statusCode : 101;
  request.closeRecord(undefined);
}

/** Resolves once the response is complete; for streams, when they end. */
export async function respond(
  deps: RespondDeps,
  request: ServerRequest,
  response: ApiResponse,
): Promise<void> {
  switch (response.kind) {
    case 'bytes':
      return respondBytes(deps, request, response);
    case 'stream': {
      const over = deps.streamer(request, response);
      request.record?.started();
      await over;
      return request.closeRecord(undefined);
    }
    case 'raw':
      return respondRaw(request, response);
    default:
      return response satisfies never;
  }
}

/** A failure that is not a StatusError is a bug of the server: all of it is logged, and the client sees none
 *  of it. */
function statusErrorOf(log: Logger, request: ServerRequest, error: Error): StatusError {
  if (error instanceof StatusError) return error;
  const known = request.abortReason;
  if (known instanceof StatusError) return known;
  request.record?.panicked(error);
  log.error(
    { err: error, auditID: request.id, method: request.method, path: request.info.path },
    'Request failed',
  );
  return new StatusError(
    'InternalError',
    `Internal error occurred: see the server's log for audit ID ${request.id}`,
  );
}

/** Sends a failure if a response is still possible, otherwise ends the exchange. */
export async function respondFailure(deps: RespondDeps, request: ServerRequest, error: Error): Promise<void> {
  const { exchange } = request;
  if (exchange.closed || error instanceof ClientGoneError) {
    request.status = CLIENT_GONE;
    exchange.destroy();
    return request.closeRecord(undefined);
  }
  const failure = statusErrorOf(deps.log, request, error);
  if (exchange.begun) {
    exchange.destroy();
    return request.closeRecord(undefined);
  }
  return respondBytes(deps, request, statusResponse(failure, request.headers.accept, deps.encodeStatus));
}
