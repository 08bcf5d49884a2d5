/** Ensures that the image of a container is present: policy, pull, backoff, and the status until then.
 *  Never starts containers and never removes images. */
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { ImageService } from '#cri/gen/cri-v1.ts';
import type { Keyring } from './keyring.ts';
import { createImagePresence, type ImageUser } from './presence.ts';
import { createPullAttempts } from './pull-attempt.ts';
import { decidePull, type ImageWaitingReason } from './pull-policy.ts';
import { createPuller, type PullerConfig } from './puller.ts';
import { type ImageReference, imageToPull, parseImageReference } from './reference.ts';
import type { EnsureImageRequest, EnsureImageResult, ImageWaiting } from './types.ts';

export interface ImageManager {
  /** Image errors are part of the result; rejects only with the signal's reason. */
  ensureImage(request: EnsureImageRequest): Promise<EnsureImageResult>;
  /** Returns the user of an image by its ID; undefined when the runtime no longer has the image. */
  imageUser(imageRef: string, signal?: AbortSignal): Promise<ImageUser | undefined>;
  /** Drops the cached presence of an image (name or ID): it was removed, or container creation did not find
   *  it. */
  invalidateImage(image?: string): void;
  /** Drops the pull failures of a deleted pod. */
  forgetPod(podUID: string): void;
}

export interface ImageManagerDeps {
  readonly images: Pick<ImageService, 'imageStatus' | 'pullImage'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly credentials: Keyring;
}

export interface ImageManagerConfig extends PullerConfig {
  /** Time for which presence is cached, in ms; default 10 s. */
  readonly presenceTtlMs?: number;
}

/** An invalid name stays invalid until its pod is replaced. */
const INVALID_NAME_RETRY_MS = 300_000;
const NEVER_PULL_RETRY_MS = 10_000;
const INSPECT_RETRY_MS = 5_000;
const DEFAULT_PRESENCE_TTL_MS = 10_000;

export function createImageManager(deps: ImageManagerDeps, config: ImageManagerConfig): ImageManager {
  const { images, clock, log } = deps;
  const presence = createImagePresence(
    { images, clock },
    { ttlMs: config.presenceTtlMs ?? DEFAULT_PRESENCE_TTL_MS },
  );
  const puller = createPuller(deps, config);
  const pulls = createPullAttempts({ clock, log, puller, presence });

  function wait(reason: ImageWaitingReason, message: string, afterMs: number): ImageWaiting {
    return { kind: 'waiting', reason, message, retryAtMs: clock.now() + afterMs };
  }

  async function ensureParsed(
    request: EnsureImageRequest,
    reference: ImageReference,
  ): Promise<EnsureImageResult> {
    const { image, signal } = request;
    const facts = await presence.find(imageToPull(reference), signal);
    const decision = decidePull(request.pullPolicy, image, facts !== undefined);
    switch (decision.kind) {
      case 'use': {
        const message = `Container image "${image}" already present on machine`;
        request.onEvent?.({ type: 'Normal', reason: 'Pulled', message });
        const { imageRef = '', sizeBytes = 0 } = facts ?? {};
        return { kind: 'present', imageRef, pulled: false, pullMs: 0, sizeBytes };
      }
      case 'refuse':
        request.onEvent?.({ type: 'Warning', reason: 'ErrImageNeverPull', message: decision.message });
        return wait(decision.reason, decision.message, NEVER_PULL_RETRY_MS);
      case 'pull':
        return await pulls.attempt(request, reference);
      default:
        return decision satisfies never;
    }
  }

  return {
    async ensureImage(request) {
      const { image, signal } = request;
      signal.throwIfAborted();
      let reference: ImageReference;
      try {
        reference = parseImageReference(image);
      } catch (thrown) {
        const message = `Failed to apply default image tag "${image}": ${asError(thrown).message}`;
        request.onEvent?.({ type: 'Warning', reason: 'InspectFailed', message });
        return wait('InvalidImageName', message, INVALID_NAME_RETRY_MS);
      }
      try {
        return await ensureParsed(request, reference);
      } catch (thrown) {
        signal.throwIfAborted();
        const message = `Failed to inspect image "${image}": ${asError(thrown).message}`;
        request.onEvent?.({ type: 'Warning', reason: 'InspectFailed', message });
        return wait('ImageInspectError', message, INSPECT_RETRY_MS);
      }
    },
    imageUser: async (imageRef, signal) => (await presence.find(imageRef, signal))?.user,
    invalidateImage: (image) => presence.forget(image),
    forgetPod: (podUID) => pulls.forgetPod(podUID),
  };
}
