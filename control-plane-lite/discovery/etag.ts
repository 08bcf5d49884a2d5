/** Conditional requests: decides whether a client's cached response is still current. Pure. Source: RFC 9110,
 *  8.8.3 and 13.1.2. */
import { createHash } from 'node:crypto';
import type { ApiRequest, BytesResponse } from '../http/contract.ts';

/** Response body that is built once and sent many times. */
export interface Kept {
  readonly contentType: string;
  readonly body: Buffer;
  /** With its quotes. */
  readonly etag: string;
}

const etagOf = (body: Buffer | string): string => `"${createHash('sha256').update(body).digest('hex')}"`;

export const kept = (contentType: string, body: Buffer): Kept => ({ contentType, body, etag: etagOf(body) });

const strong = (tag: string): string => tag.trim().replace(/^W\//, '');

/** Reports whether an `If-None-Match` header names the tag. */
export function isCurrent(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((tag) => tag.trim() === '*' || strong(tag) === etag);
}

/** Returns the response, or 304 if the client has it cached. */
export function respondKept(
  { headers }: Pick<ApiRequest, 'headers'>,
  { contentType, body, etag }: Kept,
  more: Readonly<Record<string, string>> = {},
): BytesResponse {
  const current = isCurrent(headers['if-none-match'], etag);
  return {
    kind: 'bytes',
    status: current ? 304 : 200,
    contentType,
    body: current ? [] : body,
    // The media type decides which response a client has cached, so a 304 repeats it.
    headers: { ETag: etag, Vary: 'Accept', ...(current ? {} : more) },
  };
}
