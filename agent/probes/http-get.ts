/** One HTTP or HTTPS GET to a pod, as probes and lifecycle hooks make it: a connection of its own, no check of
 *  certificates (pods bring their own), no proxy, redirects followed within the host, a short body.
 *  node:http instead of a client library keeps the memory of probing small; HTTPS is loaded when first used. */
import { type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http';
import type { RequestOptions } from 'node:https';
import type { HTTPGetAction } from '#api/schema/gen/core-v1.ts';

export interface HttpGetRequest {
  readonly action: HTTPGetAction;
  /** Name or address without brackets. */
  readonly host: string;
  readonly port: number;
  readonly userAgent: string;
}

export interface HttpAnswer {
  readonly statusCode: number;
  /** At most 10 KiB. */
  readonly body: string;
  /** Where a redirect leads that was not followed, shortened; undefined for other answers. */
  readonly location: string | undefined;
}

/** A request that got no answer. */
export class HttpGetError extends Error {
  override readonly name = 'HttpGetError';
}

const MOST_REDIRECTS = 10;
const MOST_BODY_BYTES = 10 * 1024;
const MOST_LOCATION_LENGTH = 512;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** The answer after redirects; that of the redirect itself when it leads to another host.
 *  @throws HttpGetError when there is no answer; the signal's reason when it fires */
export async function httpGet(wanted: HttpGetRequest, signal: AbortSignal): Promise<HttpAnswer> {
  const headers = requestHeaders(wanted);
  let url = actionUrl(wanted);
  try {
    for (let redirects = 0; redirects < MOST_REDIRECTS; redirects += 1) {
      const response = await send(url, headers, signal);
      const next = redirectTarget(response, url);
      if (next === undefined) return await readAnswer(response);
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

/** The address asked. Set member by member: a path of `//host/` must not become the host. */
export function actionUrl({ action, host, port }: HttpGetRequest): URL {
  const scheme = action.scheme === 'HTTPS' ? 'https' : 'http';
  const url = new URL(`${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}/`);
  const path = action.path ?? '/';
  const query = path.indexOf('?');
  url.pathname = query < 0 ? path : path.slice(0, query);
  url.search = query < 0 ? '' : path.slice(query);
  return url;
}

/** The action's headers, and defaults for `User-Agent` and `Accept` unless it sets them; set empty, they are
 *  left out. */
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
      reject(new Error('the server switched protocols unasked'));
    });
    // Whatever the server does: a request that is over has an outcome.
    outgoing.on('close', () => reject(new Error('the connection ended without an answer')));
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

/** Reads what is worth showing and hangs up. */
async function readAnswer(response: IncomingMessage): Promise<HttpAnswer> {
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
