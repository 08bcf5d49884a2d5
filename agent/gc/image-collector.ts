/** Removes images that nobody uses when their disk fills up, and all of them when the node has to save itself.
 *  Looks every five minutes, so that it knows who used what last. Source: upstream's image manager, release 1.24. */
import { asError, sleep } from '#api/kit/clock.ts';
import { createLimiter } from '#api/kit/limiter.ts';
import { bytesToFree, type DiskSpace, type ImageGcPolicy } from '#eviction/image-gc.ts';
import { type CollectedImages, createImageRemover, type ImageRemoverDeps } from './image-remover.ts';

export interface ImageCollectorDeps extends ImageRemoverDeps {
  /** Of the file system that images lie on; undefined where the runtime doesn't tell which. */
  readonly space: (signal: AbortSignal) => Promise<DiskSpace | undefined>;
  /** Resolves when every source of pods was read, or the signal fires: until then, who knows what they want. */
  readonly sourcesRead: (signal: AbortSignal) => Promise<void>;
  /** A warning about the node. */
  readonly warn: (reason: string, message: string) => void;
}

export interface ImageCollectorOptions {
  readonly policy: ImageGcPolicy;
  /** Images of pod sandboxes, beside the one that the runtime tells. */
  readonly sandboxImages: readonly string[];
}

export interface ImageCollector {
  /** Until the signal fires. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
  /** Removes what is over the threshold.
   *  @returns bytes won back, by the sizes that the runtime tells
   *  @throws CriError, ImageSpaceError */
  collect(signal: AbortSignal): Promise<number>;
  /** Removes every image that nobody uses and that is old enough.
   *  @returns bytes won back, by the sizes that the runtime tells
   *  @throws CriError */
  deleteUnused(signal: AbortSignal): Promise<number>;
  /** What was removed since the start. */
  collected(): readonly CollectedImages[];
}

/** The disk of images stays too full, or is of no size. */
export class ImageSpaceError extends Error {
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
  // Of two that remove at once, each would take for gone what the other wins back.
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
      await remover.look(signal);
      return 0;
    }
    const goal = space.availableBytes + wanted;
    const has = async (): Promise<boolean> => ((await deps.space(signal))?.availableBytes ?? 0) >= goal;
    // Images share layers and are packed when they are counted: sizes say too much or too little. But some file
    // systems take their time to tell what is free.
    const freed = await remover.removeUnused(
      'space',
      signal,
      async (bytes) => bytes >= wanted || (await has()),
    );
    log.info({ wantedBytes: wanted, freedBytes: freed }, 'Unused images were collected');
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
      const look = (inner: AbortSignal): Promise<unknown> => remover.look(inner);
      await round(signal, look);
      // What is wanted by a source that stays away can't be known; the disk doesn't wait for it.
      await Promise.race([deps.sourcesRead(signal), period()]);
      while (!signal.aborted) {
        await round(signal, policy.highPercent >= 100 ? look : collect);
        await period();
      }
    },
  };
}
