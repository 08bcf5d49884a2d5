/** One look at the manifest URL: limits on time, size and redirects; conditional requests. Does not parse. */
import type { Clock } from '#api/kit/clock.ts';

export interface UrlRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** Validators of the answer that is known, as `readAnswer` gave them. */
  readonly validators: UrlValidators;
}

export interface UrlValidators {
  readonly etag?: string;
  readonly lastModified?: string;
}

export type UrlAnswer =
  | { readonly kind: 'content'; readonly bytes: Uint8Array; readonly validators: UrlValidators }
  | { readonly kind: 'unchanged' };

/** The URL gave no usable answer; what it gave before stays in force. */
export class ManifestUrlError extends Error {
  override readonly name = 'ManifestUrlError';
  readonly reason = 'BadManifestUrlAnswer';
  readonly retryable = true;
}

export type FetchUrl = (request: UrlRequest, signal: AbortSignal) => Promise<UrlAnswer>;

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const MAX_REDIRECTS = 5;

interface Answer {
  readonly status: number;
  header(name: string): string | undefined;
  /** Ends the connection's claim on memory when the body isn't read. */
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

async function send(url: URL, headers: Record<string, HeaderValue>, signal: AbortSignal): Promise<Answer> {
  // Only nodes with a manifest URL pay for the client.
  const { request } = await import('undici');
  const { statusCode, headers: received, body } = await request(url, { headers, signal });
  // Readers are told of failures by the read; without a listener the failure of a discarded body ends the process.
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

async function readBody(answer: Answer, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of answer.body) {
    if (!(chunk instanceof Uint8Array)) continue;
    size += chunk.byteLength;
    if (size > maxBytes) {
      throw new ManifestUrlError(`the answer has more than ${maxBytes} bytes, which is all that is read`);
    }
    chunks.push(chunk);
  }
  if (size === 0) throw new ManifestUrlError('the answer is empty');
  return Buffer.concat(chunks);
}

/** Where the redirect leads. The configured headers may hold a password, so they stay with their server.
 *  @throws ManifestUrlError */
function redirectTarget(from: URL, location: string | undefined): URL {
  const target = location === undefined ? null : URL.parse(location, from);
  if (target === null) throw new ManifestUrlError('the answer redirects to nowhere');
  if (target.origin !== from.origin) {
    throw new ManifestUrlError(
      `the answer redirects to another server, ${target.origin}; configure that URL`,
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
  async function follow(request: UrlRequest, signal: AbortSignal): Promise<UrlAnswer> {
    const headers = requestHeaders(request, deps.userAgent);
    let { url } = request;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      const answer = await send(withoutLogin(url, headers), headers, signal);
      if (answer.status === 200) {
        const bytes = await readBody(answer, request.maxBytes);
        return { kind: 'content', bytes, validators: validatorsOf(answer) };
      }
      answer.discard();
      if (answer.status === 304) return { kind: 'unchanged' };
      if (!REDIRECTS.has(answer.status)) {
        throw new ManifestUrlError(`the answer has status ${answer.status} instead of 200`);
      }
      url = redirectTarget(url, answer.header('location'));
    }
    throw new ManifestUrlError(`the answer redirects more than ${MAX_REDIRECTS} times`);
  }

  return async (request, signal) => {
    const timeout = new AbortController();
    const timer = deps.clock.setTimer(() => {
      timeout.abort(new ManifestUrlError(`no whole answer within ${request.timeoutMs} ms`));
    }, request.timeoutMs);
    try {
      return await follow(request, AbortSignal.any([signal, timeout.signal]));
    } finally {
      timer.cancel();
    }
  };
}

function validatorsOf(answer: Answer): UrlValidators {
  const etag = answer.header('etag');
  const lastModified = answer.header('last-modified');
  return {
    ...(etag === undefined ? {} : { etag }),
    ...(lastModified === undefined ? {} : { lastModified }),
  };
}

/** Turns `user:password@` into the header that carries it; a configured Authorization header goes first. */
function withoutLogin(url: URL, headers: Record<string, HeaderValue>): URL {
  if (url.username === '' && url.password === '') return url;
  const login = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  headers['authorization'] ??= `Basic ${Buffer.from(login).toString('base64')}`;
  const plain = new URL(url);
  plain.username = '';
  plain.password = '';
  return plain;
}

/** The URL as it may be shown: without login, and without the query, which may hold a token. */
export function showUrl(url: URL): string {
  return `${url.origin}${url.pathname}${url.search === '' ? '' : '?…'}`;
}
