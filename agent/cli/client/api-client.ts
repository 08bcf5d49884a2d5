/** HTTP client for the local socket of the agent. */

import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { parseJsonText } from '#api/codec/json-text.ts';
import { asError, errorCode } from '#api/kit/errno.ts';

/** The agent's socket cannot be reached. */
export class AgentUnreachableError extends Error {
  readonly socketPath: string;

  constructor(socketPath: string, cause: Error) {
    super(unreachableText(socketPath, errorCode(cause) ?? cause.message), { cause });
    this.name = 'AgentUnreachableError';
    this.socketPath = socketPath;
  }
}

/** The agent responded with an error. */
export class ApiError extends Error {
  /** HTTP status. */
  readonly status: number;
  /** Such as `NotFound`. */
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.reason = reason;
  }
}

export interface ApiRequest {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  /** Parts between the slashes, not encoded. */
  readonly path: readonly string[];
  readonly query?: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body?: string | Uint8Array;
  readonly signal?: AbortSignal;
}

export interface LocalApi {
  readonly socketPath: string;
  /** @throws AgentUnreachableError, ApiError */
  json(request: ApiRequest): Promise<unknown>;
  /** Returns the response as a stream, which also throws if the connection breaks while it is read.
   *  @throws AgentUnreachableError, ApiError */
  stream(request: ApiRequest): Promise<AsyncIterable<Uint8Array>>;
}

/** Maximum response size. No response of the agent is larger. */
const LARGEST_RESPONSE_BYTES = 64 * 1024 * 1024;

export function createLocalApi(socketPath: string): LocalApi {
  async function send(request: ApiRequest): Promise<IncomingMessage> {
    const response = await open(socketPath, request);
    const status = response.statusCode ?? 0;
    if (status >= 200 && status < 300) return response;
    throw readFailure(status, await readText(response));
  }
  return {
    socketPath,
    async json(request) {
      const text = await readText(await send(request));
      try {
        return parseJsonText(text);
      } catch (cause) {
        throw new ApiError(200, 'BadResponse', `the response is not JSON: ${asError(cause).message}`);
      }
    },
    stream: async (request) => chunks(await send(request)),
  };
}

function open(socketPath: string, request: ApiRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { method = 'GET', body, signal } = request;
    const call: ClientRequest = httpRequest({
      socketPath,
      method,
      path: requestTarget(request),
      // One connection per request: no open connection delays the exit of the command.
      agent: false,
      headers: {
        host: 'localhost',
        ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
      },
      ...(signal === undefined ? {} : { signal }),
    });
    call.once('response', resolve);
    call.once('error', (error) => {
      reject(
        signal?.aborted === true ? asError(signal.reason) : new AgentUnreachableError(socketPath, error),
      );
    });
    call.end(body);
  });
}

/** `/logs/default/web?follow=true` */
export function requestTarget({ path, query = {} }: ApiRequest): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const text of typeof value === 'string' ? [value] : value) search.append(key, text);
  }
  const target = `/${path.map(encodeURIComponent).join('/')}`;
  return search.size === 0 ? target : `${target}?${search.toString()}`;
}

async function* chunks(response: IncomingMessage): AsyncGenerator<Uint8Array> {
  for await (const chunk of response) {
    if (chunk instanceof Uint8Array) yield chunk;
  }
}

async function readText(response: IncomingMessage): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks(response)) {
    size += chunk.byteLength;
    if (size > LARGEST_RESPONSE_BYTES) throw new ApiError(200, 'BadResponse', 'the response is too long');
    parts.push(chunk);
  }
  return Buffer.concat(parts).toString('utf8');
}

/** Creates the error for a Status object; quotes any other response body. */
export function readFailure(status: number, text: string): ApiError {
  const fallback = new ApiError(
    status,
    'Unknown',
    `the agent responded with ${status}: ${text.slice(0, 200)}`,
  );
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body !== 'object' || body === null || !('message' in body)) return fallback;
    if (typeof body.message !== 'string') return fallback;
    const reason = 'reason' in body && typeof body.reason === 'string' ? body.reason : 'Unknown';
    return new ApiError(status, reason, body.message);
  } catch {
    return fallback;
  }
}

function unreachableText(socketPath: string, code: string): string {
  switch (code) {
    case 'ENOENT':
    case 'ECONNREFUSED':
      return (
        `cannot connect to ${socketPath}: is the agent running? See: sudo systemctl status nodeagent\n` +
        '(select another socket with --socket PATH or NODEAGENT_SOCKET)'
      );
    case 'EACCES':
    case 'EPERM':
      return `permission denied on ${socketPath}: only root can connect to the agent; try sudo`;
    default:
      return `the agent on ${socketPath} closed the connection (${code})`;
  }
}
