/** One attempt to pull the image of a pod, with backoff and events. */
import { asError, type Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { ImagePresence } from './presence.ts';
import type { PullHistory } from './pull-history.ts';
import { classifyPullFailure } from './pull-policy.ts';
import type { Puller } from './puller.ts';
import { type ImageReference, imageToPull, repositoryName } from './reference.ts';
import type { EnsureImageRequest, EnsureImageResult } from './types.ts';

export interface PullAttemptDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly puller: Puller;
  readonly history: PullHistory;
  readonly presence: ImagePresence;
}

export type PullAttempt = (
  request: EnsureImageRequest,
  reference: ImageReference,
) => Promise<EnsureImageResult>;

/** Time for which the failure itself is reported; later calls report the back-off. */
const SHOW_FAILURE_MS = 1_000;

export function createPullAttempt(deps: PullAttemptDeps): PullAttempt {
  const { clock, log, puller, history, presence } = deps;

  async function pull(request: EnsureImageRequest, reference: ImageReference): Promise<EnsureImageResult> {
    const { image, podUID, pullSecrets, sandboxConfig, signal } = request;
    const startedMs = clock.monotonic();
    const tagged = imageToPull(reference);
    request.onEvent?.({ type: 'Normal', reason: 'Pulling', message: `Pulling image "${image}"` });
    const repository = repositoryName(reference);
    const imageRef = await puller.pull({ image: tagged, repository, pullSecrets, sandboxConfig, signal });
    const pullMs = clock.monotonic() - startedMs;
    presence.forget(tagged);
    history.succeed(podUID, image);
    const facts = await presence.find(tagged, signal).catch(() => undefined);
    signal.throwIfAborted();
    const took = `${Math.round(pullMs) / 1000}s`;
    request.onEvent?.({
      type: 'Normal',
      reason: 'Pulled',
      message: `Successfully pulled image "${image}" in ${took}`,
    });
    log.info({ image, podUID, imageRef, pullMs: Math.round(pullMs) }, 'Image pulled');
    return {
      kind: 'present',
      imageRef: facts?.imageRef ?? imageRef,
      pulled: true,
      pullMs,
      sizeBytes: facts?.sizeBytes ?? 0,
    };
  }

  return async (request, reference) => {
    const { image, podUID, signal } = request;
    const waiting = history.waiting(podUID, image);
    if (waiting !== undefined) {
      const message = `Back-off pulling image "${image}"`;
      request.onEvent?.({ type: 'Normal', reason: 'BackOff', message });
      return waiting;
    }
    try {
      return await pull(request, reference);
    } catch (thrown) {
      signal.throwIfAborted();
      const error = asError(thrown);
      const failure = classifyPullFailure(image, error.message);
      const backOffUntilMs = history.fail(podUID, image, failure);
      const message = `Failed to pull image "${image}": ${error.message}`;
      request.onEvent?.({ type: 'Warning', reason: 'Failed', message });
      log.warn({ err: error, image, podUID, backOffUntilMs }, 'Image pull failed');
      return { kind: 'waiting', ...failure, retryAtMs: clock.now() + SHOW_FAILURE_MS };
    }
  };
}
