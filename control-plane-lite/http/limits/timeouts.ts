/** Request timeouts. Pure. Source: `timeoutSeconds`, document 1 §4.3. */

import { parseInt64, secondsInMs } from '#api/kit/int64.ts';
import { DurationError, parseDuration } from '#api/meta/duration.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { RequestInfo } from '../contract.ts';

const LONG_VERBS: ReadonlySet<string> = new Set(['watch', 'proxy']);
const LONG_SUBRESOURCES: ReadonlySet<string> = new Set(['attach', 'exec', 'proxy', 'log', 'portforward']);

/** Requests that do not end by themselves: neither timed nor counted among those in flight. */
export function isLongRunning(info: RequestInfo): boolean {
  return info.isResource && (LONG_VERBS.has(info.verb) || LONG_SUBRESOURCES.has(info.subresource));
}

function badTimeout(parameter: string, text: string, cause?: unknown): StatusError {
  const detail = `invalid ${parameter} specified in the request URL: ${JSON.stringify(text.slice(0, 64))}`;
  return new StatusError('BadRequest', detail, { cause });
}

function durationMs(text: string): number {
  try {
    const ms = Number(parseDuration(text) / 1_000_000n);
    if (ms < 0) throw badTimeout('timeout', text);
    return ms;
  } catch (error) {
    if (error instanceof DurationError) throw badTimeout('timeout', text, error);
    throw error;
  }
}

/** Returns the timeout of a request: the client's, within what the server allows. Zero or less means none.
 *  @throws StatusError BadRequest */
export function requestTimeoutMs(query: URLSearchParams | undefined, longestMs: number): number {
  if (query === undefined) return longestMs;
  const timeout = query.get('timeout');
  let askedMs = timeout === null || timeout === '' ? 0 : durationMs(timeout);
  const seconds = query.get('timeoutSeconds');
  if (askedMs === 0 && seconds !== null && seconds !== '') {
    const asked = parseInt64(seconds);
    if (asked === undefined) throw badTimeout('timeoutSeconds', seconds);
    askedMs = Math.max(0, secondsInMs(asked));
  }
  return askedMs === 0 ? longestMs : Math.min(askedMs, longestMs);
}
