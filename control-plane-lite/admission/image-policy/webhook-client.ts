/** Calls the image policy webhook, retries when it does not respond, and caches its decisions. */

import type { ImageReviewSpec } from '#api/gen/imagepolicy-v1alpha1.ts';
import type { Waits } from '#api/kit/waits.ts';
import { NO_RESPONSE } from '#api/kit/waits.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { type Backend, BackendError } from '../../webhooks/backend.ts';
import { isBusy, type RetryDeps, withRetries } from '../../webhooks/retry.ts';
import type { ImagePolicyConfig } from './config.ts';
import { ImageReviewError, type ImageVerdict, readVerdict, reviewText } from './review.ts';

export interface ImageReviewDeps extends RetryDeps {
  readonly backend: Pick<Backend, 'post' | 'url'>;
  /** Reports a slow service. */
  readonly waits?: Pick<Waits, 'during'> | undefined;
  readonly vocabulary: Vocabulary;
}

/** @throws Error if the webhook is unavailable or its response is invalid */
export type ReviewImages = (spec: ImageReviewSpec, signal: AbortSignal) => Promise<ImageVerdict>;

/** Maximum number of cached decisions. */
const MAX_CACHED = 1024;

/** Reports whether a retry may succeed. */
function isPassing(thrown: unknown): boolean {
  if (thrown instanceof ImageReviewError) return false;
  return !(thrown instanceof BackendError) || isBusy(thrown);
}

export function createImageReviewClient(deps: ImageReviewDeps, config: ImagePolicyConfig): ReviewImages {
  const { backend, clock, waits, vocabulary } = deps;
  const cached = new Map<string, { readonly verdict: ImageVerdict; readonly untilMs: number }>();

  function store(key: string, verdict: ImageVerdict): void {
    const ttlMs = verdict.allowed ? config.allowMs : config.denyMs;
    if (ttlMs <= 0) return;
    cached.delete(key);
    cached.set(key, { verdict, untilMs: clock.now() + ttlMs });
    const [oldest] = cached.keys();
    if (cached.size > MAX_CACHED && oldest !== undefined) cached.delete(oldest);
  }

  const send = (text: string, signal: AbortSignal): Promise<ImageVerdict> =>
    withRetries(
      deps,
      { what: 'image policy webhook', firstDelayMs: config.retryMs, isPassing },
      async () => {
        const response = backend.post(text, signal);
        const what = `image policy webhook ${backend.url}`;
        return readVerdict(await (waits?.during(what, response, NO_RESPONSE) ?? response), vocabulary);
      },
      signal,
    );

  return async (spec, signal) => {
    const text = reviewText(spec, vocabulary);
    const known = cached.get(text);
    if (known !== undefined && known.untilMs > clock.now()) return known.verdict;
    const verdict = await send(text, signal);
    store(text, verdict);
    return verdict;
  };
}
