/** Downloads a manifest over HTTPS, with limits on time and redirects; the reader limits the size. Plain HTTP only from this machine. */
import { readFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { resolve } from 'node:path';
import { rootCertificates } from 'node:tls';
import { CommandError } from '../errors.ts';

export interface UrlOptions {
  /** File with the CA of the server, in addition to the usual ones. */
  readonly caFile: string | undefined;
  readonly cwd: string;
  readonly signal: AbortSignal;
}

const MAX_REDIRECTS = 5;
const TIMEOUT_MS = 30_000;
const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

export const isUrl = (name: string): boolean => /^https?:\/\//i.test(name);

/** Returns the content as a stream. @throws CommandError naming the URL without its credentials */
export async function openUrl(name: string, options: UrlOptions): Promise<AsyncIterable<unknown>> {
  const { caFile, cwd, signal } = options;
  const ca = caFile === undefined ? undefined : [...rootCertificates, await readCa(caFile, cwd)];
  const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  let url = parseUrl(name);
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const response = await send(url, ca, limit);
    const { statusCode = 0, headers } = response;
    const isRedirect = statusCode >= 300 && statusCode < 400 && headers.location !== undefined;
    if (statusCode === 200) return response;
    response.destroy();
    if (!isRedirect) throw new CommandError(`cannot read ${shownUrl(url)}: HTTP status ${statusCode}`);
    url = parseUrl(new URL(headers.location ?? '', url).href);
  }
  throw new CommandError(`cannot read ${shownUrl(url)}: more than ${MAX_REDIRECTS} redirects`);
}

/** @throws CommandError */
function parseUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null) throw new CommandError(`${JSON.stringify(text)} is not a URL`);
  if (url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.has(url.hostname))) return url;
  throw new CommandError(`cannot read ${shownUrl(url)}: use https, since manifests start programs as root`);
}

/** Returns the URL without user, password and query, which may be secret. */
const shownUrl = ({ protocol, host, pathname }: URL): string => `${protocol}//${host}${pathname}`;

async function readCa(file: string, cwd: string): Promise<string> {
  try {
    return await readFile(resolve(cwd, file), 'utf8');
  } catch (cause) {
    throw new CommandError(`cannot read ${file}`, { cause });
  }
}

function send(url: URL, ca: string[] | undefined, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolveResponse, reject) => {
    const common = { signal, agent: false, headers: { accept: 'application/yaml, application/json, */*' } };
    const call =
      url.protocol === 'https:'
        ? httpsRequest(url, { ...common, ...(ca === undefined ? {} : { ca }) })
        : httpRequest(url, common);
    call.once('response', resolveResponse);
    call.once('error', (cause) => reject(new CommandError(`cannot read ${shownUrl(url)}`, { cause })));
    call.end();
  });
}
