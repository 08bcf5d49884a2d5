/** Attempts to pull the images of pods, with events, and a backoff per pod and image. */
import { createBackoff } from '#api/kit/backoff.ts';
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { ImagePresence } from './presence.ts';
import { classifyPullFailure, type ImageWaitingReason } from './pull-policy.ts';
import type { Puller } from './puller.ts';
import { type ImageReference, imageToPull, repositoryName } from './reference.ts';
import type { EnsureImageRequest, EnsureImageResult, ImageWaiting } from './types.ts';

export interface PullAttemptDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly puller: Puller;
  readonly presence: ImagePresence;
}

export interface PullAttempts {
  /** Pulls the image, or returns the status to report during the backoff. Rejects only with the signal's reason. */
  attempt(request: EnsureImageRequest, reference: ImageReference): Promise<EnsureImageResult>;
  /** Drops the failures of a deleted pod. */
  forgetPod(podUID: string): void;
}

/** Time for which the failure itself is reported; later calls report the back-off. */
const SHOW_FAILURE_MS = 1_000;

export function createPullAttempts(deps: PullAttemptDeps): PullAttempts {
  const { clock, log, puller, presence } = deps;
  const history = createPullHistory(clock);

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

  async function attempt(request: EnsureImageRequest, reference: ImageReference): Promise<EnsureImageResult> {
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
  }

  return { attempt, forgetPod: (podUID) => history.forget(podUID) };
}

interface PullFailure {
  readonly reason: ImageWaitingReason;
  readonly message: string;
}

/** Failures per pod and image. */
interface PullHistory {
  /** Records a failure; returns the wall time (ms) of the next attempt. */
  fail(podUID: string, image: string, failure: PullFailure): number;
  /** Returns the status to report during the backoff; undefined when an attempt is due. */
  waiting(podUID: string, image: string): ImageWaiting | undefined;
  succeed(podUID: string, image: string): void;
  forget(podUID: string): void;
}

/** As upstream: 10 s after the first failure, doubling to 5 min, per pod and image. */
const BACKOFF = { initialMs: 10_000, maxMs: 300_000 } as const;

function createPullHistory(clock: Clock): PullHistory {
  const backoff = createBackoff(BACKOFF);
  const failures = new Map<string, Map<string, PullFailure>>();
  const keyOf = (podUID: string, image: string): string => `${podUID}_${image}`;
  return {
    fail(podUID, image, failure) {
      const ofPod = failures.get(podUID) ?? new Map<string, PullFailure>();
      failures.set(podUID, ofPod.set(image, failure));
      return clock.now() + backoff.fail(keyOf(podUID, image), clock.now());
    },
    waiting(podUID, image) {
      const retryAtMs = backoff.readyAt(keyOf(podUID, image), clock.now());
      if (clock.now() >= retryAtMs) return undefined;
      const last = failures.get(podUID)?.get(image);
      const detail = last === undefined ? '' : `: ${last.reason}: ${last.message}`;
      const message = `Back-off pulling image "${image}"${detail}`;
      return { kind: 'waiting', reason: 'ImagePullBackOff', message, retryAtMs };
    },
    succeed(podUID, image) {
      backoff.reset(keyOf(podUID, image));
      failures.get(podUID)?.delete(image);
    },
    forget(podUID) {
      for (const image of failures.get(podUID)?.keys() ?? []) backoff.reset(keyOf(podUID, image));
      failures.delete(podUID);
    },
  };
}
