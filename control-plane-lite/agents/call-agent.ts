/** Requests of controllers to the agents of nodes: JSON over TLS, with limits of time and size. Only to an agent that
 *  has proved that it is the node's. */

import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { parseJsonText } from '#api/codec/json-text.ts';
import type { Clock } from '#api/kit/clock.ts';
import { isObject, textOf } from '#api/kit/object.ts';
import type { Agents } from './agents.ts';

export interface AgentCall {
  readonly method: 'GET' | 'PUT' | 'DELETE';
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: object;
}

export interface AgentReply {
  readonly status: number;
  readonly value: unknown;
}

/** @throws StatusError, Error */
export type CallAgent = (node: string, call: AgentCall, signal: AbortSignal) => Promise<AgentReply>;

/** Formatting a file system takes a while. */
const TIMEOUT_MS = 120_000;
const MAX_BYTES = 4 * 1024 * 1024;

export class AgentCallError extends Error {
  override readonly name = 'AgentCallError';
}

export function createCallAgent(agents: Pick<Agents, 'find'>, clock: Clock): CallAgent {
  return async (node, call, signal) => {
    const late = new AbortController();
    const timer = clock.setTimer(
      () => late.abort(new AgentCallError(`the agent of node ${node} did not respond in time`)),
      TIMEOUT_MS,
    );
    try {
      const { host, port, tls } = await agents.find(node);
      const body = call.body === undefined ? '' : JSON.stringify(call.body);
      const either = AbortSignal.any([signal, late.signal]);
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        const { method, path } = call;
        const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
        const options = { ...tls, host, port, path, method, headers, agent: false, signal: either };
        const outgoing = httpsRequest(options);
        outgoing.once('response', resolve);
        outgoing.on('error', reject);
        outgoing.end(body);
      });
      return { status: response.statusCode ?? 0, value: await readValue(response, node) };
    } catch (thrown) {
      throw late.signal.aborted ? late.signal.reason : thrown;
    } finally {
      timer.cancel();
    }
  };
}

/** Returns the text of responses that are not JSON. */
async function readValue(response: IncomingMessage, node: string): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BYTES) {
      response.destroy();
      throw new AgentCallError(`the agent of node ${node} responded with more than ${MAX_BYTES} bytes`);
    }
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString('utf8');
  return /json/.test(response.headers['content-type'] ?? '') ? parseJsonText(text) : text;
}

/** Returns the reason that an agent gave for rejecting a request. */
export function messageOf({ status, value }: AgentReply): string {
  const text = isObject(value) ? textOf(value['message']) : textOf(value);
  return text === '' ? `status ${status}` : text.trim().slice(0, 1024);
}
