/** Removes images that nobody uses, one by one, and remembers who used what last. */
import { asError, type Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { ImageService } from '#cri/gen/cri-v1.ts';
import { type ImageMemory, rememberImages, removableImages } from '#eviction/image-gc.ts';
import { goesBy, type ImageLookDeps, lookAtImages, type NamedImage } from './image-look.ts';

export interface ImageRemoverDeps extends ImageLookDeps {
  readonly images: Pick<ImageService, 'imageStatus' | 'listImages' | 'removeImage'>;
  /** An image is not there any more. */
  readonly removed: (id: string) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface ImageRemoverOptions {
  /** Least age of an image that is removed, in ms. */
  readonly minAgeMs: number;
  /** Images of pod sandboxes, beside the one that the runtime tells. */
  readonly sandboxImages: readonly string[];
}

/** Why images were removed: their disk filled up, or the node was under pressure. */
export type CollectReason = 'space' | 'pressure';

export interface CollectedImages {
  readonly reason: CollectReason;
  readonly images: number;
  readonly bytes: number;
}

export interface ImageRemover {
  /** Only remembers what is used.
   *  @returns what could be removed, in the order in which it would go
   *  @throws CriError */
  look(signal: AbortSignal): Promise<readonly NamedImage[]>;
  /** @param enough whether so many bytes, by the sizes told, will do
   *  @returns bytes won back, by the sizes that the runtime tells
   *  @throws CriError where it can't be seen what is used */
  removeUnused(
    reason: CollectReason,
    signal: AbortSignal,
    enough: (freedBytes: number) => Promise<boolean>,
  ): Promise<number>;
  /** What was removed since the start. */
  collected(): readonly CollectedImages[];
}

export function createImageRemover(
  deps: ImageRemoverDeps,
  { minAgeMs, sandboxImages }: ImageRemoverOptions,
): ImageRemover {
  const { images, clock, log } = deps;
  const totals = { space: { images: 0, bytes: 0 }, pressure: { images: 0, bytes: 0 } };
  let memory: ImageMemory | undefined;

  async function look(signal: AbortSignal): Promise<readonly NamedImage[]> {
    const seen = await lookAtImages(deps, sandboxImages, clock.monotonic(), signal);
    memory = rememberImages(memory, seen);
    const byId = new Map(seen.images.map((image) => [image.id, image]));
    return removableImages(seen, memory, minAgeMs).flatMap(({ id }) => byId.get(id) ?? []);
  }

  /** Whether it is gone. A pod may have come for it since the look. */
  async function remove(image: NamedImage, reason: CollectReason, signal: AbortSignal): Promise<boolean> {
    const { id, sizeBytes } = image;
    if (goesBy(image, deps.wanted())) return false;
    try {
      await images.removeImage({ image: { image: id } }, { signal });
    } catch (thrown) {
      signal.throwIfAborted();
      log.warn({ err: asError(thrown), image: id }, 'Unused image was not removed');
      return false;
    }
    deps.removed(id);
    totals[reason].images += 1;
    totals[reason].bytes += sizeBytes;
    log.info(
      { image: id, names: [...image.names].slice(1, 3), sizeBytes, reason },
      'Unused image was removed',
    );
    return true;
  }

  async function removeUnused(
    reason: CollectReason,
    signal: AbortSignal,
    enough: (freedBytes: number) => Promise<boolean>,
  ): Promise<number> {
    let freedBytes = 0;
    for (const image of await look(signal)) {
      signal.throwIfAborted();
      if (!(await remove(image, reason, signal))) continue;
      freedBytes += image.sizeBytes;
      if (await enough(freedBytes)) break;
    }
    return freedBytes;
  }

  return {
    look,
    removeUnused,
    collected: () => (['space', 'pressure'] as const).map((reason) => ({ reason, ...totals[reason] })),
  };
}
