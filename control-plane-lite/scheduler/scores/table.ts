/** All scorers. Their weights are upstream's, release 1.24. */
import { imageLocality } from './images.ts';
import { preferredNodes } from './node-affinity.ts';
import { preferredPods } from './pod-affinity.ts';
import { balancedAllocation, leastAllocated } from './resources.ts';
import type { Scorer } from './score.ts';
import { preferredTaints } from './taints.ts';
import { preferredSpread } from './topology-spread.ts';
import { volumeCapacity } from './volume-capacity.ts';

export const SCORERS: readonly Scorer[] = [
  preferredTaints,
  preferredNodes,
  leastAllocated,
  preferredSpread,
  preferredPods,
  balancedAllocation,
  imageLocality,
  volumeCapacity,
];
