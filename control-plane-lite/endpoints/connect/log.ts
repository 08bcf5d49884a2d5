/** Container logs, streamed from the agent of the pod's node. */

import { type ClientRequest, type IncomingMessage } from 'node:http';
import type { Agent } from 'node:https';
import { request as httpsRequest } from 'node:https';
import type { Clock } from '#api/kit/clock.ts';
import { messageOf } from '#api/kit/error-chain.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { Target } from '../../agents/agents.ts';
import type { StreamResponse, StreamSink } from '../../http/contract.ts';

export interface LogRequest {
  readonly target: Target;
  /** Including the query. */
  readonly path: string;
  readonly agent: Agent;
  readonly clock: Clock;
  readonly connectTimeoutMs: number;
  readonly signal: AbortSignal;
}

const CONTENT_TYPE = 'text/plain';
/** Maximum size of an agent's error message, in bytes. */
const LONGEST_REFUSAL = 50_000;

/** Converts the agent's error response. */
export function refusalOf(status: number, text: string): StatusError {
  const message = text.trim() === '' ? `the node agent responded with ${status}` : text.trim();
  switch (status) {
    case 400:
      return new StatusError('BadRequest', message);
    case 404:
      return new StatusError('NotFound', message);
    case 401:
    case 403:
      return new StatusError(
        'InternalError',
        `the node agent rejects the credentials of this server: ${message}`,
      );
    default:
      return new StatusError('InternalError', message);
  }
}

export function agentUnreachable(thrown: unknown): StatusError {
  const message = `the node agent can't be reached: ${messageOf(thrown)}`;
  return new StatusError('ServiceUnavailable', message, { cause: thrown });
}

function send({ target, path, agent, signal }: LogRequest): ClientRequest {
  const { host, port, tls } = target;
  return httpsRequest({ ...tls, host, port, path, agent, signal, method: 'GET' });
}

/** Returns the response head. @throws StatusError ServiceUnavailable */
function answerOf(request: LogRequest): Promise<IncomingMessage> {
  const outgoing = send(request);
  const { clock, connectTimeoutMs } = request;
  const timer = clock.setTimer(
    () => outgoing.destroy(new Error('timed out waiting for a response')),
    connectTimeoutMs,
  );
  outgoing.once('socket', (socket) => {
    if (!socket.connecting) timer.cancel();
    else socket.once('secureConnect', () => timer.cancel());
  });
  outgoing.once('close', () => timer.cancel());
  return new Promise((resolve, reject) => {
    outgoing.once('response', resolve);
    // Handles later errors, which the response's own stream reports.
    outgoing.on('error', (error) => reject(agentUnreachable(error)));
    outgoing.end();
  });
}

async function readText(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    parts.push(part);
    size += part.length;
    if (size > LONGEST_REFUSAL) break;
  }
  return Buffer.concat(parts).subarray(0, LONGEST_REFUSAL).toString('utf8');
}

async function pour(response: IncomingMessage, sink: StreamSink): Promise<void> {
  for await (const chunk of response as AsyncIterable<Buffer>) {
    sink.write(chunk);
    await sink.drained?.();
  }
}

/** Returns the log, once the agent has started to send it.
 *  @throws StatusError ServiceUnavailable, or with the agent's message */
export async function openLog(request: LogRequest): Promise<StreamResponse> {
  const response = await answerOf(request);
  const status = response.statusCode ?? 0;
  if (status !== 200) throw refusalOf(status, await readText(response));
  return {
    kind: 'stream',
    contentType: CONTENT_TYPE,
    webSocket: { binary: true },
    start(sink) {
      const end = (): void => sink.end();
      // An interrupted log just ends for the client: its head has been sent, so no error can be reported.
      pour(response, sink).then(end, end);
      return () => void response.destroy();
    },
  };
}

/** The log of a pod that is not scheduled yet. */
export const emptyLog = (): StreamResponse => ({
  kind: 'stream',
  contentType: CONTENT_TYPE,
  webSocket: { binary: true },
  start(sink) {
    sink.end();
    return () => undefined;
  },
});
