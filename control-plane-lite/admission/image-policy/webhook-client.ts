/** Calls the image policy webhook, retries when it does not respond, and caches its decisions. */

import type { ImageReviewSpec } from '#api/gen/imagepolicy-v1alpha1.ts';
import { type Clock, sleep } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Waits } from '#api/kit/waits.ts';
import { NO_RESPONSE } from '#api/kit/waits.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { type Backend, BackendError } from '../../webhooks/backend.ts';
import type { ImagePolicyConfig } from './config.ts';
import { ImageReviewError, type ImageVerdict, readVerdict, reviewText } from './review.ts';

export interface ImageReviewDeps {
  readonly backend: Pick<Backend, 'post' | 'url'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Reports a slow service. */
  readonly waits?: Pick<Waits, 'during'> | undefined;
  readonly vocabulary: Vocabulary;
  /** Jitter factor, 0 to 1. */
  readonly random: () => number;
}

/** @throws Error if the webhook is unavailable or its response is invalid */
export type ReviewImages = (spec: ImageReviewSpec, signal: AbortSignal) => Promise<ImageVerdict>;

const TRIES = 5;
const FACTOR = 1.5;
const JITTER = 0.2;
/** Maximum number of cached decisions. */
const MAX_CACHED = 1024;
const TOO_MANY = 429;
const SERVER_ERROR = 500;

/** Reports whether a retry may succeed. */
function isPassing(thrown: unknown): boolean {
  if (thrown instanceof ImageReviewError) return false;
  return !(thrown instanceof BackendError) || thrown.status === TOO_MANY || thrown.status >= SERVER_ERROR;
}

export function createImageReviewClient(deps: ImageReviewDeps, config: ImagePolicyConfig): ReviewImages {
  const { backend, clock, log, waits, vocabulary, random } = deps;
  const cached = new Map<string, { readonly verdict: ImageVerdict; readonly untilMs: number }>();

  function store(key: string, verdict: ImageVerdict): void {
    const ttlMs = verdict.allowed ? config.allowMs : config.denyMs;
    if (ttlMs <= 0) return;
    cached.delete(key);
    cached.set(key, { verdict, untilMs: clock.now() + ttlMs });
    const [oldest] = cached.keys();
    if (cached.size > MAX_CACHED && oldest !== undefined) cached.delete(oldest);
  }

  async function send(text: string, signal: AbortSignal): Promise<ImageVerdict> {
    let delayMs = config.retryMs;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const response = backend.post(text, signal);
        const what = `image policy webhook ${backend.url}`;
        return readVerdict(await (waits?.during(what, response, NO_RESPONSE) ?? response), vocabulary);
      } catch (thrown) {
        if (signal.aborted || attempt === TRIES || !isPassing(thrown)) throw thrown;
        log.debug({ err: thrown, attempt }, 'Failed to call image policy webhook; retrying');
      }
      await sleep(clock, delayMs * (1 + JITTER * random()), signal);
      delayMs *= FACTOR;
    }
  }

  return async (spec, signal) => {
    const text = reviewText(spec, vocabulary);
    const known = cached.get(text);
    if (known !== undefined && known.untilMs > clock.now()) return known.verdict;
    const verdict = await send(text, signal);
    store(text, verdict);
    return verdict;
  };
}
