/** Sends one request of this server to an aggregated server and reads the whole response. */

import { request } from 'node:https';
import { parseJsonText } from '#api/codec/json-text.ts';
import type { UserInfo } from '../resources/contract.ts';
import type { RemoteTls } from './remote-server.ts';
import type { Address } from './resolve-service.ts';
import { userHeaders } from './user-headers.ts';

export interface RemoteRequest {
  readonly address: Address;
  readonly tls: RemoteTls;
  /** Default: GET. */
  readonly method?: string;
  readonly path: string;
  /** User on whose behalf the request is sent. */
  readonly user: UserInfo;
  /** JSON. */
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** Maximum size of the response body in bytes. Default: 16 MiB. */
  readonly mostBytes?: number;
}

export interface RemoteResponse {
  readonly status: number;
  readonly body: Buffer;
  readonly etag?: string;
}

const TIMEOUT_MS = 5000;
const MOST_BYTES = 16 * 1024 * 1024;

/** Sends a request. @throws Error with the reason if there is no response */
export function sendRequest(remoteRequest: RemoteRequest, signal: AbortSignal): Promise<RemoteResponse> {
  const { address, tls, method = 'GET', path, user, body, mostBytes = MOST_BYTES } = remoteRequest;
  const headers = {
    ...userHeaders(user),
    accept: 'application/json',
    ...remoteRequest.headers,
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
        const { statusCode: status = 0, headers: responseHeaders } = response;
        const { etag } = responseHeaders;
        resolve({ status, body: Buffer.concat(chunks), ...(etag === undefined ? {} : { etag }) });
      });
    });
    outgoing.on('error', fail);
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Returns the value of the body; `undefined` if it is not JSON. */
export function jsonOf({ body }: RemoteResponse): unknown {
  try {
    const value: unknown = parseJsonText(body.toString('utf8'));
    return value;
  } catch {
    return undefined;
  }
}
