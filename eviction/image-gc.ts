/** Which images to remove when their disk fills up. Pure: the memory of what was seen, and decisions over it.
 *  Source: document 3, 4.3 (`--image-gc-…`, `--minimum-image-ttl-duration`); upstream's image manager, release 1.24. */

export interface SeenImage {
  readonly id: string;
  readonly sizeBytes: number;
  /** The runtime asks to keep it. */
  readonly pinned: boolean;
}

/** When an image was there for the first time and in use for the last, monotonic ms. */
export interface ImageTimes {
  /** Minus infinity for one that was there at the first look: who knows since when. */
  readonly firstSeenMs: number;
  /** Undefined while no container was seen to use it. */
  readonly lastUsedMs: number | undefined;
}

export type ImageMemory = ReadonlyMap<string, ImageTimes>;

export interface ImageLook {
  readonly nowMs: number;
  readonly images: readonly SeenImage[];
  /** Of containers, running or not, and of sandboxes. */
  readonly inUse: ReadonlySet<string>;
}

/** What is known of the images after this look; images that are gone are forgotten.
 *  @param before undefined at the first look */
export function rememberImages(
  before: ImageMemory | undefined,
  { nowMs, images, inUse }: ImageLook,
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
  /** Percent of the disk in use from which on images are removed; 100 for never. */
  readonly highPercent: number;
  /** Percent to come down to. */
  readonly lowPercent: number;
  /** Least age of an image that is removed, in ms. */
  readonly minAgeMs: number;
}

export interface DiskSpace {
  readonly capacityBytes: number;
  readonly availableBytes: number;
}

/** Bytes to win back; 0 while there is enough. */
export function bytesToFree({ capacityBytes, availableBytes }: DiskSpace, policy: ImageGcPolicy): number {
  if (capacityBytes <= 0 || policy.highPercent >= 100) return 0;
  if ((capacityBytes - availableBytes) * 100 < capacityBytes * policy.highPercent) return 0;
  return Math.max(0, Math.ceil((capacityBytes * (100 - policy.lowPercent)) / 100) - availableBytes);
}

/** Images that nobody needs, in the order in which they go: those not used for the longest time first, and of those
 *  never used the oldest. Pinned and used ones, and those that are too young, are not among them. */
export function removableImages(
  { nowMs, images, inUse }: ImageLook,
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

/** Infinite numbers have no difference. */
function compare(one: number, other: number): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
