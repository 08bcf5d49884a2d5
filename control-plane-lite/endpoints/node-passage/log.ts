/** A container's log, passed on from the agent of its node as it comes. */

import { type ClientRequest, type IncomingMessage } from 'node:http';
import type { Agent } from 'node:https';
import { request as httpsRequest } from 'node:https';
import type { Clock } from '#api/kit/clock.ts';
import { messageOf } from '#api/kit/error-chain.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { StreamResponse, StreamSink } from '../../http/contract.ts';
import type { Target } from './agents.ts';

export interface LogRequest {
  readonly target: Target;
  /** With its query. */
  readonly path: string;
  readonly agent: Agent;
  readonly clock: Clock;
  readonly connectTimeoutMs: number;
  readonly signal: AbortSignal;
}

const CONTENT_TYPE = 'text/plain';
/** Of an agent's refusal, in bytes. */
const LONGEST_REFUSAL = 50_000;

/** What an agent says instead of a log. */
export function refusalOf(status: number, text: string): StatusError {
  const message = text.trim() === '' ? `the node agent answered with ${status}` : text.trim();
  switch (status) {
    case 400:
      return new StatusError('BadRequest', message);
    case 404:
      return new StatusError('NotFound', message);
    case 401:
    case 403:
      return new StatusError('InternalError', `the node agent does not let this server in: ${message}`);
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

/** The answer's head. @throws StatusError ServiceUnavailable */
function answerOf(request: LogRequest): Promise<IncomingMessage> {
  const outgoing = send(request);
  const { clock, connectTimeoutMs } = request;
  const timer = clock.setTimer(() => outgoing.destroy(new Error('no answer in time')), connectTimeoutMs);
  outgoing.once('socket', (socket) => {
    if (!socket.connecting) timer.cancel();
    else socket.once('secureConnect', () => timer.cancel());
  });
  outgoing.once('close', () => timer.cancel());
  return new Promise((resolve, reject) => {
    outgoing.once('response', resolve);
    // Stays for what goes wrong later: then the answer's own stream tells of it.
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

/** The log, once the agent has begun to give it.
 *  @throws StatusError ServiceUnavailable, and what the agent says */
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
      // A log that breaks off has ended for the client; its head is sent, nothing else can be said.
      pour(response, sink).then(end, end);
      return () => void response.destroy();
    },
  };
}

/** The log of a pod that no node has yet. */
export const emptyLog = (): StreamResponse => ({
  kind: 'stream',
  contentType: CONTENT_TYPE,
  webSocket: { binary: true },
  start(sink) {
    sink.end();
    return () => undefined;
  },
});
