/** One request to the manifest URL: limits on time, size and redirects; conditional requests. Does not parse. */
import type { Clock } from '#api/kit/clock.ts';

export interface UrlRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** Validators of the known response, as returned by `validatorsOf`. */
  readonly validators: UrlValidators;
}

export interface UrlValidators {
  readonly etag?: string;
  readonly lastModified?: string;
}

export type UrlResponse =
  | { readonly kind: 'content'; readonly bytes: Uint8Array; readonly validators: UrlValidators }
  | { readonly kind: 'unchanged' };

/** The URL returned no usable response; its previous content stays in effect. */
class ManifestUrlError extends Error {
  override readonly name = 'ManifestUrlError';
  readonly reason = 'BadManifestUrlResponse';
  readonly retryable = true;
}

export type FetchUrl = (request: UrlRequest, signal: AbortSignal) => Promise<UrlResponse>;

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const MAX_REDIRECTS = 5;

interface HttpResponse {
  readonly status: number;
  header(name: string): string | undefined;
  /** Releases the connection when the body is not read. */
  discard(): void;
  readonly body: AsyncIterable<unknown>;
}

type HeaderValue = string | string[];

function requestHeaders(request: UrlRequest, userAgent: string): Record<string, HeaderValue> {
  const headers: Record<string, HeaderValue> = { accept: '*/*', 'user-agent': userAgent };
  if (request.validators.etag !== undefined) headers['if-none-match'] = request.validators.etag;
  if (request.validators.lastModified !== undefined) {
    headers['if-modified-since'] = request.validators.lastModified;
  }
  for (const [name, values] of Object.entries(request.headers)) headers[name.toLowerCase()] = [...values];
  return headers;
}

async function send(
  url: URL,
  headers: Record<string, HeaderValue>,
  signal: AbortSignal,
): Promise<HttpResponse> {
  // Loaded lazily: only nodes with a manifest URL need the client.
  const { request } = await import('undici');
  const { statusCode, headers: received, body } = await request(url, { headers, signal });
  // Readers get failures from the read; without this listener the failure of a discarded body would end the
  // process.
  body.on('error', () => undefined);
  return {
    status: statusCode,
    header(name) {
      const value = received[name];
      return Array.isArray(value) ? value[0] : value;
    },
    discard: () => body.destroy(),
    body,
  };
}

async function readBody(response: HttpResponse, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    if (!(chunk instanceof Uint8Array)) continue;
    size += chunk.byteLength;
    if (size > maxBytes) {
      throw new ManifestUrlError(`the response exceeds the maximum of ${maxBytes} bytes`);
    }
    chunks.push(chunk);
  }
  if (size === 0) throw new ManifestUrlError('the response is empty');
  return Buffer.concat(chunks);
}

/** Returns the target of a redirect. The configured headers may contain a password, so they are sent only to
 *  their server.
 *  @throws ManifestUrlError */
function redirectTarget(from: URL, location: string | undefined): URL {
  const target = location === undefined ? null : URL.parse(location, from);
  if (target === null) throw new ManifestUrlError('the redirect has no valid location');
  if (target.origin !== from.origin) {
    throw new ManifestUrlError(
      `the response redirects to another server, ${target.origin}; configure that URL`,
    );
  }
  target.username = from.username;
  target.password = from.password;
  return target;
}

/** @param userAgent value of the User-Agent header */
export function createFetchUrl(deps: {
  readonly clock: Pick<Clock, 'setTimer'>;
  readonly userAgent: string;
}): FetchUrl {
  async function follow(request: UrlRequest, signal: AbortSignal): Promise<UrlResponse> {
    const headers = requestHeaders(request, deps.userAgent);
    let { url } = request;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      const response = await send(withoutLogin(url, headers), headers, signal);
      if (response.status === 200) {
        const bytes = await readBody(response, request.maxBytes);
        return { kind: 'content', bytes, validators: validatorsOf(response) };
      }
      response.discard();
      if (response.status === 304) return { kind: 'unchanged' };
      if (!REDIRECTS.has(response.status)) {
        throw new ManifestUrlError(`the response has status ${response.status} instead of 200`);
      }
      url = redirectTarget(url, response.header('location'));
    }
    throw new ManifestUrlError(`the response redirects more than ${MAX_REDIRECTS} times`);
  }

  return async (request, signal) => {
    const timeout = new AbortController();
    const timer = deps.clock.setTimer(() => {
      timeout.abort(new ManifestUrlError(`no complete response within ${request.timeoutMs} ms`));
    }, request.timeoutMs);
    try {
      return await follow(request, AbortSignal.any([signal, timeout.signal]));
    } finally {
      timer.cancel();
    }
  };
}

function validatorsOf(response: HttpResponse): UrlValidators {
  const etag = response.header('etag');
  const lastModified = response.header('last-modified');
  return {
    ...(etag === undefined ? {} : { etag }),
    ...(lastModified === undefined ? {} : { lastModified }),
  };
}

/** Moves `user:password@` into a header; a configured Authorization header takes precedence. */
function withoutLogin(url: URL, headers: Record<string, HeaderValue>): URL {
  if (url.username === '' && url.password === '') return url;
  const login = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  headers['authorization'] ??= `Basic ${Buffer.from(login).toString('base64')}`;
  const plain = new URL(url);
  plain.username = '';
  plain.password = '';
  return plain;
}

/** The URL for display: without credentials, and without the query, which may contain a token. */
export function showUrl(url: URL): string {
  return `${url.origin}${url.pathname}${url.search === '' ? '' : '?…'}`;
}
