/** Parses a request's method, path and query, before any lookup. Every part of the server relies on this one
 *  reading of the path: no part splits or decodes it again. Pure.
 *  Source: resource paths and verbs, document 1 §4.1 and §4.2; `timeoutSeconds`, §4.3. */
import { parseInt64, secondsInMs } from '#api/kit/int64.ts';
import { DurationError, parseDuration } from '#api/meta/duration.ts';
import { parseFieldSelector } from '#api/meta/field-selectors.ts';
import { SelectorError } from '#api/meta/selectors.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { RequestInfo, Verb } from '../contract.ts';

/** Maximum length of a decoded path; proxied paths may be long. */
const LONGEST_PATH = 16 * 1024;

/** Subresources of a namespace, as opposed to resources inside it. */
const NAMESPACE_SUBRESOURCES: ReadonlySet<string> = new Set(['status', 'finalize']);

const METHOD_VERBS: Readonly<Record<string, Verb>> = {
  GET: 'get',
  HEAD: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

export interface RequestTarget {
  /** As sent, still percent-encoded. */
  readonly path: string;
  /** Without the question mark; empty if there is none. */
  readonly query: string;
}

const badPath = (detail: string): StatusError => new StatusError('BadRequest', `the request path ${detail}`);

/** Splits a request target; the absolute form (`https://host/path`) loses its host.
 *  @throws StatusError BadRequest */
export function splitTarget(target: string): RequestTarget {
  let origin = target;
  if (!origin.startsWith('/')) {
    const start = /^https?:\/\/[^/?#]*/i.exec(origin)?.[0];
    if (start === undefined) throw badPath('must begin with /');
    origin = origin.slice(start.length);
    if (!origin.startsWith('/')) origin = `/${origin}`;
  }
  const mark = origin.indexOf('?');
  if (mark < 0) return { path: origin, query: '' };
  return { path: origin.slice(0, mark), query: origin.slice(mark + 1) };
}

/** Percent escapes are decoded exactly once; text that is then not valid UTF-8 is rejected. */
function decodePath(path: string): string {
  if (path.length > LONGEST_PATH) throw badPath(`is longer than ${LONGEST_PATH} characters`);
  let decoded = path;
  if (path.includes('%')) {
    try {
      decoded = decodeURIComponent(path);
    } catch (error) {
      throw new StatusError('BadRequest', 'the request path has a percent escape that is not valid UTF-8', {
        cause: error,
      });
    }
  }
  if (decoded.includes('\u0000')) throw badPath('must not contain a NUL character');
  return decoded;
}

/** Returns the segments of a path; one trailing slash adds none. Empty segments are left to the caller. */
function splitPath(path: string): readonly string[] {
  const segments = path.split('/');
  segments.shift();
  if (segments.at(-1) === '') segments.pop();
  for (const segment of segments) {
    if (segment === '..' || segment === '.') throw badPath(`must not contain the segment ${segment}`);
  }
  return segments;
}

function refuseEmpty(segments: readonly string[], count: number): void {
  for (let index = 0; index < count && index < segments.length; index += 1) {
    if (segments[index] === '') throw badPath('must not contain an empty segment');
  }
}

/** Only `false` and `0`, in any case, mean false: upstream's rule. */
function isSet(value: string | null): boolean {
  return value !== null && value !== '0' && value.toLowerCase() !== 'false';
}

/** Returns the single name that a field selector allows, if it is valid in a path. */
function selectedName(selector: string | null): string {
  if (selector === null || !selector.includes('metadata.name')) return '';
  try {
    const named = parseFieldSelector(selector).find(({ field, equal }) => equal && field === 'metadata.name');
    const name = named?.value ?? '';
    return name === '.' || name === '..' || /[/%]/.test(name) ? '' : name;
  } catch (error) {
    // The handler reports an invalid selector; here it selects no name.
    if (error instanceof SelectorError) return '';
    throw error;
  }
}

function plainInfo(path: string, method: string): RequestInfo {
  return {
    path,
    isResource: false,
    verb: method.toLowerCase(),
    group: '',
    version: '',
    namespace: '',
    resource: '',
    subresource: '',
    name: '',
    rest: '',
  };
}

/** Returns the number of segments before the version: `api` or `apis/<group>`; 0 for a non-resource path. */
function prefixLength(segments: readonly string[]): number {
  if (segments[0] === 'api') return segments.length >= 3 ? 1 : 0;
  if (segments[0] === 'apis') return segments.length >= 4 ? 2 : 0;
  return 0;
}

interface Legacy {
  readonly verb: Verb | undefined;
  /** Index of the first segment after the version and the prefix. */
  readonly start: number;
}

/** `/api/v1/watch/…` and `/api/v1/proxy/…`, upstream's legacy paths. */
function readLegacyVerb(segments: readonly string[], start: number): Legacy {
  const word = segments[start];
  if (word !== 'watch' && word !== 'proxy') return { verb: undefined, start };
  if (segments.length <= start + 1) throw badPath(`names no resource after ${word}`);
  return { verb: word, start: start + 1 };
}

function resourceVerb(verb: Verb, name: string, query: URLSearchParams | undefined): Verb {
  if (verb === 'get') {
    if (query !== undefined && isSet(query.get('watch'))) return 'watch';
    return name === '' ? 'list' : 'get';
  }
  return verb === 'delete' && name === '' ? 'deletecollection' : verb;
}

/** Parses a path. `query` may be absent if the request has none.
 *  @throws StatusError BadRequest for an ambiguous path */
export function parseRequestInfo(
  method: string,
  path: string,
  query: URLSearchParams | undefined,
): RequestInfo {
  const decoded = decodePath(path);
  const segments = splitPath(decoded);
  const versionAt = prefixLength(segments);
  if (versionAt === 0) {
    refuseEmpty(segments, segments.length);
    return plainInfo(decoded, method);
  }
  const { verb: legacyVerb, start } = readLegacyVerb(segments, versionAt + 1);
  let namespace = '';
  let at = start;
  if (segments[start] === 'namespaces' && segments.length > start + 1) {
    namespace = segments[start + 1] ?? '';
    const after = segments[start + 2];
    if (after !== undefined && !NAMESPACE_SUBRESOURCES.has(after)) at = start + 2;
  }
  // The path of a legacy proxy starts right after the name.
  const subresourceAt = at + 2;
  const restAt = legacyVerb === 'proxy' ? subresourceAt : subresourceAt + 1;
  refuseEmpty(segments, restAt);
  const name = segments[at + 1] ?? '';
  const verb = resourceVerb(legacyVerb ?? METHOD_VERBS[method] ?? method.toLowerCase(), name, query);
  const listed = name === '' && (verb === 'list' || verb === 'watch') && query !== undefined;
  return {
    path: decoded,
    isResource: true,
    verb,
    group: versionAt === 2 ? (segments[1] ?? '') : '',
    version: segments[versionAt] ?? '',
    namespace,
    resource: segments[at] ?? '',
    subresource: legacyVerb === 'proxy' ? '' : (segments[subresourceAt] ?? ''),
    name: listed ? selectedName(query.get('fieldSelector')) : name,
    rest: restOf(decoded, segments, restAt),
  };
}

/** Returns the rest of the path from a segment on, its own slashes unchanged. */
function restOf(path: string, segments: readonly string[], from: number): string {
  if (segments.length <= from) return '';
  let start = 1;
  for (let index = 0; index < from; index += 1) start += (segments[index]?.length ?? 0) + 1;
  return path.slice(start);
}

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
  let requestedMs = timeout === null || timeout === '' ? 0 : durationMs(timeout);
  const seconds = query.get('timeoutSeconds');
  if (requestedMs === 0 && seconds !== null && seconds !== '') {
    const requested = parseInt64(seconds);
    if (requested === undefined) throw badTimeout('timeoutSeconds', seconds);
    requestedMs = Math.max(0, secondsInMs(requested));
  }
  return requestedMs === 0 ? longestMs : Math.min(requestedMs, longestMs);
}
