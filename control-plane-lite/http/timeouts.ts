/** How long a request may take. Pure. Source: document 1, 4.3 (`timeoutSeconds`). */
import { DurationError, parseDuration } from '#api/meta/duration.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { RequestInfo } from './contract.ts';

const LONG_VERBS: ReadonlySet<string> = new Set(['watch', 'proxy']);
const LONG_SUBRESOURCES: ReadonlySet<string> = new Set(['attach', 'exec', 'proxy', 'log', 'portforward']);

/** Requests without an end of their own: neither timed nor counted among those in flight. */
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

/** The longest a request may take: what the client asks for, within what the server allows. Zero asks for nothing.
 *  @throws StatusError BadRequest */
export function requestTimeoutMs(query: URLSearchParams | undefined, longestMs: number): number {
  if (query === undefined) return longestMs;
  const timeout = query.get('timeout');
  let askedMs = timeout === null || timeout === '' ? 0 : durationMs(timeout);
  const seconds = query.get('timeoutSeconds');
  if (askedMs === 0 && seconds !== null && seconds !== '') {
    if (!/^\d{1,9}$/.test(seconds)) throw badTimeout('timeoutSeconds', seconds);
    askedMs = Number(seconds) * 1000;
  }
  return askedMs === 0 ? longestMs : Math.min(askedMs, longestMs);
}
