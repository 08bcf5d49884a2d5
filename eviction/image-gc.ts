/** Selects images to remove when their disk fills up. Pure: a record of observations, and decisions on it.
 *  Source: image garbage collection (`--image-gc-…`, `--minimum-image-ttl-duration`), document 3 §4.3;
 *  upstream's image manager, release 1.24. */

export interface SeenImage {
  readonly id: string;
  readonly sizeBytes: number;
  /** Pinned by the runtime. */
  readonly pinned: boolean;
}

/** First detection and last use of an image, monotonic ms. */
export interface ImageTimes {
  /** Minus infinity for an image that was present at the first check: its age is unknown. */
  readonly firstSeenMs: number;
  /** Undefined until a container has used it. */
  readonly lastUsedMs: number | undefined;
}

export type ImageMemory = ReadonlyMap<string, ImageTimes>;

export interface ImageSnapshot {
  readonly nowMs: number;
  readonly images: readonly SeenImage[];
  /** Images of containers, running or not, and of sandboxes. */
  readonly inUse: ReadonlySet<string>;
}

/** Returns the updated record; removed images are dropped.
 *  @param before undefined at the first check */
export function rememberImages(
  before: ImageMemory | undefined,
  { nowMs, images, inUse }: ImageSnapshot,
): ImageMemory {
  const firstSeenMs = before === undefined ? Number.NEGATIVE_INFINITY : nowMs;
  return new Map(
    images.map(({ id }) => {
      const known = before?.get(id) ?? { firstSeenMs, lastUsedMs: undefined };
      return [id, inUse.has(id) ? { ...known, lastUsedMs: nowMs } : known];
    }),
  );
}

export interface ImageGcPolicy {
  /** Percentage of disk usage at which images are removed; 100 disables it. */
  readonly highPercent: number;
  /** Percentage of disk usage to free down to. */
  readonly lowPercent: number;
  /** Minimum age of an image to remove, in ms. */
  readonly minAgeMs: number;
}

export interface DiskSpace {
  readonly capacityBytes: number;
  readonly availableBytes: number;
}

/** Returns the bytes to free; 0 below the threshold. */
export function bytesToFree({ capacityBytes, availableBytes }: DiskSpace, policy: ImageGcPolicy): number {
  if (capacityBytes <= 0 || policy.highPercent >= 100) return 0;
  if ((capacityBytes - availableBytes) * 100 < capacityBytes * policy.highPercent) return 0;
  return Math.max(0, Math.ceil((capacityBytes * (100 - policy.lowPercent)) / 100) - availableBytes);
}

/** Returns unused images in the order of removal: least recently used first, never used ones by age. Excludes
 *  pinned images, images in use, and those below the minimum age. */
export function removableImages(
  { nowMs, images, inUse }: ImageSnapshot,
  memory: ImageMemory,
  minAgeMs: number,
): readonly SeenImage[] {
  const timesOf = (id: string): ImageTimes => memory.get(id) ?? { firstSeenMs: nowMs, lastUsedMs: nowMs };
  const idleSince = ({ id }: SeenImage): number => timesOf(id).lastUsedMs ?? Number.NEGATIVE_INFINITY;
  const seenSince = ({ id }: SeenImage): number => timesOf(id).firstSeenMs;
  return images
    .filter(({ id, pinned }) => !pinned && !inUse.has(id) && nowMs - timesOf(id).firstSeenMs >= minAgeMs)
    .toSorted((a, b) => compare(idleSince(a), idleSince(b)) || compare(seenSince(a), seenSince(b)));
}

/** Infinities have no difference. */
function compare(one: number, other: number): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
