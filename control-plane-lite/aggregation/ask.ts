/** Sends one request of this server to an aggregated server and reads the whole response. */

import { request } from 'node:https';
import { parseJsonText } from '#api/codec/json-text.ts';
import type { UserInfo } from '../resources/contract.ts';
import type { RemoteTls } from './remote-server.ts';
import type { Address } from './resolve-service.ts';
import { userHeaders } from './user-headers.ts';

export interface Question {
  readonly address: Address;
  readonly tls: RemoteTls;
  /** Default: GET. */
  readonly method?: string;
  readonly path: string;
  /** On whose behalf. */
  readonly user: UserInfo;
  /** JSON. */
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** Of the answer. */
  readonly mostBytes?: number;
}

export interface Answer {
  readonly status: number;
  readonly body: Buffer;
  readonly etag?: string;
}

const TIMEOUT_MS = 5000;
const MOST_BYTES = 16 * 1024 * 1024;

/** @throws Error that says why there is no answer */
export function ask(question: Question, signal: AbortSignal): Promise<Answer> {
  const { address, tls, method = 'GET', path, user, body, mostBytes = MOST_BYTES } = question;
  const headers = {
    ...userHeaders(user),
    accept: 'application/json',
    ...question.headers,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  const late = AbortSignal.timeout(TIMEOUT_MS);
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void =>
      reject(late.aborted ? new Error(`no response within ${TIMEOUT_MS / 1000} s`, { cause: error }) : error);
    const options = { ...tls, ...address, method, path, headers, agent: false } as const;
    const outgoing = request({ ...options, signal: AbortSignal.any([signal, late]) }, (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > mostBytes) response.destroy(new Error(`the response is larger than ${mostBytes} bytes`));
        else chunks.push(chunk);
      });
      response.on('error', fail);
      response.on('end', () => {
        const { statusCode: status = 0, headers: answered } = response;
        const { etag } = answered;
        resolve({ status, body: Buffer.concat(chunks), ...(etag === undefined ? {} : { etag }) });
      });
    });
    outgoing.on('error', fail);
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** The answer's value; `undefined` if it is no JSON. */
export function jsonOf({ body }: Answer): unknown {
  try {
    const value: unknown = parseJsonText(body.toString('utf8'));
    return value;
  } catch {
    return undefined;
  }
}
