/** Image garbage collection: removes unused images when their disk fills up, and all unused ones under node
 *  pressure. Detects usage every five minutes, so that it knows the last use of each image. Source:
 *  upstream's image manager, release 1.24. */
import { sleep } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { createLimiter } from '#api/kit/limiter.ts';
import { bytesToFree, type DiskSpace, type ImageGcPolicy } from '#eviction/image-gc.ts';
import { type CollectedImages, createImageRemover, type ImageRemoverDeps } from './image-remover.ts';

export interface ImageCollectorDeps extends ImageRemoverDeps {
  /** Statistics of the image file system; undefined where the runtime does not identify it. */
  readonly space: (signal: AbortSignal) => Promise<DiskSpace | undefined>;
  /** Resolves when every pod source was read, or the signal fires: until then the desired images are unknown.
   */
  readonly sourcesRead: (signal: AbortSignal) => Promise<void>;
  /** Emits a warning event on the node. */
  readonly warn: (reason: string, message: string) => void;
}

export interface ImageCollectorOptions {
  readonly policy: ImageGcPolicy;
  /** Sandbox images besides the one that the runtime reports. */
  readonly sandboxImages: readonly string[];
}

export interface ImageCollector {
  /** Runs until the signal fires. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
  /** Removes images while usage is over the threshold.
   *  @returns freed bytes, by the image sizes of the runtime
   *  @throws CriError, ImageSpaceError */
  collect(signal: AbortSignal): Promise<number>;
  /** Removes every unused image beyond the minimum age.
   *  @returns freed bytes, by the image sizes of the runtime
   *  @throws CriError */
  deleteUnused(signal: AbortSignal): Promise<number>;
  /** Counts of removed images since the start. */
  collected(): readonly CollectedImages[];
}

/** The image file system stays too full, or reports no capacity. */
class ImageSpaceError extends Error {
  override readonly name = 'ImageSpaceError';
  readonly reason: 'FreeDiskSpaceFailed' | 'InvalidDiskCapacity';

  constructor(reason: ImageSpaceError['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}

const PERIOD_MS = 300_000;

export function createImageCollector(
  deps: ImageCollectorDeps,
  { policy, sandboxImages }: ImageCollectorOptions,
): ImageCollector {
  const { clock, log } = deps;
  const remover = createImageRemover(deps, { minAgeMs: policy.minAgeMs, sandboxImages });
  // Serialized: of two concurrent collections, each would count the space freed by the other.
  const turns = createLimiter(1);
  let failedBefore = false;

  async function collect(signal: AbortSignal): Promise<number> {
    const space = await deps.space(signal);
    if (space === undefined)
      throw new ImageSpaceError('InvalidDiskCapacity', 'image file system is not known');
    if (space.capacityBytes <= 0) {
      throw new ImageSpaceError('InvalidDiskCapacity', 'invalid capacity 0 on image filesystem');
    }
    const wanted = bytesToFree(space, policy);
    if (wanted === 0) {
      await remover.refresh(signal);
      return 0;
    }
    const goal = space.availableBytes + wanted;
    const has = async (): Promise<boolean> => ((await deps.space(signal))?.availableBytes ?? 0) >= goal;
    // Images share layers and are stored compressed, so sizes are inaccurate in both directions. But some
    // file systems report freed space with a delay.
    const freed = await remover.removeUnused(
      'space',
      signal,
      async (bytes) => bytes >= wanted || (await has()),
    );
    log.info({ wantedBytes: wanted, freedBytes: freed }, 'Unused images collected');
    if (freed >= wanted || (await has())) return freed;
    throw new ImageSpaceError(
      'FreeDiskSpaceFailed',
      `failed to garbage collect required amount of images. Wanted to free ${wanted} bytes, but freed ${freed} bytes`,
    );
  }

  /** As upstream: a first failure may be that of a runtime that has just started. */
  function failed(err: Error): void {
    log.warn({ err }, 'Image collection failed');
    if (err instanceof ImageSpaceError) deps.warn(err.reason, err.message);
    if (failedBefore) deps.warn('ImageGCFailed', err.message);
    failedBefore = true;
  }

  async function round(signal: AbortSignal, step: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    try {
      await turns.run(() => step(signal), signal);
      failedBefore = false;
    } catch (thrown) {
      if (!signal.aborted) failed(asError(thrown));
    }
  }

  return {
    collect: (signal) => turns.run(() => collect(signal), signal),
    deleteUnused: (signal) =>
      turns.run(() => remover.removeUnused('pressure', signal, () => Promise.resolve(false)), signal),
    collected: () => remover.collected(),
    async run(signal) {
      const period = (): Promise<void> => sleep(clock, PERIOD_MS, signal).catch(() => undefined);
      const refresh = (inner: AbortSignal): Promise<unknown> => remover.refresh(inner);
      await round(signal, refresh);
      // The images of a source that stays unavailable cannot be known; the disk cannot wait for it.
      await Promise.race([deps.sourcesRead(signal), period()]);
      while (!signal.aborted) {
        await round(signal, policy.highPercent >= 100 ? refresh : collect);
        await period();
      }
    },
  };
}
