/** Source `url`: pods and objects polled from an HTTP server. After an unusable response, the content of the
 *  last good one stays in effect. */
import { createHash } from 'node:crypto';
import { createBackoff } from '#api/kit/backoff.ts';
import { type Clock, sleep } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { EMPTY_SET, isSameSet, keepLastGood, rejectedPlace } from '../last-good.ts';
import type { ManifestSet, PodSource, ReadManifests, SourceSink } from '../types.ts';
import { type FetchUrl, showUrl, type UrlValidators } from './url-fetch.ts';

export interface UrlSourceDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly readManifests: ReadManifests;
  readonly fetchUrl: FetchUrl;
}

export interface UrlSourceOptions {
  /** `http:` or `https:`. */
  readonly url: string;
  /** Header names and all values to send. */
  readonly headers?: Readonly<Record<string, readonly string[]>>;
  /** Time between requests (`httpCheckFrequency`) in ms. */
  readonly checkMs: number;
  /** Timeout of one complete response in ms. Default 10 s. */
  readonly timeoutMs?: number;
  /** Maximum size of a response in bytes. Default 3 MiB. */
  readonly maxBytes?: number;
}

const TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 3 * 1024 * 1024;
/** Minimum time between requests even if the configured frequency is zero. */
const SHORTEST_CHECK_MS = 100;
const FIRST_RETRY_MS = 1000;

/** @throws TypeError when the URL is invalid, or neither http nor https */
function parseManifestUrl(text: string): URL {
  const url = URL.parse(text);
  if (url !== null && (url.protocol === 'http:' || url.protocol === 'https:')) return url;
  throw new TypeError('manifest URL must begin with http:// or https://');
}

/** @throws TypeError when the URL is invalid, or neither http nor https */
export function createUrlSource(deps: UrlSourceDeps, options: UrlSourceOptions): PodSource {
  const url = parseManifestUrl(options.url);
  return { name: 'url', run: (signal, sink) => runUrlSource(deps, { ...options, url }, signal, sink) };
}

/** State between requests. */
interface Known {
  /** Digest of the last complete response, usable or not. */
  readonly digest: string;
  readonly validators: UrlValidators;
  /** The effective content: that of the last good response, with the errors of the newest. */
  readonly set: ManifestSet;
  /** No response was usable yet. */
  readonly partial: boolean;
}

/** Returns the known content after an invalid response: unchanged, with the errors. */
function withErrors(known: Known, errors: ManifestSet): Known {
  const { rejected } = errors;
  const same = JSON.stringify(rejected) === JSON.stringify(known.set.rejected);
  return same ? known : { ...known, set: { ...known.set, rejected } };
}

async function runUrlSource(
  deps: UrlSourceDeps,
  options: Omit<UrlSourceOptions, 'url'> & { readonly url: URL },
  signal: AbortSignal,
  sink: SourceSink,
): Promise<void> {
  const { clock, log, readManifests, fetchUrl } = deps;
  const { url, headers = {}, timeoutMs = TIMEOUT_MS, maxBytes = MAX_ANSWER_BYTES } = options;
  const place = { source: 'url', location: showUrl(url) } as const;
  const checkMs = Math.max(options.checkMs, SHORTEST_CHECK_MS);
  const backoff = createBackoff({ initialMs: Math.min(FIRST_RETRY_MS, checkMs), maxMs: checkMs });
  let known: Known = { digest: '', validators: {}, set: EMPTY_SET, partial: true };
  let sent: Known | undefined;

  async function ask(): Promise<Known> {
    const request = { url, headers, timeoutMs, maxBytes, validators: known.validators };
    const response = await fetchUrl(request, signal);
    if (response.kind === 'unchanged') return known;
    const { bytes, validators } = response;
    const digest = createHash('sha256').update(bytes).digest('base64');
    if (digest === known.digest) return { ...known, validators };
    const next = await readManifests(bytes, place, known.set, signal);
    const useful = next.rejected.length === 0 || next.pods.length + next.objects.length > 0;
    const set = keepLastGood(known.set, next);
    return { digest, validators, set, partial: known.partial && !useful };
  }

  function send(): void {
    if (sent !== undefined && sent.partial === known.partial && isSameSet(sent.set, known.set)) return;
    sent = known;
    sink({ source: 'url', ...known.set, ...(known.partial ? { partial: true } : {}) });
  }

  while (!signal.aborted) {
    let waitMs = checkMs;
    try {
      known = await ask();
      backoff.reset('url');
    } catch (thrown) {
      if (signal.aborted) return;
      const error = asError(thrown);
      waitMs = backoff.fail('url', clock.now());
      log.debug({ err: error, url: place.location, waitMs }, 'Manifest URL failed');
      // Drop the validators: after a failure only a complete response clears the error.
      known = {
        ...withErrors(known, rejectedPlace(place, describeFailure(error))),
        digest: '',
        validators: {},
      };
    }
    send();
    await sleep(clock, waitMs, signal).catch(() => undefined);
  }
}

/** Formats the error and its cause in one line; the HTTP client reports the real reason only in the cause. */
function describeFailure(error: Error): string {
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : '';
  return `cannot be used: ${error.message}${cause}`;
}
