/** Removes unused images one by one, and tracks the last use of each image. */
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { ImageService } from '#cri/gen/cri-v1.ts';
import { type ImageMemory, rememberImages, removableImages } from '#eviction/image-gc.ts';
import { goesBy, type ImageInventoryDeps, type NamedImage, readInventory } from './image-inspection.ts';

export interface ImageRemoverDeps extends ImageInventoryDeps {
  readonly images: Pick<ImageService, 'imageStatus' | 'listImages' | 'removeImage'>;
  /** Called when an image has been removed. */
  readonly removed: (id: string) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface ImageRemoverOptions {
  /** Minimum age of a removed image, in ms. */
  readonly minAgeMs: number;
  /** Sandbox images besides the one that the runtime reports. */
  readonly sandboxImages: readonly string[];
}

/** Reason of a removal: disk usage over the threshold, or node pressure. */
export type CollectReason = 'space' | 'pressure';

export interface CollectedImages {
  readonly reason: CollectReason;
  readonly images: number;
  readonly bytes: number;
}

export interface ImageRemover {
  /** Updates the usage only.
   *  @returns the removable images, in the order of removal
   *  @throws CriError */
  refresh(signal: AbortSignal): Promise<readonly NamedImage[]>;
  /** @param enough reports whether that many bytes, by image sizes, suffice
   *  @returns freed bytes, by the image sizes of the runtime
   *  @throws CriError when the usage cannot be determined */
  removeUnused(
    reason: CollectReason,
    signal: AbortSignal,
    enough: (freedBytes: number) => Promise<boolean>,
  ): Promise<number>;
  /** Counts of removed images since the start. */
  collected(): readonly CollectedImages[];
}

export function createImageRemover(
  deps: ImageRemoverDeps,
  { minAgeMs, sandboxImages }: ImageRemoverOptions,
): ImageRemover {
  const { images, clock, log } = deps;
  const totals = { space: { images: 0, bytes: 0 }, pressure: { images: 0, bytes: 0 } };
  let memory: ImageMemory | undefined;

  async function refresh(signal: AbortSignal): Promise<readonly NamedImage[]> {
    const seen = await readInventory(deps, sandboxImages, clock.monotonic(), signal);
    memory = rememberImages(memory, seen);
    const byId = new Map(seen.images.map((image) => [image.id, image]));
    return removableImages(seen, memory, minAgeMs).flatMap(({ id }) => byId.get(id) ?? []);
  }

  /** Removes one image and reports whether it is gone. A pod may have started to use it since the inventory. */
  async function remove(image: NamedImage, reason: CollectReason, signal: AbortSignal): Promise<boolean> {
    const { id, sizeBytes } = image;
    if (goesBy(image, deps.wanted())) return false;
    try {
      await images.removeImage({ image: { image: id } }, { signal });
    } catch (thrown) {
      signal.throwIfAborted();
      log.warn({ err: asError(thrown), image: id }, 'Failed to remove unused image');
      return false;
    }
    deps.removed(id);
    totals[reason].images += 1;
    totals[reason].bytes += sizeBytes;
    log.info({ image: id, names: [...image.names].slice(1, 3), sizeBytes, reason }, 'Unused image removed');
    return true;
  }

  async function removeUnused(
    reason: CollectReason,
    signal: AbortSignal,
    enough: (freedBytes: number) => Promise<boolean>,
  ): Promise<number> {
    let freedBytes = 0;
    for (const image of await refresh(signal)) {
      signal.throwIfAborted();
      if (!(await remove(image, reason, signal))) continue;
      freedBytes += image.sizeBytes;
      if (await enough(freedBytes)) break;
    }
    return freedBytes;
  }

  return {
    refresh,
    removeUnused,
    collected: () => (['space', 'pressure'] as const).map((reason) => ({ reason, ...totals[reason] })),
  };
}
