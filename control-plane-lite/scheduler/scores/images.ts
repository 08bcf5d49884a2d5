/** Score: image locality. Prefers nodes that have the pod's images, weighted by size; an image on few nodes
 *  counts less, so that pods do not all gather there. Source: upstream's image locality, release 1.24. */
import { MAX_SCORE, type Scorer } from './score.ts';

const MIB = 1024 * 1024;
const LEAST_BYTES = 23 * MIB;
const MOST_BYTES_PER_CONTAINER = 1000 * MIB;

export const imageLocality: Scorer = {
  name: 'ImageLocality',
  weight: 1,
  score({ shape }, nodes, fleet) {
    const total = fleet.nodes.length;
    const known = shape.images
      .map((image) => ({ image, share: fleet.imageNodes(image) / total }))
      .filter(({ share }) => share > 0);
    if (known.length === 0) return undefined;
    const most = MOST_BYTES_PER_CONTAINER * shape.containerCount;
    return nodes.map(({ images }) => {
      let bytes = 0;
      for (const { image, share } of known) bytes += Math.trunc((images.get(image) ?? 0) * share);
      const bounded = Math.min(Math.max(bytes, LEAST_BYTES), most);
      return Math.trunc((MAX_SCORE * (bounded - LEAST_BYTES)) / (most - LEAST_BYTES));
    });
  },
};
