/** Images in the node status. Pure. Source: upstream's node status setter for images, release 1.24. */
import type { ContainerImage } from '#api/gen/core-v1.ts';

export interface NodeImage {
  readonly digests: readonly string[];
  readonly tags: readonly string[];
  readonly sizeBytes: number;
}

/** Further names have no value for the scheduler. */
const MOST_NAMES = 5;

/** Selects the largest images, which matter most to the scheduler.
 *  @param most maximum number; -1 is all */
export function decideImages(images: readonly NodeImage[], most: number): readonly ContainerImage[] {
  const sorted = images.toSorted(
    (a, b) => b.sizeBytes - a.sizeBytes || (firstName(a) < firstName(b) ? -1 : 1),
  );
  return sorted.slice(0, most < 0 ? sorted.length : most).map(({ digests, tags, sizeBytes }) => {
    const names = [...digests, ...tags].slice(0, MOST_NAMES);
    return { ...(names.length === 0 ? {} : { names }), ...(sizeBytes > 0 ? { sizeBytes } : {}) };
  });
}

const firstName = ({ digests, tags }: NodeImage): string => digests[0] ?? tags[0] ?? '';
