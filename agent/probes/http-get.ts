/** HTTP or HTTPS GET to a pod, for probes and lifecycle hooks: a dedicated connection, no certificate
 *  verification (pods bring their own), no proxy, redirects followed within the host, a short body.
 *  node:http instead of a client library keeps the memory of probing small; HTTPS is loaded on demand. */
import { type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http';
import type { RequestOptions } from 'node:https';
import type { HTTPGetAction } from '#api/gen/core-v1.ts';

export interface HttpGetRequest {
  readonly action: HTTPGetAction;
  /** Name or address without brackets. */
  readonly host: string;
  readonly port: number;
  readonly userAgent: string;
}

export interface HttpResponse {
  readonly statusCode: number;
  /** At most 10 KiB. */
  readonly body: string;
  /** Target of a redirect that was not followed, shortened; undefined for other responses. */
  readonly location: string | undefined;
}

/** A request without a response. */
export class HttpGetError extends Error {
  override readonly name = 'HttpGetError';
}

const MOST_REDIRECTS = 10;
const MOST_BODY_BYTES = 10 * 1024;
const MOST_LOCATION_LENGTH = 512;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Returns the response after redirects; that of the redirect itself when it leads to another host.
 *  @throws HttpGetError without a response; the signal's reason when it fires */
export async function httpGet(wanted: HttpGetRequest, signal: AbortSignal): Promise<HttpResponse> {
  const headers = requestHeaders(wanted);
  let url = actionUrl(wanted);
  try {
    for (let redirects = 0; redirects < MOST_REDIRECTS; redirects += 1) {
      const response = await send(url, headers, signal);
      const next = redirectTarget(response, url);
      if (next === undefined) return await readResponse(response);
      response.destroy();
      url = next;
    }
  } catch (cause) {
    signal.throwIfAborted();
    throw new HttpGetError(`GET ${url.href}: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
  throw new HttpGetError(`GET ${url.href}: stopped after ${MOST_REDIRECTS} redirects`);
}

/** Returns the URL. Set member by member: a path of `//host/` must not become the host. */
function actionUrl({ action, host, port }: HttpGetRequest): URL {
  const scheme = action.scheme === 'HTTPS' ? 'https' : 'http';
  const url = new URL(`${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}/`);
  const path = action.path ?? '/';
  const query = path.indexOf('?');
  url.pathname = query < 0 ? path : path.slice(0, query);
  url.search = query < 0 ? '' : path.slice(query);
  return url;
}

/** Returns the headers of the action, with defaults for `User-Agent` and `Accept`; headers set to an empty
 *  value are omitted. */
function requestHeaders({ action, userAgent }: HttpGetRequest): OutgoingHttpHeaders {
  const headers = new Map<string, string[]>();
  for (const { name, value } of action.httpHeaders ?? []) {
    const key = name.toLowerCase();
    headers.set(key, [...(headers.get(key) ?? []), value]);
  }
  if (!headers.has('user-agent')) headers.set('user-agent', [userAgent]);
  if (!headers.has('accept')) headers.set('accept', ['*/*']);
  const optional = ['user-agent', 'accept'];
  const sent = [...headers].filter(([key, [first]]) => !(optional.includes(key) && first === ''));
  return Object.fromEntries(sent.map(([key, values]) => [key, values.length === 1 ? values[0] : values]));
}

async function send(url: URL, headers: OutgoingHttpHeaders, signal: AbortSignal): Promise<IncomingMessage> {
  const secure = url.protocol === 'https:';
  const options: RequestOptions = {
    hostname: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? defaultPort(secure) : url.port,
    path: `${url.pathname}${url.search}`,
    headers,
    signal,
    agent: false,
    ...(secure ? { rejectUnauthorized: false } : {}),
  };
  const start = secure ? (await import('node:https')).request : request;
  return new Promise((resolve, reject) => {
    const outgoing: ClientRequest = start(options, resolve);
    outgoing.on('error', reject);
    outgoing.on('upgrade', (_, socket) => {
      socket.destroy();
      reject(new Error('the server switched protocols without a request'));
    });
    // Whatever the server does: a closed request always settles.
    outgoing.on('close', () => reject(new Error('the connection closed without a response')));
    outgoing.end();
  });
}

const defaultPort = (secure: boolean): number => (secure ? 443 : 80);

function redirectTarget({ statusCode = 0, headers }: IncomingMessage, from: URL): URL | undefined {
  const { location } = headers;
  if (!REDIRECTS.has(statusCode) || location === undefined || !URL.canParse(location, from)) return undefined;
  const target = new URL(location, from);
  const speaksHttp = target.protocol === 'http:' || target.protocol === 'https:';
  return speaksHttp && target.hostname === from.hostname ? target : undefined;
}

/** Reads the part of the body that is shown, and closes the connection. */
async function readResponse(response: IncomingMessage): Promise<HttpResponse> {
  const chunks: Buffer[] = [];
  let size = 0;
  const content: AsyncIterable<unknown> = response;
  for await (const chunk of content) {
    if (!Buffer.isBuffer(chunk)) continue;
    chunks.push(chunk);
    size += chunk.length;
    if (size >= MOST_BODY_BYTES) break;
  }
  response.destroy();
  const body = Buffer.concat(chunks).subarray(0, MOST_BODY_BYTES).toString('utf8');
  const { statusCode = 0, headers } = response;
  const location = REDIRECTS.has(statusCode) ? headers.location?.slice(0, MOST_LOCATION_LENGTH) : undefined;
  return { statusCode, body, location };
}
