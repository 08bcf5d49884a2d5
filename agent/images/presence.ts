/** Presence of images: image status of the runtime, cached briefly, and whether it requires a pull. Many containers
 *  that start from one image at once cost one call. */
import type { Clock } from '#api/kit/clock.ts';
import { createSingleFlight } from '#api/kit/single-flight.ts';
import type { Image, ImageService } from '#cri/gen/cri-v1.ts';
import type { ImageWaitingReason, PullPolicy } from './types.ts';

/** Properties of an image on the node. */
export interface ImageFacts {
  /** Image ID of the runtime, whose content never changes. */
  readonly imageRef: string;
  readonly sizeBytes: number;
  /** User of the image configuration; neither field is set when it has none (root). */
  readonly user: ImageUser;
}

export interface ImageUser {
  /** Numeric user, if the image has one. */
  readonly uid?: number;
  /** User name, if the image has one. */
  readonly username?: string;
}

export interface ImagePresence {
  /** Returns the properties of the image, undefined when the runtime does not have it. */
  find(image: string, signal?: AbortSignal): Promise<ImageFacts | undefined>;
  /** Drops the cached status of an image (a name or an ID), or of all. */
  forget(image?: string): void;
}

export interface PresenceOptions {
  /** Cache duration, in ms. Only presence is cached, never absence. */
  readonly ttlMs: number;
}

const MOST_REMEMBERED = 512;

function toFacts(image: Image): ImageFacts {
  return {
    imageRef: image.id,
    sizeBytes: Number(image.size),
    user: {
      ...(image.uid === undefined ? {} : { uid: Number(image.uid.value) }),
      ...(image.username === '' ? {} : { username: image.username }),
    },
  };
}

export function createImagePresence(
  deps: { readonly images: Pick<ImageService, 'imageStatus'>; readonly clock: Clock },
  options: PresenceOptions,
): ImagePresence {
  const { images, clock } = deps;
  const flights = createSingleFlight<ImageFacts | undefined>();
  const remembered = new Map<string, { readonly facts: ImageFacts; readonly untilMs: number }>();

  function remember(image: string, facts: ImageFacts): void {
    const oldest = remembered.keys().next();
    if (remembered.size >= MOST_REMEMBERED && oldest.done !== true) remembered.delete(oldest.value);
    remembered.delete(image);
    remembered.set(image, { facts, untilMs: clock.monotonic() + options.ttlMs });
  }

  async function ask(image: string, signal: AbortSignal): Promise<ImageFacts | undefined> {
    const response = await images.imageStatus({ image: { image } }, { signal });
    if (response.image === undefined || response.image.id === '') return undefined;
    const facts = toFacts(response.image);
    remember(image, facts);
    return facts;
  }

  return {
    async find(image, signal) {
      const entry = remembered.get(image);
      if (entry !== undefined && clock.monotonic() < entry.untilMs) return entry.facts;
      remembered.delete(image);
      return await flights.run(image, (taskSignal) => ask(image, taskSignal), signal);
    },
    forget(image) {
      if (image === undefined) return remembered.clear();
      for (const [key, { facts }] of remembered) {
        if (key === image || facts.imageRef === image) remembered.delete(key);
      }
    },
  };
}

export type PullDecision =
  | { readonly kind: 'use' }
  | { readonly kind: 'pull' }
  | { readonly kind: 'refuse'; readonly reason: ImageWaitingReason; readonly message: string };

export function decidePull(policy: PullPolicy, image: string, isPresent: boolean): PullDecision {
  switch (policy) {
    case 'Always':
      return { kind: 'pull' };
    case 'IfNotPresent':
      return { kind: isPresent ? 'use' : 'pull' };
    case 'Never':
      if (isPresent) return { kind: 'use' };
      return {
        kind: 'refuse',
        reason: 'ErrImageNeverPull',
        message: `Container image "${image}" is not present with pull policy of Never`,
      };
    default:
      return policy satisfies never;
  }
}
